# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Steps on reshapes of md arrays: begin, guard their beginning, take up, take back."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from ..._converge.plan import Argv
from ..critical import LONGEST_GUARD, kept_path
from ..model import KIB, Activity, Array, Member, Pool
from .arrays import disks_of, stopping, with_array
from .disks import PoolStep


@dataclass(frozen=True)
class RevertReshape(PoolStep):
    """Start an array as it was before a reshape that was cut off at its beginning; that begins anew later.

    Either nothing was moved, or what was overwritten is ``kept``: then it is put back first, on the members, while
    nobody can start the array.
    """

    array: str
    node: str
    partitions: tuple[str, ...]
    stop: str  #: the node of the assembled array; "" when nobody assembled it
    kept: bool
    reason: str

    @property
    def title(self) -> str:
        if not self.kept:
            return f"Start array {self.array} as it was before its reshape"
        what = f"Put back the beginning of array {self.array} from {kept_path(self.array)}"
        return f"{what}, write its superblocks as they were before its reshape, and start it"

    @property
    def reveals(self) -> bool:
        return True  # the volumes that stand on the array

    @property
    def commands(self) -> tuple[Argv, ...]:
        # Only both options together take back a reshape without moving anything (mdadm's super1.c).
        options = () if self.kept else ("--update=revert-reshape", "--invalid-backup")
        return (*stopping(self.stop), ("mdadm", "--assemble", "--run", *options, self.node, *self.partitions))

    def after(self, pool: Pool) -> Pool:
        def reverted(array: Array) -> Array:
            devices = array.previous_devices
            members = tuple(
                replace(member, slot=None, in_sync=False)
                if member.slot is not None and member.slot >= devices
                else member
                for member in array.members
            )
            array = replace(
                array,
                devices=devices,
                previous_devices=0,
                members=members,
                hidden_reshape=False,
                reshape_unbegun=False,
                restorable=False,
                kept=array.kept and not self.kept,
                active=True,
                assembled=True,
            )
            return replace(array, size_now=array.size)

        return with_array(pool, self.array, reverted)


@dataclass(frozen=True)
class ContinueReshape(PoolStep):
    """Take up a reshape whose mdadm was killed: writes to a range hang until somebody does."""

    array: str
    node: str
    reason: str

    @property
    def title(self) -> str:
        return f"Continue the reshape of array {self.array}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        # The unit runs 'mdadm --grow --continue', which stays until the reshape has ended.
        return (("systemctl", "restart", f"mdadm-grow-continue@{self.node.rpartition('/')[2]}.service"),)

    def after(self, pool: Pool) -> Pool:
        def continued(array: Array) -> Array:
            activity = array.activity
            if array.hidden_reshape:
                activity = Activity("reshape", total=array.component_size)
            return replace(array, suspended=False, hidden_reshape=False, auto_read_only=False, activity=activity)

        return with_array(pool, self.array, continued)


@dataclass(frozen=True)
class LiftSuspension(PoolStep):
    """Let writes to a range go on that an mdadm held back for a reshape which has ended without it."""

    array: str
    node: str
    reason: str

    @property
    def title(self) -> str:
        return f"Let all writes to array {self.array} through (write '0' to its suspend_hi)"

    def after(self, pool: Pool) -> Pool:
        return with_array(pool, self.array, lambda array: replace(array, suspended=False))


def guard_unit(array: str) -> str:
    """Return the name of the transient units that end the guard over an array; a pool has one guard at a time."""
    return f"baremetal-fabric-guard-{array.rpartition('-')[0]}"


