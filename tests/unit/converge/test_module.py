# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a module returns, in success and in every kind of failure."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from ansible.module_utils.basic import AnsibleModule

from ansible_collections.baremetal.fabric.plugins.module_utils._converge import module
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.lock import Lock
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.module import Task, look, run

from .toy import CrackedKiln, Kiln, KilnResource


class Ended(Exception):
    """The module printed its result."""


class Playbook:
    """Stands where Ansible stands: gives parameters, takes results."""

    def __init__(self, check_mode: bool = False, **params: Any) -> None:
        self.params = params
        self.check_mode = check_mode
        self.result: dict[str, Any] = {}
        self.failed: bool | None = None
        self.warnings: list[str] = []

    def warn(self, warning: str) -> None:
        self.warnings.append(warning)

    def exit_json(self, **result: Any) -> None:
        self.failed, self.result = False, json.loads(json.dumps(result))
        raise Ended

    def fail_json(self, **result: Any) -> None:
        self.failed, self.result = True, json.loads(json.dumps(result))
        raise Ended


@pytest.fixture(autouse=True)
def _locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Lock", lambda resource: Lock(resource, str(tmp_path / "locks")))
    monkeypatch.setattr(module, "SHORT_WAIT", 0.3)


def play(playbook: Playbook, kiln: KilnResource, **task: Any) -> Playbook:
    def task_for(params: Mapping[str, Any]) -> Task[Kiln]:
        if params.get("wrong"):
            raise Refusal("That makes no sense.")
        resource = task.pop("resource", lambda _runner: kiln)
        return Task(resource=resource, lock="kiln", facts=lambda state: {"degrees": state.degrees}, **task)

    with pytest.raises(Ended):
        run(cast(AnsibleModule, playbook), task_for)
    return playbook


def test_success_returns_facts_plan_pending_and_diff() -> None:
    result = play(Playbook(), KilnResource(Kiln(0), 100)).result
    assert result["changed"] is True
    assert result["degrees"] == 100
    assert [step["title"] for step in result["plan"]] == ["Heat to 100", "Wait for the load"]
    assert result["pending"] == []
    assert result["diff"] == {"before": "0 degrees, empty\n", "after": "100 degrees, empty\n"}


def test_check_mode_returns_the_same_and_takes_no_lock(tmp_path: Path) -> None:
    kiln = KilnResource(Kiln(0), 100)
    with Lock("kiln", str(tmp_path / "locks")) as other:
        other.acquire(0)
        foretold = play(Playbook(check_mode=True), kiln).result
    assert kiln.applied == []
    assert play(Playbook(), kiln).result == foretold


def test_warnings_are_given_for_the_state_before_and_the_one_in_the_end() -> None:
    def warnings(before: Kiln, after: Kiln) -> list[str]:
        return [f"It was cold ({before.degrees}).", f"{after.degrees} is hot."]

    playbook = play(Playbook(), KilnResource(Kiln(0), 100), warnings=warnings)
    assert playbook.warnings == ["It was cold (0).", "100 is hot."]


def test_the_lock_reaches_the_commands() -> None:
    inherited: list[int] = []

    def resource(runner: Runner) -> KilnResource:
        inherited.extend(runner.inherit)
        assert os.fstat(runner.inherit[0])
        return KilnResource(Kiln(0), 0)

    play(Playbook(), KilnResource(Kiln(0), 0), resource=resource)
    assert len(inherited) == 1
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(inherited[0])


def test_parameters_that_make_no_sense_fail_before_anything_else() -> None:
    playbook = play(Playbook(wrong=True), KilnResource(Kiln(0), 100))
    assert playbook.failed
    assert playbook.result == {
        "msg": "That makes no sense.",
        "changed": False,
        "plan": [],
        "done": [],
        "pending": [],
    }


def test_a_missing_tool_fails_with_its_package() -> None:
    playbook = play(Playbook(), KilnResource(Kiln(0), 100), tools={"no-such-program": "gdisk"})
    assert playbook.failed
    assert "install the package 'gdisk'" in playbook.result["msg"]


def test_a_held_lock_fails_after_a_short_wait_where_the_user_does_not_wait(tmp_path: Path) -> None:
    kiln = KilnResource(Kiln(0), 100)
    with Lock("kiln", str(tmp_path / "locks")) as other:
        other.acquire(0)
        playbook = play(Playbook(), kiln, wait=False, wait_timeout=1000)
    assert playbook.failed
    assert "Another run works on kiln" in playbook.result["msg"]
    assert kiln.applied == []


@pytest.mark.parametrize(
    ("kiln", "words"),
    [
        (
            KilnResource(Kiln(0), 200, patient=False),
            "still soaking.*1 of 4 steps were done; stopped at: Wait for the load",
        ),
        (KilnResource(Kiln(0), 200, honest=False), "not in the wanted state.*4 of 4 steps were done"),
    ],
)
def test_a_failure_tells_what_was_done_and_where_it_stopped(kiln: KilnResource, words: str) -> None:
    playbook = play(Playbook(), kiln)
    assert playbook.failed
    assert playbook.result["changed"] is True
    assert len(playbook.result["plan"]) == 4
    assert playbook.result["done"] == kiln.applied
    assert re.search(words, playbook.result["msg"])


def test_a_failure_beside_which_the_rest_was_done_lists_what_failed() -> None:
    playbook = play(Playbook(), CrackedKiln(Kiln(0, load="bowl"), 100, hidden="The bowl has cracked."))
    assert playbook.failed
    assert playbook.result["failures"] == ["The bowl has cracked."]
    assert playbook.result["degrees"] == 100
    assert playbook.result["msg"] == "The bowl has cracked. (2 of 3 steps were done.)"
    assert playbook.result["changed"] is True


def test_work_that_goes_on_after_a_failed_wait_is_pending() -> None:
    assert play(Playbook(), KilnResource(Kiln(0), 200, patient=False)).result["pending"]
    assert not play(Playbook(), KilnResource(Kiln(0), 200, honest=False)).result["pending"]


def failing(error: Exception) -> Callable[[Runner], KilnResource]:
    class Broken(KilnResource):
        def observe(self) -> Kiln:
            raise error

    return lambda _runner: Broken(Kiln(0), 100)


def test_an_error_of_the_host_is_told_in_its_words() -> None:
    error = OSError(5, "Input/output error", "/dev/sda")
    playbook = play(Playbook(), KilnResource(Kiln(0), 100), resource=failing(error))
    assert playbook.failed
    assert playbook.result["msg"] == "The host answered: Input/output error (/dev/sda)."


def test_a_defect_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        run(
            cast(AnsibleModule, Playbook()),
            lambda _params: Task(resource=failing(ZeroDivisionError()), lock="kiln", facts=lambda _state: {}),
        )


def test_looking_returns_what_was_found_and_no_change() -> None:
    playbook = Playbook(name="kiln")
    with pytest.raises(Ended):
        look(cast(AnsibleModule, playbook), lambda params, runner: {"seen": [params["name"], runner.started]}, {})
    assert playbook.result == {"changed": False, "seen": ["kiln", 0]}


def test_looking_fails_in_words() -> None:
    def refuse(_params: Mapping[str, Any], _runner: Runner) -> dict[str, Any]:
        raise Refusal("There is nothing to see.")

    playbook = Playbook()
    with pytest.raises(Ended):
        look(cast(AnsibleModule, playbook), refuse, {})
    assert playbook.failed
    assert playbook.result == {"msg": "There is nothing to see."}
