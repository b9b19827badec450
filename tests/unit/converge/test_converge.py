# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The engine, on a toy: observe, plan, apply, prove."""

from __future__ import annotations

import json

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import (
    Incomplete,
    Journal,
    NotConverged,
    Pending,
    Refusal,
    StillRunning,
    converge,
)

from .toy import CrackedKiln, Kiln, KilnResource


def test_every_step_is_carried_out_in_order_and_the_end_is_observed() -> None:
    kiln = KilnResource(Kiln(0), 200)
    outcome = converge(kiln)
    assert kiln.applied == ["Heat to 100", "Wait for the load", "Heat to 200", "Wait for the load"]
    assert outcome.changed
    assert outcome.before == Kiln(0)
    assert outcome.after == Kiln(200)
    assert outcome.pending == ()
    assert outcome.diff == {"before": "0 degrees, empty\n", "after": "200 degrees, empty\n"}


def test_a_second_run_changes_nothing() -> None:
    kiln = KilnResource(Kiln(0), 200)
    converge(kiln)
    kiln.applied.clear()
    outcome = converge(kiln)
    assert not outcome.changed
    assert not outcome.plan
    assert kiln.applied == []
    picture = "200 degrees, empty\n"
    assert outcome.diff == {"before": picture, "after": picture}


def test_an_apply_that_does_nothing_is_found_out() -> None:
    kiln = KilnResource(Kiln(0), 200, honest=False)
    with pytest.raises(NotConverged, match=r"All 4 steps ran .* Still to do: Heat to 100; Wait for the load"):
        converge(kiln)


def test_check_mode_touches_nothing_and_foretells_the_end() -> None:
    kiln = KilnResource(Kiln(0), 200)
    outcome = converge(kiln, check_mode=True)
    assert kiln.applied == []
    assert kiln.kiln == Kiln(0)
    assert kiln.observed == 1
    assert outcome.changed
    assert outcome.after == Kiln(200)
    really = converge(kiln)
    assert really.plan == outcome.plan
    assert really.diff == outcome.diff


def test_a_plan_that_only_waits_is_no_change() -> None:
    assert not converge(KilnResource(Kiln(100, soaking=True), 100), check_mode=True).changed
    kiln = KilnResource(Kiln(100, soaking=True), 100)
    assert not converge(kiln).changed
    assert kiln.applied == ["Wait for the load"]


def test_a_refusal_comes_before_anything_is_touched() -> None:
    kiln = KilnResource(Kiln(0), 2000)
    with pytest.raises(Refusal, match="bricks"):
        converge(kiln)
    assert kiln.applied == []


def test_without_waiting_a_run_ends_at_the_first_wait_and_tells_what_is_left() -> None:
    kiln = KilnResource(Kiln(0), 200)
    outcome = converge(kiln, wait=False)
    assert kiln.applied == ["Heat to 100"]
    assert outcome.changed
    assert [each.what for each in outcome.pending] == ["Soaking", "Next run: Heat to 200"]
    assert outcome.pending[0] == Pending("Soaking", 50.0, 60.0)
    assert len(outcome.plan) == 4


def test_without_waiting_a_run_that_meets_nothing_under_way_goes_on() -> None:
    kiln = KilnResource(Kiln(0), 100, visible=False)
    outcome = converge(kiln, wait=False)
    assert kiln.applied == ["Heat to 100", "Wait for the load"]
    assert outcome.pending == ()


def test_without_waiting_a_wait_that_begins_late_ends_the_run_and_not_with_an_error() -> None:
    kiln = KilnResource(Kiln(0), 200, patient=False, visible=False)
    outcome = converge(kiln, wait=False)
    assert kiln.applied == ["Heat to 100"]
    assert outcome.changed
    assert [each.what for each in outcome.pending] == ["Next run: Heat to 200"]