@dataclass(frozen=True)
class Guard:
    """What is done so that a crash at the beginning of a reshape loses nothing.

    Nobody writes to the array while its beginning is kept in a file, so that the file is as good as the array.
    """

    length: int  #: bytes kept of each member, from the start of its data
    safe_position: int  #: bytes of the array; when the reshape is recorded beyond, md can take it up by itself
    volumes: tuple[str, ...]  #: names of the device-mapper volumes that are held
    speed_limits: tuple[str, str]  #: sync_speed_min and sync_speed_max afterwards

    def arm(self, array: str, node: str) -> Argv:
        """Return the command that has systemd end the guard after a time, should the run be killed."""
        md = f"/sys/block/{node.rpartition('/')[2]}/md"
        file = kept_path(array)
        least, most = self.speed_limits
        # What is kept is out of date as soon as the first volume is let go.
        script = (
            f"echo {least} > {md}/sync_speed_min; echo {most} > {md}/sync_speed_max; "
            f"rm -f {file}; sync {file.rpartition('/')[0]}; {shlex.join(self.resume)}"
        )
        # The journal may be on one of the volumes.
        return (
            *("systemd-run", "--quiet", "--collect", f"--unit={guard_unit(array)}", f"--on-active={LONGEST_GUARD}s"),
            *("--timer-property=AccuracySec=100ms", "--property=Type=oneshot"),
            *("--property=StandardOutput=null", "--property=StandardError=null"),
            *("sh", "-c", script),
        )

    @property
    def hold(self) -> Argv:
        """The command that makes the volumes let nothing through; it waits until all of it is on the array."""
        return ("dmsetup", "suspend", *self.volumes) if self.volumes else ("true",)

    @property
    def resume(self) -> Argv:
        """The command that lets the volumes go."""
        return ("dmsetup", "resume", "--noudevsync", *self.volumes) if self.volumes else ("true",)


def disarm(array: str) -> Argv:
    """Return the command that stops the timer of :meth:`Guard.arm`. What it has started shall come to its end."""
    return ("systemctl", "stop", f"{guard_unit(array)}.timer")


@dataclass(frozen=True)
class GrowArray(PoolStep):
    """Reshape an array over more members; a mirror of two becomes raid5 on the way."""

    array: str
    node: str
    level: int
    from_level: int
    devices: int
    add: tuple[str, ...]  #: partitions that are not in the array yet
    guard: Guard | None  #: for a reshape that overwrites what it moves
    reason: str

    @property
    def title(self) -> str:
        change = f"Reshape array {self.array} to raid{self.level} of {self.devices}"
        if self.guard is None:
            return change
        return f"{change}, its beginning kept in {kept_path(self.array)} and its volumes held meanwhile"

    @property
    def commands(self) -> tuple[Argv, ...]:
        if self.guard is None:
            return (self.change,)
        guard = self.guard
        return (guard.arm(self.array, self.node), guard.hold, self.change, guard.resume, disarm(self.array))

    @property
    def change(self) -> Argv:
        """The command that begins the reshape."""
        argv: list[str] = ["mdadm", "--grow", self.node]
        if self.level != self.from_level:
            argv.append(f"--level={self.level}")
        argv.append(f"--raid-devices={self.devices}")
        if self.add:
            argv += ["--add", *self.add]
        return tuple(argv)

    def after(self, pool: Pool) -> Pool:
        disks = disks_of(pool, self.add)
        added = tuple(Member(node, disks[node], slot=None) for node in self.add)

        def reshaping(array: Array) -> Array:
            slots = iter(range(array.devices, self.devices))
            members = tuple(
                replace(member, slot=next(slots), in_sync=True) if member.spare else member
                for member in (*array.members, *added)
            )
            return replace(
                array,
                level=self.level,
                chunk=array.chunk or 64 * KIB,
                devices=self.devices,
                previous_devices=array.devices,
                members=members,
                activity=Activity("reshape", total=array.component_size),
                auto_read_only=False,
            )

        return with_array(pool, self.array, reshaping)


@dataclass(frozen=True)
class EndGuard(PoolStep):
    """End what a run that was killed left of the guard over the beginning of a reshape."""

    array: str
    node: str
    volumes: tuple[str, ...]  #: names of the volumes that are still held
    safe_position: int  #: bytes of the array; 0 when it is in no reshape that is to come so far
    reason: str

    @property
    def title(self) -> str:
        what = f"remove {kept_path(self.array)}"
        return f"Let writes to array {self.array} go on, and {what}" if self.volumes else what.capitalize()

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("dmsetup", "resume", "--noudevsync", *self.volumes),) if self.volumes else ()

    def after(self, pool: Pool) -> Pool:
        return with_array(pool, self.array, lambda array: replace(array, kept=False, held=()))
