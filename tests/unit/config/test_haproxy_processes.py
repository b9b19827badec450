# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What HAProxy's master says of its processes; as recorded of HAProxy 2.6.12 and 3.0.11."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.check import CheckFailed, Moment
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.haproxy import (
    HaproxyCheck,
    what_is_wrong,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._config.daemons.control_socket import NoAnswer
from ansible_collections.baremetal.fabric.plugins.module_utils._config.daemons.haproxy import (
    Processes,
    Worker,
    parse_show_proc,
    show_proc,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from tests.unit.config.replay import HAPROXY_VERSIONS, haproxy, replayed

every_version = pytest.mark.parametrize("version", HAPROXY_VERSIONS)


@every_version
@pytest.mark.parametrize(
    ("scene", "reloads", "failed", "workers", "old_workers"),
    [
        ("never-reloaded", 0, 0, [0], []),
        ("reloaded", 1, 0, [0], []),
        ("failed", 2, 1, [1], []),
        ("failed-twice", 3, 2, [2], []),
        ("failed-then-good", 5, 0, [0], []),
        ("old-workers", 6, 0, [0], [1]),
        ("old-workers-failed", 7, 1, [1], [2]),
    ],
)
def test_processes_are_counted(
    version: str, scene: str, reloads: int, failed: int, workers: list[int], old_workers: list[int]
) -> None:
    found = parse_show_proc(haproxy(version, scene))
    assert found.version.startswith(version)
    assert (found.reloads, found.failed) == (reloads, failed)
    assert [worker.reloads for worker in found.workers] == workers
    assert [worker.reloads for worker in found.old_workers] == old_workers


@every_version
@pytest.mark.parametrize("scene", ["never-reloaded", "reloaded", "failed-then-good", "old-workers"])
def test_workers_of_the_last_reload_are_as_they_should_be(version: str, scene: str) -> None:
    assert what_is_wrong(parse_show_proc(haproxy(version, scene))) == ""


@every_version
def test_a_reload_that_failed_is_told(version: str) -> None:
    once = what_is_wrong(parse_show_proc(haproxy(version, "failed")))
    assert once == "the last reload failed; what serves is the configuration before"
    assert "failed, and the 1 before it did too" in what_is_wrong(parse_show_proc(haproxy(version, "failed-twice")))
    assert "the last reload failed" in what_is_wrong(parse_show_proc(haproxy(version, "old-workers-failed")))


def test_a_master_without_workers_serves_nothing() -> None:
    nobody = Processes(master=1, version="3.0", reloads=0, failed=0, workers=(), old_workers=(Worker(2, 1),))
    assert what_is_wrong(nobody) == "it has no worker, so nothing serves"


def test_workers_that_are_all_older_are_told() -> None:
    older = Processes(
        master=1, version="3.0", reloads=3, failed=0, workers=(Worker(7, 2), Worker(8, 3)), old_workers=()
    )
    assert what_is_wrong(older) == "its newest worker, process 7, is 2 reloads old"


@pytest.mark.parametrize("text", ["", "Unknown command: 'show proc'\n"])
def test_what_is_no_list_of_processes_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="no list of HAProxy's processes"):
        parse_show_proc(text)


@every_version
def test_the_master_is_told_that_no_more_commands_follow_for_else_it_waits(version: str, tmp_path: Path) -> None:
    path = tmp_path / "master.sock"
    with replayed(path, [haproxy(version, "old-workers")]) as daemon:
        assert len(show_proc(daemon.path, 5).old_workers) == 1
        assert daemon.heard == ["show proc"]
        HaproxyCheck(daemon.path).probe(Moment(Runner(), 5))


def test_the_check_says_what_is_wrong(tmp_path: Path) -> None:
    check = HaproxyCheck(str(tmp_path / "master.sock"))
    assert check.title == f"haproxy {tmp_path}/master.sock"
    with pytest.raises(CheckFailed, match="does not exist; HAProxy may not run"):
        check.probe(Moment(Runner(), 5))
    with (
        replayed(Path(check.socket), [haproxy("2.6.12", "failed")]),
        pytest.raises(CheckFailed, match="the last reload failed"),
    ):
        check.probe(Moment(Runner(), 5))


def test_a_worker_that_is_taken_for_the_master_is_told(tmp_path: Path) -> None:
    path = tmp_path / "admin.sock"
    with (
        replayed(path, ["Unknown command: 'show proc'\n"]) as daemon,
        pytest.raises(NoAnswer, match=r"does not answer as HAProxy's master: .*Unknown command"),
    ):
        show_proc(daemon.path, 5)


def test_a_master_that_does_not_answer_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "master.sock"
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(path))
        mute.listen()
        with pytest.raises(NoAnswer, match=r"HAProxy does not answer over .*master.sock within 0.3 s"):
            show_proc(str(path), 0.3)
