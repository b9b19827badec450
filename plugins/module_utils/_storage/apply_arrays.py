# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out the steps on md arrays. What the kernel did is read from sysfs, never from mdstat."""

from __future__ import annotations

import contextlib
import os
import typing as t

from .._converge.command import CommandError
from .apply_disks import EDGE, zero
from .array_steps import (
    AddMembers,
    CancelReplacement,
    ContinueReshape,
    CreateArray,
    DropMembers,
    GrowArray,
    PauseCheck,
    ReplaceMember,
    StartArray,
    WakeArray,
)
from .host import Host, StepFailed, is_block_device, kernel_name, read, until, write

#: Seconds that md's thread gets to begin what a command has asked for.
BEGIN = 10.0
_SECTOR = 512


class Md:
    """The attributes of a running array in /sys/block/mdN/md (Documentation/admin-guide/md.rst)."""

    def __init__(self, node: str, block: str = "/sys/class/block") -> None:
        self.node = node
        self.folder = f"{block}/{kernel_name(node)}/md"

    def attribute(self, name: str) -> str:
        """Return an attribute, "" when it is not there."""
        return read(f"{self.folder}/{name}")

    def set(self, name: str, value: str) -> None:
        """Write an attribute. Raises OSError as the kernel answers."""
        write(f"{self.folder}/{name}", value)

    @property
    def state(self) -> str:
        """Clean, active, read-auto, inactive, broken...; "" when the array is gone."""
        return self.attribute("array_state")

    @property
    def action(self) -> str:
        """Idle, resync, recover, reshape, check, repair or frozen."""
        return self.attribute("sync_action") or "idle"

    @property
    def reshape_under_way(self) -> bool:
        """Whether a reshape has begun and not ended, also when sync_action does not show it."""
        return self.attribute("reshape_position") not in ("", "none") or "(" in self.attribute("raid_disks")

    @property
    def resync_pending(self) -> bool:
        """Whether the array knows that its members may differ."""
        return self.attribute("resync_start") not in ("", "none")

    @property
    def suspended_range(self) -> tuple[int, int]:
        """The sectors that writes must not touch, as (low, high); the range is empty unless low < high."""
        low, high = self.attribute("suspend_lo"), self.attribute("suspend_hi")
        return (int(low or 0), int(high or 0))

    @property
    def suspended(self) -> bool:
        """Whether writes to a range are held back."""
        low, high = self.suspended_range
        return low < high

    @property
    def devices(self) -> int:
        """The number of devices wanted; during a reshape the new one."""
        return int((self.attribute("raid_disks") or "0").split()[0])

    @property
    def progress(self) -> tuple[int, int]:
        """How far md is, and of how much: bytes per member; (0, 0) when the kernel does not tell."""
        done, slash, total = self.attribute("sync_completed").partition("/")
        return (int(done) * _SECTOR, int(total) * _SECTOR) if slash else (0, 0)

    @property
    def speed(self) -> int:
        """Bytes per second and member."""
        speed = self.attribute("sync_speed")
        return int(speed) * 1024 if speed.isdigit() else 0

    def members(self) -> dict[str, tuple[frozenset[str], str]]:
        """Return for each member's kernel name its state words and its slot ("none" without one)."""
        try:
            names = [name[4:] for name in os.listdir(self.folder) if name.startswith("dev-")]
        except OSError:
            return {}
        return {
            name: (
                frozenset(word.strip() for word in self.attribute(f"dev-{name}/state").split(",")),
                self.attribute(f"dev-{name}/slot"),
            )
            for name in names
        }

    def member_state(self, partition: str) -> frozenset[str]:
        """Return the state words of one member, none when it is not in the array."""
        return self.members().get(kernel_name(partition), (frozenset(), ""))[0]


def find_array(name: str, host: Host) -> Md:
    """Return the running array called ``name``, whatever its node is called. Raises :class:`StepFailed`."""
    node = f"/dev/md/{name}"
    if is_block_device(node):
        return Md(node)
    for each in sorted(os.listdir("/sys/class/block")):
        if not os.path.isdir(f"/sys/class/block/{each}/md"):
            continue
        # mdadm leaves the home host away when it is this host.
        with contextlib.suppress(CommandError):
            lines = host.run(("mdadm", "--detail", "--export", f"/dev/{each}")).splitlines()
            names = [line.partition("=")[2] for line in lines if line.startswith("MD_NAME=")]
            if any(found.rpartition(":")[2] == name for found in names):
                return Md(f"/dev/{each}")
    raise StepFailed(f"Array {name} is not running any more; see 'cat /proc/mdstat' and the kernel's log, then run again.")


def _soon(condition: t.Callable[[], bool], seconds: float = BEGIN) -> bool:
    """Wait until ``condition`` holds; return whether it did."""
    try:
        return until(condition, str, seconds)
    except StepFailed:
        return False


