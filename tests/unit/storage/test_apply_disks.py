# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What steps on disks do with bytes, locks and files. What needs a kernel's disks is tested on lab hosts."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import StepFailed
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.applying import disks as apply_disks
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.applying.disks import edges, locked, zero
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.applying.execution import (
    Execution,
    until,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import KIB, MIB
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.host import Host


@pytest.fixture
def means() -> Execution:
    return Execution(Runner(), Host(), time.monotonic() + 60)


def test_the_edges_of_a_slice_are_its_first_and_its_last_two_mebibytes() -> None:
    assert edges(MIB, 100 * MIB) == ((MIB, 2 * MIB), (99 * MIB, 2 * MIB))


def test_a_small_slice_is_all_edge() -> None:
    assert edges(MIB, 4 * MIB) == ((MIB, 4 * MIB),)
    assert edges(MIB, 3 * MIB - 512) == ((MIB, 3 * MIB - 512),)
    assert edges(MIB, 4 * MIB + 512) == ((MIB, 2 * MIB), (3 * MIB + 512, 2 * MIB))


def test_zeros_go_where_they_should_and_nowhere_else(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(b"\xff" * (8 * MIB))
    zero(str(disk), ((MIB + 512, 2 * MIB), (7 * MIB, 512)))
    content = disk.read_bytes()
    assert len(content) == 8 * MIB
    expected = bytearray(b"\xff" * (8 * MIB))
    expected[MIB + 512 : 3 * MIB + 512] = bytes(2 * MIB)
    expected[7 * MIB : 7 * MIB + 512] = bytes(512)
    assert content == bytes(expected)


def test_the_lock_is_udevs_and_is_held_for_the_time_of_the_change_only(tmp_path: Path, means: Execution) -> None:
    disk = tmp_path / "disk"
    disk.touch()
    with disk.open() as other:
        with locked(str(disk), means), pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)  # what udev does before it looks at a disk
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_the_lock_is_let_go_when_the_change_fails(tmp_path: Path, means: Execution) -> None:
    disk = tmp_path / "disk"
    disk.touch()
    with pytest.raises(OSError, match="no"), locked(str(disk), means):
        raise OSError("no")
    with disk.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_disk_that_udev_looks_at_is_waited_for(tmp_path: Path, means: Execution) -> None:
    disk = tmp_path / "disk"
    disk.touch()
    code = "import fcntl, sys, time; fcntl.flock(open(sys.argv[1]), fcntl.LOCK_SH); print('held', flush=True)"
    code += "; time.sleep(0.5)"
    with subprocess.Popen([sys.executable, "-c", code, str(disk)], stdout=subprocess.PIPE) as udev:
        assert udev.stdout is not None
        assert udev.stdout.readline() == b"held\n"
        with locked(str(disk), means):
            assert udev.wait(10) == 0


def test_a_disk_that_stays_locked_is_an_error_that_says_how_to_find_out(
    tmp_path: Path, means: Execution, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply_disks, "until", lambda condition, failure: until(condition, failure, 0.2))
    disk = tmp_path / "disk"
    disk.touch()
    with disk.open() as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(StepFailed, match=r"stayed locked by another program.*lslocks"), locked(str(disk), means):
            pytest.fail("the lock was not waited for")


def test_until_returns_what_it_waited_for() -> None:
    answers = iter([0, None, 64 * KIB])
    assert until(lambda: next(answers), lambda: "never") == 64 * KIB


def test_until_gives_up_in_words() -> None:
    with pytest.raises(StepFailed, match="the kettle is cold"):
        until(lambda: None, lambda: "the kettle is cold", 0.05)
