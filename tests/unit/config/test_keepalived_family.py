# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keepalived's parent and children, as they were seen with 2.2.7 and 2.3.3, and as /proc tells of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.check import CheckFailed, Moment
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.keepalived import (
    KeepalivedCheck,
    what_is_wrong,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._config.daemons.keepalived import (
    Family,
    Process,
    family,
    parse_stat,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner

#: A parent with one child. The parent says when the child runs, and never reaps it.
PARENT = """
import os, sys, time
child = os.fork()
if not child:
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
sys.stdin.read()
"""

RELOADED_AT = 1000.0


def process(pid: int, started: float, state: str = "S") -> Process:
    return Process(pid, 1 if pid == 220 else 220, state, started)


def kept(*children: Process) -> Family:
    return Family(process(220, 900.0), children)


@pytest.fixture
def running() -> Iterator[tuple[int, int]]:
    """A parent and its child."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        child = int(parent.stdout.readline()) if parent.stdout else 0
        try:
            yield parent.pid, child
        finally:
            os.kill(child, 9)
            parent.kill()


def test_a_process_is_read_whatever_its_name() -> None:
    fields = "1 220 220 0 -1 4194560 290 0 0 0 0 0 0 0 20 0 1 0 2730613 21049344 1024"
    found = parse_stat(f"220 (a) S 7 (b)) S {fields}\n", booted=1000.0, ticks_per_second=100)
    assert found == Process(pid=220, parent=1, state="S", started=1000.0 + 27306.13)


@pytest.mark.parametrize("text", ["", "220 (keepalived) S 1", "x (keepalived) S " + "1 " * 30])
def test_what_describes_no_process_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="no process"):
        parse_stat(text, 0.0, 100)


def test_a_reload_keeps_parent_and_children() -> None:
    assert what_is_wrong(kept(process(221, 900.02)), RELOADED_AT) == ""


def test_a_child_that_the_reload_started_for_the_first_time_is_no_fault() -> None:
    assert what_is_wrong(kept(process(221, 900.02), process(1242, 1000.12)), RELOADED_AT) == ""


def test_all_are_young_after_a_start() -> None:
    started = Family(process(220, 1000.1), (process(221, 1000.12),))
    assert what_is_wrong(started, RELOADED_AT) == ""


def test_ages_do_not_count_when_nobody_was_told() -> None:
    assert what_is_wrong(kept(process(221, 2000.0)), 0.0) == ""


def test_children_that_died_of_the_reload_are_told() -> None:
    assert "died of the reload" in what_is_wrong(kept(process(1358, 1000.3)), RELOADED_AT)


def test_a_parent_without_children_does_nothing() -> None:
    assert what_is_wrong(kept(), RELOADED_AT) == "its process 220 has no child that does the work"


def test_what_has_ended_does_not_run() -> None:
    ended = Family(process(220, 900.0, "Z"), ())
    assert what_is_wrong(ended, 0.0) == "its process 220 has ended"
    assert what_is_wrong(kept(process(221, 900.0), process(222, 900.0, "Z")), 0.0) == "its child 222 has ended"


def test_families_are_found_in_proc(running: tuple[int, int]) -> None:
    parent, child = running
    found = family(parent)
    assert found is not None
    assert [each.pid for each in found.children] == [child]
    assert found.parent.runs
    assert abs(found.parent.started - time.time()) < 30
    assert found.parent.started <= found.children[0].started


def test_the_check_looks_at_the_process_that_the_file_names(running: tuple[int, int], tmp_path: Path) -> None:
    pid_file = tmp_path / "keepalived.pid"
    check = KeepalivedCheck(str(pid_file))
    moment = Moment(Runner(), 5, told=time.time() + 1)
    with pytest.raises(CheckFailed, match="it does not run: there is no"):
        check.probe(moment)
    pid_file.write_text("")
    with pytest.raises(CheckFailed, match="has no process to look at"):
        check.probe(moment)
    pid_file.write_text(f"{2**22 + 1}\n")
    with pytest.raises(CheckFailed, match="there is no process 4194305"):
        check.probe(moment)
    pid_file.write_text(f"{running[0]}\n")
    check.probe(moment)


def test_the_check_notices_that_a_child_has_ended(running: tuple[int, int], tmp_path: Path) -> None:
    pid_file = tmp_path / "keepalived.pid"
    pid_file.write_text(f"{running[0]}\n")
    os.kill(running[1], 9)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = family(running[0])
        if found and not found.children[0].runs:
            break
    with pytest.raises(CheckFailed, match="no child that does the work"):
        KeepalivedCheck(str(pid_file)).probe(Moment(Runner(), 5))
