"""Plans for sets of files: what is left to do from any state, and that the steps lead there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.command import CommandCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.model import (
    BACK,
    RETURNING,
    STAGING,
    SWAPPING,
    TOLD,
    VERIFIED,
    Entry,
    Generation,
    Guards,
    Host,
    Live,
    Reload,
    Target,
    Transaction,
    Wanted,
    before,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._config.planning import (
    is_settled,
    plan_config,
    target_of,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._config.steps import (
    ConfigStep,
    Keep,
    PutBack,
    PutInPlace,
    Stage,
    Tell,
    Unstage,
    Validate,
    Verify,
    as_live,
    surviving,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal

GUARDS = Guards(("check",), reload=Reload(command=("tell",)), checks=(CommandCheck(("look",)),))
PATHS = ("/etc/a", "/etc/b", "/srv/c")


def entry(path: str, digest: str = "1", mode: int = 0o644) -> Entry:
    return Entry(path, digest, 0, 0, mode)


def live_as(*entries: Entry) -> dict[str, Live]:
    wanted = {each.path: each for each in entries}
    return {path: as_live(path, path, wanted.get(path)) for path in PATHS}


def target(*entries: Entry) -> Target:
    return Target(tuple(entries), GUARDS)


def kinds(host: Host, wanted: Target) -> list[type[object]]:
    return [type(step) for step in plan_config(host, wanted)]


def end_of(host: Host, wanted: Target) -> Host:
    for step in plan_config(host, wanted):
        assert isinstance(step, ConfigStep)
        host = step.after(host)
    return host


A1, A2, B1 = entry("/etc/a"), entry("/etc/a", "2"), entry("/etc/b")
GOOD = Generation(1, (A1,), verified="then")
SETTLED = Host("toy", live_as(A1), {1: GOOD}, 1)
WHOLE_WAY = [Stage, Validate, PutInPlace, Tell, Verify, Keep]


def test_a_verified_set_that_is_in_place_needs_nothing() -> None:
    assert kinds(SETTLED, target(A1)) == []


def test_a_change_goes_the_whole_way() -> None:
    assert kinds(SETTLED, target(A2)) == WHOLE_WAY
    assert kinds(replace(SETTLED, generations={}, current=0, live=live_as()), target(A1)) == WHOLE_WAY


def test_files_that_nobody_has_verified_are_verified_even_if_they_are_right() -> None:
    unknown = Host("toy", live_as(A1))
    plan = plan_config(unknown, target(A1))
    assert [type(step) for step in plan] == WHOLE_WAY
    stage = plan[0]
    assert isinstance(stage, Stage)
    assert stage.exchanges == ()


def test_what_somebody_else_has_changed_is_kept_before_it_is_replaced() -> None:
    stage = plan_config(replace(SETTLED, live=live_as(entry("/etc/a", "9"))), target(A1))[0]
    assert isinstance(stage, Stage)
    assert stage.found is not None
    assert stage.found.entries == (entry("/etc/a", "9"),)
    assert stage.replaces == stage.found.number


def test_a_file_that_left_the_set_is_removed_and_others_are_left_alone() -> None:
    host = Host("toy", live_as(A1, B1, entry("/srv/c")), {1: Generation(1, (A1, B1), verified="then")}, 1)
    stage = plan_config(host, target(A1))[0]
    assert isinstance(stage, Stage)
    assert [(each.path, each.entry) for each in stage.exchanges] == [("/etc/b", None)]


def test_owner_and_mode_are_part_of_a_set() -> None:
    assert kinds(SETTLED, target(entry("/etc/a", "1", 0o600))) == WHOLE_WAY


@pytest.mark.parametrize(
    ("live", "words"),
    [
        ({"/etc/a": Live("/etc/a", "/etc/a", obstacle="a directory")}, "/etc/a is a directory"),
        ({"/etc/a": Live("/etc/a", "/etc/b")}, "are the same file"),
    ],
)
def test_files_that_cannot_be_there_are_refused(live: dict[str, Live], words: str) -> None:
    host = Host("toy", {**live_as(), **live})
    with pytest.raises(Refusal) as refusal:
        plan_config(host, target(A1, B1))
    assert words in str(refusal.value)


def test_a_file_of_another_set_is_refused() -> None:
    with pytest.raises(Refusal) as refusal:
        plan_config(replace(SETTLED, live=live_as(), others={"/etc/a": "bird"}), target(A1))
    assert "belongs to the set 'bird'" in str(refusal.value)


def cut_off(phase: str) -> Host:
    """A change from A1 to A2 that was cut off; live files are what the phase allows."""
    under_way = next(s for s in plan_config(SETTLED, target(A2)) if isinstance(s, Stage)).transaction
    new = Generation(2, (A2,), 1)
    live = live_as(A1) if phase in (STAGING, RETURNING) else live_as(A2)
    return Host("toy", live, {1: GOOD, 2: new}, 1, replace(under_way, phase=phase))


@pytest.mark.parametrize(
    ("phase", "wanted", "steps"),
    [
        (STAGING, A2, [Unstage, *WHOLE_WAY]),
        (STAGING, A1, [Unstage]),
        (SWAPPING, A2, [PutInPlace, Tell, Verify, Keep]),
        (SWAPPING, A1, [PutBack, Tell, Verify, Keep]),
        (TOLD, A2, [PutInPlace, Tell, Verify, Keep]),
        (TOLD, A1, [PutBack, Tell, Verify, Keep]),
        (RETURNING, A2, [PutBack, *WHOLE_WAY]),
        (RETURNING, A1, [PutBack, Tell, Verify, Keep]),
        (VERIFIED, A2, [Keep]),
        (VERIFIED, A1, [Keep, *WHOLE_WAY]),
    ],
)
def test_a_change_that_was_cut_off_is_finished_or_taken_back(phase: str, wanted: Entry, steps: list[object]) -> None:
    host = cut_off(phase)
    assert kinds(host, target(wanted)) == steps
    assert is_settled(end_of(host, target(wanted)), target(wanted))


def test_a_daemon_that_was_not_told_of_its_former_files_is_told_even_after_another_cut() -> None:
    back = replace(SETTLED, transaction=SETTLED.back(1))
    assert kinds(back, target(A1)) == [Tell, Verify, Keep]
    stage = plan_config(back, target(A2))[0]
    assert isinstance(stage, Stage)
    again = stage.after(back)
    assert again.transaction is not None
    assert again.transaction.phase == STAGING
    assert kinds(again, target(A1)) == [Unstage, Tell, Verify, Keep]


entries_of = st.fixed_dictionaries(
    {},
    optional={path: st.builds(entry, st.just(path), st.sampled_from("123")) for path in PATHS},
).map(lambda found: tuple(found[path] for path in sorted(found)))
targets = entries_of.filter(bool)


Row = list[tuple[tuple[Entry, ...], tuple[Entry, ...] | None]]


@given(st.lists(st.tuples(targets, st.none() | entries_of), min_size=1, max_size=6))
def test_any_row_of_changes_and_edits_by_hand_ends_settled(row: Row) -> None:
    host = Host("toy", live_as())
    for wanted, by_hand in row:
        if by_hand is not None:
            host = replace(host, live=live_as(*by_hand))
        ours = {each.path for each in (*wanted, *host.generation(host.current).entries)}
        others = {path: live for path, live in host.live.items() if path not in ours}
        host = end_of(host, target(*wanted))
        assert is_settled(host, target(*wanted))
        assert plan_config(host, target(*wanted)) == ()
        assert host.holds(wanted, ours)
        assert {path: host.live[path] for path in others} == others
        assert len(host.generations) <= target().keep + 1


@given(entries_of, targets, st.integers(0, 5), targets)
def test_a_cut_after_any_step_ends_in_what_the_next_run_wants(
    found: tuple[Entry, ...], wanted: tuple[Entry, ...], steps: int, then: tuple[Entry, ...]
) -> None:
    host = Host("toy", live_as(*found))
    for step in plan_config(host, target(*wanted))[:steps]:
        assert isinstance(step, ConfigStep)
        host = step.after(host)
    host = end_of(host, target(*then))
    assert is_settled(host, target(*then))


def chain(*parts: tuple[int, tuple[Entry, ...], int, str]) -> dict[int, Generation]:
    return {number: Generation(number, entries, parent, verified) for number, entries, parent, verified in parts}


def test_files_that_were_only_found_are_not_removed() -> None:
    # A first set with /etc/b did not stand; the second one has no such file.
    found = Generation(1, (A1, B1))
    host = Host("toy", live_as(A1, B1), {1: found}, 1)
    assert end_of(host, target(A2)).live["/etc/b"] == host.live["/etc/b"]


def test_a_managed_file_is_removed_though_a_set_in_between_did_not_stand() -> None:
    edited = entry("/etc/a", "9")
    generations = chain((1, (A1, B1), 0, "t"), (2, (edited, B1), 1, ""))
    host = Host("toy", live_as(edited, B1), generations, 2)
    assert not end_of(host, target(A2)).live["/etc/b"].digest


def test_the_way_back_leads_to_the_last_verified_set_with_other_files() -> None:
    generations = chain((1, (B1,), 0, ""), (2, (A1,), 1, "t"), (3, (A2,), 2, ""), (4, (A1,), 3, "t"))
    former = before(generations, 4)
    assert former is not None
    assert former.number == 1
    assert before(generations, 1) is None
    assert before(chain((2, (A1,), 1, "t")), 2) is None


def test_the_way_back_uses_the_guards_that_were_kept() -> None:
    old, new = {"validate": ["old"], "verify_timeout": 9}, {"validate": ["new"], "verify_timeout": 3}
    generations = {
        1: Generation(1, (A1,), 0, "t", guards=old),
        2: Generation(2, (A2,), 1, "t", guards=new),
    }
    host = Host("toy", live_as(A2), generations, 2)
    given_now = {"validate": None, "verify_timeout": 30}
    want = Wanted("toy", guards=Guards(given=given_now), previous=True)
    seen = []

    def read(values: object) -> Guards:
        seen.append(values)
        return GUARDS

    found = target_of(host, want, read)
    assert (found.number, found.entries) == (1, (A1,))
    assert seen == [old]


def test_there_is_no_way_back_from_the_first_set() -> None:
    with pytest.raises(Refusal) as refusal:
        target_of(SETTLED, Wanted("toy", previous=True), lambda _values: GUARDS)
    assert "nothing to go back to" in str(refusal.value)


def test_a_run_that_was_cut_off_is_ended_before_one_goes_back() -> None:
    with pytest.raises(Refusal) as refusal:
        target_of(cut_off(TOLD), Wanted("toy", previous=True), lambda _values: GUARDS)
    assert "cut off" in str(refusal.value)


def test_sets_on_the_way_back_are_kept_before_others() -> None:
    generations = chain(*((number, (A1,), parent, "t") for number, parent in ((1, 0), (2, 1), (3, 1), (4, 3))))
    assert surviving(generations, 4, 2) == (1, 3, 4)
    assert surviving(generations, 4, 5) == (1, 2, 3, 4)


def test_nothing_but_the_phase_back_is_left_by_going_back() -> None:
    under_way = cut_off(TOLD).transaction
    assert isinstance(under_way, Transaction)
    after = PutBack(under_way, GOOD, "").after(cut_off(TOLD))
    assert after.transaction is not None
    assert (after.transaction.phase, after.current) == (BACK, 1)
    assert after.live == live_as(A1)
