# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Steps on md arrays: wake, repair, replace, grow, create, wait, record."""

from __future__ import annotations

import shlex
import typing as t
from dataclasses import dataclass, replace

from ..._converge.plan import Argv
from ..critical import LONGEST_GUARD, kept_path
from ..model import KIB, Activity, Array, Member, Pool, capacity_of
from ..size import human
from .disks import PoolStep


def with_array(pool: Pool, name: str, change: t.Callable[[Array], Array]) -> Pool:
    """Return ``pool`` with the array ``name`` changed."""
    return replace(pool, arrays=tuple(change(array) if array.name == name else array for array in pool.arrays))


def noun(action: str) -> str:
    """Return what people call an md sync_action."""
    return {"recover": "recovery"}.get(action, action)


def _disks_of(pool: Pool, partitions: t.Iterable[str]) -> dict[str, str]:
    """Return the node of the disk for each of these partitions."""
    wanted = set(partitions)
    return {part.node: disk.node for disk in pool.disks for part in disk.partitions if part.node in wanted}


def _free_slots(array: Array) -> list[int]:
    taken = {member.slot for member in array.members if member.slot is not None and not member.faulty}
    return [slot for slot in range(array.devices) if slot not in taken]


def _settled(array: Array) -> Array:
    """Return ``array`` with everything that md has under way finished."""
    members = []
    replaced = {member.slot for member in array.members if member.replacement}
    for member in array.members:
        if member.want_replacement and member.slot in replaced:
            members.append(replace(member, slot=None, in_sync=False, faulty=True, want_replacement=False))
        elif member.slot is not None and not member.faulty:
            members.append(replace(member, in_sync=True, replacement=False))
        else:
            members.append(member)
    return replace(
        array,
        members=tuple(members),
        activity=None,
        hidden_reshape=False,
        suspended=False,
        frozen=False,
        auto_read_only=False,
        previous_devices=0,
        size_now=array.size,
    )


def _recovering(array: Array) -> Array:
    """Return ``array`` as it is once md has put spares into free slots and rebuilds them."""
    slots = _free_slots(array)
    members = []
    for member in array.members:
        if member.spare and slots:
            members.append(replace(member, slot=slots.pop(0), in_sync=False))
        else:
            members.append(member)
    rebuilding = any(member.slot is not None and not member.in_sync and not member.faulty for member in members)
    activity = Activity("recover", total=array.component_size) if rebuilding else array.activity
    return replace(array, members=tuple(members), activity=activity, auto_read_only=False)


@dataclass(frozen=True)
class StartArray(PoolStep):
    """Start an array that waits for members which will not come, or that nobody assembled."""

    array: str
    node: str
    partitions: tuple[str, ...]  #: to assemble it from; empty when it is assembled and only not started
    stop: str  #: the node of the assembled array, when it has to be assembled anew; else ""
    reason: str

    @property
    def title(self) -> str:
        return f"Start array {self.array}"

    @property
    def reveals(self) -> bool:
        return True  # a reshape on the way, and the volumes that stand on the array

    @property
    def commands(self) -> tuple[Argv, ...]:
        if not self.partitions:
            return (("mdadm", "--run", self.node),)
        return (*_stop(self.stop), ("mdadm", "--assemble", "--run", self.node, *self.partitions))

    def after(self, pool: Pool) -> Pool:
        def started(array: Array) -> Array:
            return replace(array, active=True, assembled=True, auto_read_only=True, size_now=array.size)

        return with_array(pool, self.array, started)


def _stop(node: str) -> tuple[Argv, ...]:
    return (("mdadm", "--stop", node),) if node else ()


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
        return (*_stop(self.stop), ("mdadm", "--assemble", "--run", *options, self.node, *self.partitions))

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
class WakeArray(PoolStep):
    """Let an array that nobody has written to yet go on with its reshape or rebuild."""

    array: str
    node: str
    reason: str

    @property
    def title(self) -> str:
        return f"Let array {self.array} go on"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("mdadm", "--readwrite", self.node),)

    def after(self, pool: Pool) -> Pool:
        def awake(array: Array) -> Array:
            array = _recovering(replace(array, auto_read_only=False))
            if array.hidden_reshape:
                array = replace(array, hidden_reshape=False, activity=Activity("reshape", total=array.component_size))
            elif array.activity is not None:
                array = replace(array, activity=replace(array.activity, delayed=False))
            return array

        return with_array(pool, self.array, awake)


