# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lock, between real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.lock import Lock, LockHeld

ROOT = Path(__file__).resolve().parents[3] / ".cache" / "collections"

#: Takes the lock, starts a child through the runner that says "at work" and sleeps, and would then go on.
RUN = """
import sys
sys.path.insert(0, {root!r})
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.lock import Lock
with Lock("pool", {directory!r}) as lock:
    lock.acquire(1)
    Runner(inherit=(lock.descriptor,)).run(["sh", "-c", "echo $$ > {directory}/child; exec sleep 60"])
"""


def child_pid(directory: Path) -> int:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        text = (directory / "child").read_text() if (directory / "child").exists() else ""
        if text.endswith("\n"):
            return int(text)
        time.sleep(0.05)
    raise AssertionError("the child did not start")


def test_a_lock_is_free_again_once_it_is_released(tmp_path: Path) -> None:
    for _run in range(2):
        with Lock("pool", str(tmp_path)) as lock:
            lock.acquire(0)


def test_locks_of_other_resources_do_not_matter(tmp_path: Path) -> None:
    with Lock("one", str(tmp_path)) as one, Lock("two", str(tmp_path)) as two:
        one.acquire(0)
        two.acquire(0)


def test_a_waiting_run_goes_on_when_the_other_ends(tmp_path: Path) -> None:
    first = Lock("pool", str(tmp_path))
    first.acquire(0)
    threading.Timer(0.5, first.release).start()
    with Lock("pool", str(tmp_path)) as second:
        second.acquire(20)


def test_the_lock_outlives_a_killed_run_as_long_as_its_child_works(tmp_path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", RUN.format(root=str(ROOT), directory=str(tmp_path))])
    child = child_pid(tmp_path)
    try:
        run.kill()
        run.wait()
        with Lock("pool", str(tmp_path)) as lock:
            with pytest.raises(LockHeld, match=rf"sleep \(pid {child}\) still holds"):
                lock.acquire(0.3)
            os.kill(child, signal.SIGKILL)
            lock.acquire(20)
    finally:
        run.kill()


def test_a_run_that_holds_the_lock_is_named(tmp_path: Path) -> None:
    run = subprocess.Popen([sys.executable, "-c", RUN.format(root=str(ROOT), directory=str(tmp_path))])
    try:
        child_pid(tmp_path)
        with Lock("pool", str(tmp_path)) as lock, pytest.raises(LockHeld, match=rf"\(pid {run.pid}\)"):
            lock.acquire(0)
    finally:
        run.kill()
        run.wait()
        os.kill(child_pid(tmp_path), signal.SIGKILL)


def test_a_command_that_was_not_given_the_lock_does_not_keep_it(tmp_path: Path) -> None:
    with Lock("pool", str(tmp_path)) as lock:
        lock.acquire(0)
        child = subprocess.Popen(["sleep", "60"])
        Runner().run(["true"])
    try:
        with Lock("pool", str(tmp_path)) as lock:
            lock.acquire(0)
    finally:
        child.kill()
        child.wait()


def test_a_daemon_that_inherited_the_lock_does_not_keep_it_when_the_run_has_ended(tmp_path: Path) -> None:
    with Lock("pool", str(tmp_path)) as lock:
        lock.acquire(0)
        daemon = f"sleep 60 > /dev/null 2>&1 & echo $! > {tmp_path}/child"
        Runner(inherit=(lock.descriptor,)).run(["sh", "-c", daemon])
    pid = child_pid(tmp_path)
    try:
        with Lock("pool", str(tmp_path)) as again:
            again.acquire(0)
        assert Path(f"/proc/{pid}").exists()
    finally:
        os.kill(pid, signal.SIGKILL)
