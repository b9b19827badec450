# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Steps on whole md arrays: make, start, wake, wait for, record."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._converge.plan import Argv
from ..model import KIB, Activity, Array, Member, Pool, capacity_of
from ..size import human
from .disks import PoolStep


def with_array(pool: Pool, name: str, change: t.Callable[[Array], Array]) -> Pool:
    """Return ``pool`` with the array ``name`` changed."""
    return replace(pool, arrays=tuple(change(array) if array.name == name else array for array in pool.arrays))


def noun(action: str) -> str:
    """Return what people call an md sync_action."""
    return {"recover": "recovery"}.get(action, action)


def disks_of(pool: Pool, partitions: t.Iterable[str]) -> dict[str, str]:
    """Return the node of the disk for each of these partitions."""
    wanted = set(partitions)
    return {part.node: disk.node for disk in pool.disks for part in disk.partitions if part.node in wanted}


def free_slots(array: Array) -> list[int]:
    """Return the slots without a working member."""
    taken = {member.slot for member in array.members if member.slot is not None and not member.faulty}
    return [slot for slot in range(array.devices) if slot not in taken]


def settled(array: Array) -> Array:
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


def recovering(array: Array) -> Array:
    """Return ``array`` as it is once md has put spares into free slots and rebuilds them."""
    slots = free_slots(array)
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
        return (*stopping(self.stop), ("mdadm", "--assemble", "--run", self.node, *self.partitions))

    def after(self, pool: Pool) -> Pool:
        def started(array: Array) -> Array:
            return replace(array, active=True, assembled=True, auto_read_only=True, size_now=array.size)

        return with_array(pool, self.array, started)


def stopping(node: str) -> tuple[Argv, ...]:
    """Return the command that stops the array at ``node``; none for an empty one."""
    return (("mdadm", "--stop", node),) if node else ()


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
            array = recovering(replace(array, auto_read_only=False))
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
        return with_array(pool, self.array, lambda array: recovering(replace(array, frozen=False)))


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
        return with_array(pool, self.array, settled)


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
        disks = disks_of(pool, self.partitions)
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