@dataclass(frozen=True)
class ThawArray(PoolStep):
    """Let md work again in an array that an mdadm held still for a change, and was killed before it began."""

    array: str
    node: str
    reason: str

    @property
    def title(self) -> str:
        return f"Let md work in array {self.array} again (write 'idle' to its sync_action)"

    def after(self, pool: Pool) -> Pool:
        return with_array(pool, self.array, lambda array: _recovering(replace(array, frozen=False)))


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


@dataclass(frozen=True)
class AwaitArray(PoolStep):
    """Wait until md has finished what it does in an array."""

    array: str
    action: str
    reason: str

    @property
    def title(self) -> str:
        return f"Wait for the {noun(self.action)} of array {self.array}"

    @property
    def waits(self) -> bool:
        return True

    def after(self, pool: Pool) -> Pool:
        return with_array(pool, self.array, _settled)


@dataclass(frozen=True)
class PauseCheck(PoolStep):
    """Stop a running check or repair scan, which md does not take up again by itself."""

    array: str
    node: str
    reason: str

    @property
    def title(self) -> str:
        return f"Stop the check of array {self.array} (write 'idle' to its sync_action)"

    def after(self, pool: Pool) -> Pool:
        return with_array(pool, self.array, lambda array: replace(array, activity=None))


@dataclass(frozen=True)
class DropMembers(PoolStep):
    """Remove members that the array has given up on: failed ones, and ones whose device is gone."""

    array: str
    node: str
    partitions: tuple[str, ...]  #: failed members whose device is there
    detached: bool  #: also those whose device is gone
    reason: str

    @property
    def title(self) -> str:
        what = list(self.partitions) + (["what is gone"] if self.detached else [])
        return f"Remove {', '.join(what)} from array {self.array}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        words = list(self.partitions) + (["detached"] if self.detached else [])
        return (("mdadm", "--manage", self.node, "--remove", *words),)

    def after(self, pool: Pool) -> Pool:
        def dropped(array: Array) -> Array:
            kept = tuple(m for m in array.members if not (m.node in self.partitions or (self.detached and not m.node)))
            return replace(array, members=kept, strays=array.strays + self.partitions)

        return with_array(pool, self.array, dropped)


@dataclass(frozen=True)
class AddMembers(PoolStep):
    """Add partitions to an array that lacks members; a returning one catches up by the bitmap."""

    array: str
    node: str
    partitions: tuple[str, ...]
    returning: bool
    reason: str

    @property
    def title(self) -> str:
        verb = "Take back" if self.returning else "Add"
        return f"{verb} {', '.join(self.partitions)} {'into' if self.returning else 'to'} array {self.array}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("mdadm", "--manage", self.node, "--add", *self.partitions),)

    def after(self, pool: Pool) -> Pool:
        disks = _disks_of(pool, self.partitions)
        added = tuple(Member(node, disks[node], slot=None, in_sync=False) for node in self.partitions)

        def grown(array: Array) -> Array:
            strays = tuple(node for node in array.strays if node not in self.partitions)
            return _recovering(replace(array, members=array.members + added, strays=strays))

        return with_array(pool, self.array, grown)


@dataclass(frozen=True)
class ReplaceMember(PoolStep):
    """Copy a member to a spare while it stays in service (md(4), hot replacement)."""

    array: str
    node: str
    old: str
    new: str
    add: bool  #: the new partition is not in the array yet
    reason: str

    @property
    def title(self) -> str:
        return f"Replace {self.old} by {self.new} in array {self.array}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        start: Argv = ("mdadm", "--manage", self.node, "--replace", self.old, "--with", self.new)
        return ((("mdadm", "--manage", self.node, "--add", self.new), start)) if self.add else (start,)

    def after(self, pool: Pool) -> Pool:
        disk = _disks_of(pool, (self.new,))[self.new]

        def replacing(array: Array) -> Array:
            old = next(member for member in array.members if member.node == self.old)
            new = Member(self.new, disk, slot=old.slot, in_sync=False, replacement=True)
            others = tuple(member for member in array.members if member.node not in (self.old, self.new))
            return replace(
                array,
                members=(*others, replace(old, want_replacement=True), new),
                activity=Activity("recover", total=array.component_size),
                auto_read_only=False,
            )

        return with_array(pool, self.array, replacing)


