# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What steps are carried out with: commands, the time allowed, waiting for the kernel, replacing files."""

from __future__ import annotations

import contextlib
import time
import typing as t

from ..._converge.command import CommandError, Runner
from ..._converge.converge import StepFailed
from ..observing.host import Host

#: Seconds that the kernel and udev get to show what a command did. Emulated hosts need a few.
PATIENCE = 60.0

T = t.TypeVar("T")


class Execution:
    """The means by which a run carries out its steps.

    ``deadline`` is the moment of :func:`time.monotonic` at which steps that wait give up.
    """

    def __init__(self, runner: Runner, host: Host, deadline: float) -> None:
        self.runner = runner
        self.host = host
        self.deadline = deadline
        #: Whether udev may still have to look at disks that were changed.
        self.disks_changed = False

    def run(self, argv: t.Sequence[str], accept: t.Container[int] = (0,)) -> str:
        """Run a command; see :meth:`Runner.run`."""
        return self.runner.run(argv, accept)

    def settle_udev(self) -> None:
        """Let udev work off its queue, within bounds. Proves nothing: callers look for themselves afterwards."""
        self.disks_changed = False
        with contextlib.suppress(CommandError):  # no udev, or it is slow
            self.run(("udevadm", "settle", "--timeout=30"))

    def await_nodes(self, nodes: t.Collection[str]) -> None:
        """Wait until block devices are there that were made by earlier steps, and nobody looks at them any more.

        After changes to several disks udev's queue is worked off once, before the first use.
        """
        if self.disks_changed:
            self.settle_udev()
        until(
            lambda: all(map(self.is_block_device, nodes)),
            lambda: f"{', '.join(node for node in nodes if not self.is_block_device(node))} vanished; run again.",
        )

    def is_block_device(self, path: str) -> bool:
        """Return whether ``path`` leads to a block device."""
        return bool(self.host.device_number(path))


def until(condition: t.Callable[[], T | None], failure: t.Callable[[], str], seconds: float = PATIENCE) -> T:
    """Return the first value of ``condition`` that is true, asked from every 10 ms to every 0.5 s.

    Raises :class:`StepFailed` with the text of ``failure`` after ``seconds``.
    """
    deadline = time.monotonic() + seconds
    pause = 0.01
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= deadline:
            raise StepFailed(failure())
        time.sleep(pause)
        pause = min(pause * 2, 0.5)
