# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What steps on arrays do when udev is at work, too. What needs a kernel's arrays is tested on lab hosts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import CommandError, Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import StepFailed
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.applying import arrays, execution
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.host import Host

STOP = ("mdadm", "--stop", "/dev/md127")


class Busy(Runner):
    """Runs nothing: mdadm answers that the array is busy so many times, and then that it has stopped it."""

    def __init__(self, busy: int) -> None:
        super().__init__()
        self.busy = busy
        self.asked: list[Any] = []

    def run(self, argv: Any, *_more: Any, **_options: Any) -> str:
        self.asked.append(argv)
        if len(self.asked) <= self.busy:
            raise CommandError(tuple(argv), 1, "", "mdadm: Cannot get exclusive access to /dev/md127")
        return ""


def stopped(runner: Runner, root: Path) -> None:
    arrays.stop(STOP, execution.Execution(runner, Host(str(root)), time.monotonic() + 60))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sys/block/md127/md").mkdir(parents=True)
    (tmp_path / "sys/block/md127/md/array_state").write_text("inactive\n")
    return tmp_path


def test_an_array_that_udev_looks_at_is_stopped_when_it_has_looked(root: Path) -> None:
    runner = Busy(3)
    stopped(runner, root)
    assert runner.asked == [STOP] * 4


def test_an_array_that_has_gone_meanwhile_is_stopped(root: Path) -> None:
    (root / "sys/block/md127/md/array_state").unlink()
    runner = Busy(3)
    stopped(runner, root)
    assert runner.asked == [STOP]


def test_an_array_that_somebody_keeps_is_told_with_the_words_of_mdadm(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution.until, "__defaults__", (0.1,))
    with pytest.raises(StepFailed, match=r"Cannot get exclusive access to /dev/md127\. See 'fuser -v /dev/md127'"):
        stopped(Busy(100), root)