@dataclass(frozen=True)
class CancelReplacement(PoolStep):
    """Take back a wish for replacement that nobody declared, as a failed --replace leaves it."""

    array: str
    partition: str
    reason: str

    @property
    def title(self) -> str:
        return f"Keep {self.partition} in array {self.array} (write '-want_replacement' to its state)"

    def after(self, pool: Pool) -> Pool:
        def kept(array: Array) -> Array:
            members = tuple(
                replace(member, want_replacement=False) if member.node == self.partition else member
                for member in array.members
            )
            return replace(array, members=members)

        return with_array(pool, self.array, kept)


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
        disks = _disks_of(pool, self.add)
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


@dataclass(frozen=True)
class CreateArray(PoolStep):
    """Make the array of a new slice."""

    array: str
    index: int
    level: int
    partitions: tuple[str, ...]
    slice_size: int
    component_size: int
    data_offset: int
    chunk: int  #: 0 for a mirror
    bitmap: bool
    reason: str

    @property
    def node(self) -> str:
        """The name by which everything but the kernel knows the array."""
        return f"/dev/md/{self.array}"

    @property
    def title(self) -> str:
        size = capacity_of(self.level, len(self.partitions), self.component_size)
        return f"Create array {self.array}: raid{self.level} of {len(self.partitions)}, {human(size)}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        argv = [
            "mdadm",
            "--create",
            self.node,
            "--run",
            "--metadata=1.2",
            "--homehost=any",
            f"--name={self.array}",
            f"--level={self.level}",
            f"--raid-devices={len(self.partitions)}",
            f"--data-offset={self.data_offset // KIB}K",
            f"--size={self.component_size // KIB}K",
            "--bitmap=internal" if self.bitmap else "--bitmap=none",
        ]
        if self.chunk:
            argv.append(f"--chunk={self.chunk // KIB}K")
        return ((*argv, *self.partitions),)

    def after(self, pool: Pool) -> Pool:
        disks = _disks_of(pool, self.partitions)
        members = tuple(Member(node, disks[node], slot=slot) for slot, node in enumerate(self.partitions))
        array = Array(
            index=self.index,
            name=self.array,
            node=self.node,
            uuid=f"new:{self.array}",
            level=self.level,
            devices=len(self.partitions),
            chunk=self.chunk,
            component_size=self.component_size,
            slice_size=self.slice_size,
            data_offset=self.data_offset,
            members=members,
            bitmap=self.bitmap,
            activity=Activity("resync", total=self.component_size),
        )
        array = replace(array, size_now=array.size)
        return replace(pool, arrays=tuple(sorted((*pool.arrays, array), key=lambda each: each.index)))


@dataclass(frozen=True)
class SetBitmap(PoolStep):
    """Give an array its write-intent bitmap, or take it away."""

    array: str
    node: str
    bitmap: bool
    reason: str

    @property
    def title(self) -> str:
        if self.bitmap:
            return f"Give array {self.array} a write-intent bitmap"
        return f"Take the write-intent bitmap from array {self.array}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("mdadm", "--grow", self.node, "--bitmap=internal" if self.bitmap else "--bitmap=none"),)

    def after(self, pool: Pool) -> Pool:
        return with_array(pool, self.array, lambda array: replace(array, bitmap=self.bitmap))


@dataclass(frozen=True)
class RecordArrays(PoolStep):
    """Write the pool's arrays into mdadm.conf, by UUID."""

    arrays: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Record {', '.join(self.arrays)} in mdadm.conf"

    def after(self, pool: Pool) -> Pool:
        recorded = tuple((f"/dev/md/{array.name}", array.uuid) for array in pool.arrays)
        return replace(pool, recorded=recorded, initramfs_stale=pool.has_initramfs)


@dataclass(frozen=True)
class RebuildInitramfs(PoolStep):
    """Put the new mdadm.conf into the initramfs images."""

    reason: str

    @property
    def title(self) -> str:
        return "Rebuild the initramfs"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("update-initramfs", "-u", "-k", "all"),)

    def after(self, pool: Pool) -> Pool:
        return replace(pool, initramfs_stale=False)
