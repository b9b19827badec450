# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Wait until md has finished with an array, and tell apart: at work, done, and given up."""

from __future__ import annotations

import contextlib
import os
import time
import typing as t

from .._converge.command import CommandError
from .._converge.converge import StillRunning
from .apply_arrays import BEGIN, Md, find_array
from .array_steps import AwaitArray
from .host import Host, StepFailed, read
from .picture import duration

_SHORTEST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
#: Seconds without anybody at work after which a half-done reshape is taken for abandoned.
_ABANDONED = 5.0


class _Watch:
    """What has been seen of an array since the wait began."""

    def __init__(self, md: Md) -> None:
        self.md = md
        members = md.members()
        self.faulty_before = {name for name, (state, _slot) in members.items() if "faulty" in state}
        self.idle_since: float | None = None
        self.seen_action = ""
        self.woken = False
        self.continued = False

    def unfinished(self) -> str:
        """Return what is still to be done, in a clause, or "" when the array is settled."""
        md = self.md
        action = md.action
        if action != "idle":
            return f"its {action} runs"
        if md.suspended:
            return "writes to a part of it are held back"
        if md.reshape_under_way:
            return "its reshape is not finished"
        if md.resync_pending:
            return "its resync is not finished"
        members = md.members()
        if any("replacement" in state and "in_sync" not in state for state, _slot in members.values()):
            return "a replacement is not finished"
        rebuilding = [
            name
            for name, (state, slot) in members.items()
            if slot not in ("none", "") and not state & {"in_sync", "faulty", "replacement", "journal"}
        ]
        if rebuilding:
            return f"{', '.join(sorted(rebuilding))} is not rebuilt"
        spare = any(slot == "none" and not state & {"faulty", "journal"} for state, slot in members.values())
        if spare and int(md.attribute("degraded") or 0) > 0:
            return "a spare waits for its turn"
        return ""

    def newly_failed(self) -> list[str]:
        """Return the members that failed since the wait began, other than those that were being replaced."""
        failed = []
        members = self.md.members()
        for name, (state, _slot) in members.items():
            if "faulty" in state and name not in self.faulty_before and "want_replacement" not in state:
                failed.append(name)
        return sorted(failed)


def _somebody_grows() -> bool:
    """Return whether an mdadm that looks after a reshape is running."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
            if os.path.basename(words[0]) == b"mdadm" and b"--grow" in words:
                return True
    return False


def await_array(step: AwaitArray, host: Host) -> None:
    """Return when the array is settled.

    Raises :class:`StillRunning` at the host's deadline, and :class:`StepFailed` when md stopped working on the
    array without having finished.
    """
    watch = _Watch(find_array(step.array, host))
    pause = _SHORTEST_PAUSE
    while True:
        rest = watch.unfinished()
        _check_alive(step, watch)
        if not rest:
            _check_success(step, watch)
            return
        _nudge(step, watch, rest, host)
        if time.monotonic() >= host.deadline:
            raise StillRunning(_still_running(step, watch.md, rest))
        time.sleep(max(0.0, min(pause, host.deadline - time.monotonic())))
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _check_alive(step: AwaitArray, watch: _Watch) -> None:
    state = watch.md.state
    if state in ("", "clear", "inactive", "broken"):
        raise StepFailed(
            f"Array {step.array} stopped during its {step.action} (state: {state or 'gone'}): too many of its members "
            "failed. See 'mdadm --detail' and the kernel's log before anything else; do not create it again."
        )


def _check_success(step: AwaitArray, watch: _Watch) -> None:
    """Raise when the work ended because a member failed under it."""
    failed = watch.newly_failed()
    if failed:
        degraded = int(watch.md.attribute("degraded") or 0)
        raise StepFailed(
            f"{', '.join('/dev/' + name for name in failed)} failed during the {step.action} of array {step.array}"
            + (f", which now lacks {degraded} of {watch.md.devices} members" if degraded else "")
            + ". Replace the disk, then run again."
        )


def _nudge(step: AwaitArray, watch: _Watch, rest: str, host: Host) -> None:
    """Do what an array that is not at work needs to go on, once each; raise when that did not help."""
    md = watch.md
    now = time.monotonic()
    action = md.action
    if action == "idle" and md.state == "read-auto" and not watch.woken:
        # md does nothing in an array that nobody has written to yet: it would wait for ever.
        watch.woken = True
        with contextlib.suppress(CommandError):  # a write has woken it meanwhile
            host.run(("mdadm", "--readwrite", md.node))
        return
    at_work = action not in ("idle", "frozen") and not (md.suspended and not _somebody_grows())
    if at_work:
        watch.idle_since = None
        return
    if watch.idle_since is None:
        watch.idle_since = now
        return
    idle = now - watch.idle_since
    if md.suspended and not watch.continued and idle > _ABANDONED:
        watch.continued = True
        watch.idle_since = None
        host.run(("mdadm", "--grow", "--continue", md.node))
    elif action == "frozen" and idle > BEGIN and not _somebody_grows():
        # An mdadm that died while it changed the array has left it so; this is how mdadm itself undoes it.
        watch.idle_since = None
        md.set("sync_action", "idle")
    elif idle > 3 * BEGIN:
        failed = [f"/dev/{name}" for name in watch.newly_failed()]
        why = f"; {', '.join(failed)} failed meanwhile, replace it" if failed else ""
        raise StepFailed(
            f"md stopped working on array {step.array} before the {step.action} was complete: {rest}{why}. "
            "See 'mdadm --detail' and the kernel's log, then run again."
        )


def _still_running(step: AwaitArray, md: Md, rest: str) -> str:
    done, total = md.progress
    speed = md.speed
    words = [f"Array {step.array} is not settled within wait_timeout: {rest}"]
    if total:
        words.append(f"{100 * done / total:.0f} % done")
        if speed:
            words.append(f"about {duration((total - done) / speed)} to go")
    elif md.attribute("sync_completed") == "delayed":
        words.append("it waits for another array on the same disks")
    limit = read("/proc/sys/dev/raid/speed_limit_max")
    return (
        ", ".join(words)
        + ". md goes on by itself; run again later, or with a longer wait_timeout"
        + (f" (md's speed limit is {limit} KiB/s per disk)." if limit else ".")
    )


__all__: t.Sequence[str] = ("await_array",)