def create(step: CreateArray, host: Host) -> None:
    """Make an array. Old data must not come to life as its content, so its first bytes are zeroed on each member."""
    for partition in step.partitions:
        zero(partition, ((step.data_offset, min(EDGE, step.component_size)),), exclusive=True)
    host.settle_udev()
    for argv in step.commands:
        host.run(argv)
    until(
        lambda: is_block_device(step.node) and Md(step.node).state not in ("", "clear", "inactive"),
        lambda: f"mdadm made array {step.array}, but {step.node} did not appear; is udev running? Run again.",
    )
    host.settle_udev()


def start(step: StartArray, host: Host) -> None:
    """Start an array."""
    for argv in step.commands:
        host.run(argv)
    until(
        lambda: is_block_device(step.node) and Md(step.node).state not in ("", "clear", "inactive"),
        lambda: f"mdadm started array {step.array}, but the kernel does not run it; see its log.",
    )
    host.settle_udev()


def wake(step: WakeArray, host: Host) -> None:
    """Make an array writable. mdadm fails when somebody's first write has done so a moment before."""
    md = Md(step.node)
    try:
        for argv in step.commands:
            host.run(argv)
    except CommandError:
        if md.state in ("read-auto", "readonly", "inactive", ""):
            raise
    _soon(lambda: md.action != "idle" or not md.reshape_under_way)


def continue_reshape(step: ContinueReshape, host: Host) -> None:
    """Have an mdadm take up the reshape whose own was killed."""
    md = Md(step.node)
    for argv in step.commands:
        host.run(argv)
    before = md.suspended_range
    until(
        lambda: not md.suspended or md.suspended_range != before,
        lambda: (
            f"Array {step.array} still holds back writes after 'mdadm --grow --continue'; see "
            "'systemctl status mdadm-grow-continue@*' and the kernel's log."
        ),
    )


def add(step: AddMembers, host: Host) -> None:
    """Add members, and let md begin with them, so that a wait that follows finds something to wait for."""
    for argv in step.commands:
        host.run(argv)
    md = Md(step.node)
    names = {kernel_name(partition) for partition in step.partitions}

    def taken_up() -> bool:
        members = md.members()
        placed = all(name in members and members[name][1] != "none" for name in names)
        return placed or md.action not in ("idle", "frozen")

    missing = names - md.members().keys()
    if missing:
        raise StepFailed(f"mdadm added {', '.join(sorted(missing))} to array {step.array}, but md does not have it.")
    _soon(taken_up)


def drop(step: DropMembers, host: Host) -> None:
    """Remove what failed. An idle array has not noticed yet that a disk is gone: mark that as failed first."""
    if step.detached:
        host.run(("mdadm", "--manage", step.node, "--fail", "detached"))
    for argv in step.commands:
        host.run(argv)


def replace_member(step: ReplaceMember, host: Host) -> None:
    """Begin a hot replacement; when mdadm fails, leave no wish for one behind (it does)."""
    md = Md(step.node)
    *adding, beginning = step.commands
    for argv in adding:
        host.run(argv)
    try:
        host.run(beginning)
    except CommandError:
        if "want_replacement" in md.member_state(step.old):
            md.set(f"dev-{kernel_name(step.old)}/state", "-want_replacement")
        raise

    def begun() -> bool:
        old, new = md.member_state(step.old), md.member_state(step.new)
        return "replacement" in new or "faulty" in old or ("want_replacement" in old and "in_sync" in new)

    until(
        begun,
        lambda: (
            f"md accepted the replacement of {step.old} by {step.new} in array {step.array} and did not begin with it; "
            "see the kernel's log, then run again."
        ),
    )


def cancel_replacement(step: CancelReplacement, host: Host) -> None:
    """Take back a wish for replacement."""
    md = find_array(step.array, host)
    md.set(f"dev-{kernel_name(step.partition)}/state", "-want_replacement")
    if "want_replacement" in md.member_state(step.partition):
        raise StepFailed(f"md still wants to replace {step.partition} in array {step.array}; see the kernel's log.")


def pause_check(step: PauseCheck, host: Host) -> None:
    """Stop a scan."""
    del host
    md = Md(step.node)
    if md.action in ("check", "repair"):
        md.set("sync_action", "idle")
    until(
        lambda: md.action not in ("check", "repair"),
        lambda: f"The {md.action} of array {step.array} does not stop; see the kernel's log.",
    )


def grow(step: GrowArray, host: Host) -> None:
    """Begin a reshape. The wait for it is a step of its own."""
    for argv in step.commands:
        host.run(argv)
    md = Md(step.node)
    until(
        lambda: md.devices == step.devices,
        lambda: (
            f"mdadm grew array {step.array}, but md shows {md.devices} devices instead of {step.devices}; "
            "see the kernel's log, then run again."
        ),
    )