def test_a_wait_that_takes_too_long_fails_and_the_journal_tells_how_far_it_came() -> None:
    kiln = KilnResource(Kiln(0), 200, patient=False)
    journal = Journal()
    with pytest.raises(StillRunning):
        converge(kiln, journal=journal)
    assert [step.title for step in journal.done] == ["Heat to 100"]
    assert len(journal.plan) == 4
    assert journal.changed


def test_a_run_that_was_cut_off_is_continued() -> None:
    kiln = KilnResource(Kiln(0), 300, patient=False)
    with pytest.raises(StillRunning):
        converge(kiln)
    kiln.patient = True
    outcome = converge(kiln)
    assert outcome.after == Kiln(300)
    assert kiln.applied[1:3] == ["Wait for the load", "Heat to 200"]


def test_what_a_step_reveals_is_planned_in_the_same_run() -> None:
    kiln = KilnResource(Kiln(0, load="unknown"), 100, hidden="a cat")
    journal = Journal()
    outcome = converge(kiln, journal=journal)
    assert kiln.applied == ["Open the door", "Unload a cat", "Heat to 100", "Wait for the load"]
    assert [step.title for step in outcome.plan] == kiln.applied
    assert outcome.after == Kiln(100)


def test_check_mode_rehearses_the_plan_and_a_real_run_does_not() -> None:
    kiln = KilnResource(Kiln(0), 200)
    converge(kiln, check_mode=True)
    assert kiln.rehearsed == [4]
    converge(kiln)
    assert kiln.rehearsed == [4]


def test_what_a_rehearsal_refuses_is_told() -> None:
    with pytest.raises(Refusal, match="does not take more than 1300"):
        converge(KilnResource(Kiln(0), 1400), check_mode=True)


def test_check_mode_says_that_a_plan_goes_on_where_nobody_can_know() -> None:
    outcome = converge(KilnResource(Kiln(0, load="unknown"), 100, hidden="a cat"), check_mode=True)
    assert [step.title for step in outcome.plan] == ["Open the door"]
    assert [each.what for each in outcome.pending] == ["What follows 'Open the door' is known when it is done"]


def test_a_step_that_reveals_nothing_new_does_not_go_round_for_ever() -> None:
    kiln = KilnResource(Kiln(0, load="unknown"), 100, hidden="unknown")
    with pytest.raises(NotConverged, match="Open the door"):
        converge(kiln)
    assert kiln.applied == ["Open the door"]


def test_plans_are_data() -> None:
    plan = converge(KilnResource(Kiln(0, load="a pot"), 100), check_mode=True).plan
    listed = json.loads(json.dumps(plan.as_list()))
    assert listed == plan.as_list()
    assert [step["destructive"] for step in listed] == [True, False, False]
    assert listed[1] == {
        "title": "Heat to 100",
        "command": [["burner", "100"]],
        "reason": "too cold",
        "destructive": False,
    }


def test_what_a_step_sets_aside_does_not_keep_the_rest_from_being_done() -> None:
    kiln = CrackedKiln(Kiln(0, load="bowl"), 100, hidden="The bowl has cracked.")
    journal = Journal()
    with pytest.raises(Incomplete, match=r"^The bowl has cracked\.$") as failure:
        converge(kiln, journal=journal)
    assert failure.value.details == {"failures": ["The bowl has cracked."]}
    assert [step.title for step in journal.done] == ["Heat to 100", "Wait for the load"]
    assert [step.title for step in journal.aside] == ["Unload bowl"]
    assert kiln.kiln.degrees == 100


def test_a_step_that_was_for_nothing_is_no_failure_and_no_change() -> None:
    outcome = converge(CrackedKiln(Kiln(0, load="bowl"), 0, hidden=""))
    assert len(outcome.plan) == 1
    assert not outcome.changed


def test_what_is_set_aside_and_planned_again_is_not_taken_for_done() -> None:
    with pytest.raises(NotConverged, match="Still to do: Unload bowl"):
        converge(CrackedKiln(Kiln(0, load="bowl"), 100, hidden="The bowl has cracked.", visible=False))
