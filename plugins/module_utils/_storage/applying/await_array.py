# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Wait until md has finished with an array, and tell apart: at work, done, and given up."""

from __future__ import annotations

import contextlib
import time

from ..._converge.command import CommandError
from ..._converge.converge import StepFailed, StillRunning
from ..observing.sysfs import KernelArray, KernelMember, read_array, reshape_has_a_helper
from ..picture import duration
from ..steps.arrays import AwaitArray, noun
from .arrays import BEGIN, array_called, set_action, take_up_reshape
from .execution import Execution

_SHORTEST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
#: Seconds without anybody at work after which md is taken to have stopped for good.
_GIVEN_UP = 3 * BEGIN


def unfinished(array: KernelArray) -> str:
    """Return what md still has to do in ``array``, in a clause; "" when the array is settled."""
    if array.action != "idle":
        return f"its {noun(array.action)} runs" if array.action != "frozen" else "an mdadm holds it still"
    if array.suspended:
        return "writes to a part of it are held back"
    if array.hidden_reshape or array.previous_devices:
        return "its reshape is not finished"
    if array.activity is not None:
        return f"its {noun(array.activity.action)} waits for the first write"
    filling = [*_filling(array), *(each for each in array.members if each.member.replacement)]
    if filling:
        return f"{', '.join(f'/dev/{each.name}' for each in filling)} is not filled"
    if array.degraded and any(each.member.spare for each in array.members):
        return "a spare is not taken up"
    return ""


def _filling(array: KernelArray) -> list[KernelMember]:
    """Return the members that have an empty slot and do not hold its data yet."""
    return [
        each
        for each in array.members
        if each.member.slot is not None and not (each.member.in_sync or each.member.faulty or each.member.replacement)
    ]


def _unheld(array: KernelArray) -> int:
    """Return how many slots no member holds, filled or being filled.

    By the members alone: `degraded` is read a moment later, and may tell of a rebuild that has just ended.
    """
    held = {each.member.slot for each in array.members if each.member.slot is not None and not each.member.faulty}
    return max(0, array.devices - len(held))


def _failed(array: KernelArray) -> set[str]:
    """Return the kernel names of failed members."""
    return {each.name for each in array.members if each.member.faulty}


class _Wait:
    """A wait under way: what was seen so far, and what was tried to get md going again."""

    def __init__(self, step: AwaitArray, execution: Execution) -> None:
        self.step = step
        self.execution = execution
        self.array = array_called(step.array, execution).kernel
        #: Members that may be marked as failed without anything being wrong: md does so when a replacement is complete.
        self._expendable = _failed(self.array)
        #: How many members the array may lack in the end.
        self._lacking = self.array.devices
        self._still_since: float | None = None
        self._tried: set[str] = set()

    def look(self) -> str:
        """Look at the array; return what is unfinished. Raises :class:`StepFailed` when nothing more will come."""
        self.array = read_array(self.execution.host, self.array.name)
        if not self.array.started or self.array.state == "broken":
            state = self.array.state or "gone"
            raise StepFailed(
                f"Array {self.step.array} stopped during its {noun(self.step.action)} ({state}): too "
                "many of its members failed. See 'mdadm --detail' and the kernel's log; do not create the array again."
            )
        self._lacking = min(self._lacking, _unheld(self.array))
        self._expendable |= {each.name for each in self.array.members if each.member.want_replacement}
        rest = unfinished(self.array)
        if not rest:
            self._check_success()
        elif self._at_work():
            self._still_since = None
        else:
            self._nudge(rest)
        return rest

    def _check_success(self) -> None:
        failed = self._newly_failed()
        if failed or self.array.degraded > self._lacking:
            raise StepFailed(
                f"{failed or 'A member'} failed during the {noun(self.step.action)} of array {self.step.array}, "
                f"which now lacks {self.array.degraded} of {self.array.devices} members. Replace the disk; run again."
            )

    def _newly_failed(self) -> str:
        return ", ".join(f"/dev/{name}" for name in sorted(_failed(self.array) - self._expendable))

    def _at_work(self) -> bool:
        if self.array.action in ("idle", "frozen"):
            return False
        return not self.array.suspended or reshape_has_a_helper(self.execution.host, self.array)

    def _nudge(self, rest: str) -> None:
        """Do once what an array needs that md, or an mdadm, has left half done."""
        now = time.monotonic()
        if self._still_since is None:
            self._still_since = now
        still = now - self._still_since
        if self.array.read_only and self._first("readwrite"):
            # md does nothing in an array that nobody has written to since it was started.
            with contextlib.suppress(CommandError):  # somebody has written meanwhile
                self.execution.run(("mdadm", "--readwrite", self.array.node))
        elif self.array.suspended and still > BEGIN and self._first("continue" if self.array.reshaping else "resume"):
            # The mdadm that moved the range along was killed; writes there hang until another one does.
            take_up_reshape(self.array, self.execution)
        elif self.array.action == "frozen" and still > BEGIN and self._first("thaw"):
            # An mdadm that died while it changed the array has left it so; this is how mdadm itself ends it.
            set_action(self.array, "idle", self.execution)
        elif still > _GIVEN_UP:
            failed = self._newly_failed()
            why = f" ({failed} failed meanwhile)" if failed else ""
            raise StepFailed(
                f"md has stopped working on array {self.step.array} before the {noun(self.step.action)} was "
                f"complete{why}: {rest}. See 'mdadm --detail' and the kernel's log, then run again."
            )

    def _first(self, attempt: str) -> bool:
        if attempt in self._tried:
            return False
        self._tried.add(attempt)
        self._still_since = None
        return True


def _still_running(name: str, array: KernelArray, rest: str) -> str:
    words = [f"Array {name} is not settled within the time allowed: {rest}"]
    activity = array.activity
    if activity is not None and activity.delayed:
        words.append("it waits for another array on the same disks")
    if activity is not None and activity.percent is not None:
        words.append(f"{activity.percent:.0f} % done")
    if activity is not None and activity.seconds_left is not None:
        words.append(f"about {duration(activity.seconds_left)} to go")
    return ", ".join(words) + ". md goes on by itself; run again later, or with a longer wait_timeout."


def await_array(step: AwaitArray, execution: Execution) -> None:
    """Return when the array is settled.

    Raises :class:`StillRunning` at the deadline of ``execution``, and :class:`StepFailed` when md stopped working
    on the array without having finished.
    """
    wait = _Wait(step, execution)
    pause = _SHORTEST_PAUSE
    while True:
        rest = wait.look()
        if not rest:
            return
        left = execution.deadline - time.monotonic()
        if left <= 0:
            raise StillRunning(_still_running(step.array, wait.array, rest))
        time.sleep(min(pause, left))
        pause = min(pause * 1.5, _LONGEST_PAUSE)
