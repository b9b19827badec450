# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The plan: from what a host has to what was declared, one phase after the other. Pure.

:func:`plan_pool` asks the phases below in order; the first that has something to do gives the next steps; the
effect of these is simulated; and so on until no phase has anything to do. Each phase looks at the state alone,
so a run that was cut off after any step is continued by the next one, to the same end.
"""

from __future__ import annotations

import typing as t

from .._converge.plan import Plan
from . import refusals
from .array_steps import (
    AddMembers,
    AwaitArray,
    CancelReplacement,
    ContinueReshape,
    CreateArray,
    DropMembers,
    GrowArray,
    PauseCheck,
    RebuildInitramfs,
    RecordArrays,
    ReplaceMember,
    SetBitmap,
    StartArray,
    WakeArray,
)
from .disk_steps import MoveBackupTable, PartitionDisk, PoolStep, ReleaseDisk, TellKernel, WipeDisk
from .layout import (
    Carver,
    Placement,
    allocate,
    data_alignment,
    existing_slices,
    least_members,
    level_for,
    shape_for,
)
from .model import Array, Disk, Partition, Pool, Wanted, slice_index, slice_name
from .volumes import plan_group, plan_volumes

Steps = t.List[PoolStep]
Phase = t.Callable[[Pool, Wanted], Steps]

#: Far more rounds than any plan needs; a plan that does not end is a defect and must not hang a host.
MOST_ROUNDS = 10_000


def plan_pool(pool: Pool, want: Wanted) -> Plan:
    """Return the steps from ``pool`` to ``want``. Raises Refusal when they would not be safe."""
    refusals.check(pool, want)
    plan: Steps = []
    for _round in range(MOST_ROUNDS):
        steps = _next_steps(pool, want)
        if not steps:
            refusals.check_end(pool, want)
            return Plan(plan)
        for step in steps:
            pool = step.after(pool)
        plan.extend(steps)
    raise RuntimeError(f"The plan for pool {want.name} does not come to an end; please report this.")


def _next_steps(pool: Pool, want: Wanted) -> Steps:
    for phase in _PHASES:
        steps = phase(pool, want)
        if steps:
            return steps
    return []


# --- what stands in the way of everything else ---------------------------------------------------------------


def _wake(pool: Pool, want: Wanted) -> Steps:
    """Start arrays and let begun reshapes go on, before anything writes through them."""
    steps: Steps = []
    for array in pool.arrays:
        if not array.active:
            partitions = () if array.assembled else tuple(member.node for member in array.members if member.node)
            node = array.node if array.assembled else f"/dev/md/{array.name}"
            why = "it waits for members that are not there" if array.assembled else "nothing has assembled it"
            steps.append(StartArray(array.name, node, partitions, why))
        elif array.suspended:
            steps.append(
                ContinueReshape(array.name, array.node, "its reshape was interrupted and holds back writes to a range")
            )
        elif array.hidden_reshape:
            steps.append(WakeArray(array.name, array.node, "a reshape was interrupted and waits for the first write"))
    return steps


def _mend_tables(pool: Pool, want: Wanted) -> Steps:
    """Make the kernel's partition tables and the backup tables those of the disks."""
    steps: Steps = []
    for disk in pool.disks:
        ours = tuple(part for part in disk.partitions if slice_index(pool.name, part.label) is not None)
        if not ours or disk.read_only:
            continue
        if any(not part.in_kernel for part in ours):
            steps.append(
                TellKernel(
                    disk.node, disk.display, ours, "the kernel does not know the partitions that are on the disk"
                )
            )
        if disk.has_gpt and disk.gpt_end < disk.usable_end and disk.declared:
            steps.append(MoveBackupTable(disk.node, disk.display, "the disk has grown"))
    return steps


def _wipe(pool: Pool, want: Wanted) -> Steps:
    """Wipe the disks that the user named for it and that are not the pool's."""
    members = {member.disk for array in pool.arrays for member in array.members}
    steps: Steps = []
    for disk in pool.disks:
        named = disk.declared and bool({disk.serial, disk.wwn} & want.wipe)
        outdated = disk.node not in members and any(part.superblock is not None for part in disk.partitions)
        if named and (disk.foreign or outdated):
            why = "named in 'wipe'; " + ("; ".join(disk.foreign) or "it holds an outdated copy of the pool")
            partitions = tuple(part.node for part in disk.partitions if part.in_kernel)
            steps.append(WipeDisk(disk.node, disk.display, partitions, disk.foreign_arrays, why))
    return steps


# --- repair ----------------------------------------------------------------------------------------------------


def usable_disks(pool: Pool, want: Wanted) -> tuple[Disk, ...]:
    """Return the declared disks on which slices may be placed."""
    failed = {member.disk for array in pool.arrays for member in array.members if member.faulty}
    reserved = _reserved_for_replacement(pool, want)
    return tuple(
        disk
        for disk in pool.disks
        if disk.declared
        and not (disk.read_only or disk.foreign)
        and disk.node not in failed
        and disk.node not in reserved
        and not _bad_blocks(disk)
        and not outdated(pool, disk)
    )


def _bad_blocks(disk: Disk) -> bool:
    return any(part.superblock is not None and part.superblock.has_bad_blocks for part in disk.partitions)


def outdated(pool: Pool, disk: Disk) -> bool:
    """Return whether a disk holds nothing of the pool but copies that whole arrays went on without."""
    strays = [array for array in pool.arrays if _stray_on(array, disk)]
    member = any(each.disk == disk.node for array in pool.arrays for each in array.members if not each.faulty)
    return bool(strays) and not member and all(array.whole for array in strays)


def _stray_on(array: Array, disk: Disk) -> str:
    """Return the partition on ``disk`` that once was a member of ``array``, or ""."""
    strays = set(array.strays)
    return next((part.node for part in disk.partitions if part.node in strays), "")


def _prepared_on(array_name: str, array: Array | None, disk: Disk) -> str:
    """Return the partition on ``disk`` that was cut for the slice and is not in use yet, or ""."""
    members = {member.node for member in array.members} if array else set()
    for part in disk.partitions:
        if part.label == array_name and part.superblock is None and part.node not in members:
            return part.node
    return ""


def _reserved_for_replacement(pool: Pool, want: Wanted) -> set[str]:
    """Return the nodes of new disks whose old disk still serves."""
    serving = {
        member.disk
        for array in pool.arrays
        for member in array.members
        if member.slot is not None and not member.faulty
    }
    return {pool.node_of(each.new) for each in want.replace if pool.node_of(each.old) in serving} - {""}


def _drop(pool: Pool, want: Wanted) -> Steps:
    """Remove failed members from arrays that are whole without them."""
    steps: Steps = []
    for array in pool.arrays:
        failed = [member for member in array.members if member.faulty]
        if failed and array.whole and array.activity is None:
            steps.append(_drop_step(array, "the array is whole without it"))
    return steps


def _drop_step(array: Array, why: str) -> DropMembers:
    failed = [member for member in array.members if member.faulty]
    nodes = tuple(member.node for member in failed if member.node)
    return DropMembers(array.name, array.node, nodes, any(not member.node for member in failed), why)


def _repair(pool: Pool, want: Wanted) -> Steps:
    """Fill the empty slots of degraded arrays: returning members first, then prepared slices, then free room."""
    disks = usable_disks(pool, want)
    carvers = {disk.node: Carver(pool.name, disk) for disk in disks}
    fresh = {disk.node: disk for disk in disks}
    adds: Steps = []
    for array in pool.arrays:
        busy = array.activity is not None and array.activity.action not in ("check", "repair")
        if busy or not array.active:
            continue
        spares = [member for member in array.members if member.spare]
        lacking = array.missing - len(spares)
        if array.missing and spares and array.auto_read_only:
            adds.append(WakeArray(array.name, array.node, "a spare waits for the array's first write"))
        if lacking <= 0:
            continue
        returning, blank = _candidates(array, disks, carvers, lacking)
        if returning or blank:
            if array.activity is not None:
                adds.append(PauseCheck(array.name, array.node, "the array lacks a member, which comes first"))
            if any(member.faulty for member in array.members):
                adds.append(_drop_step(array, "another disk takes its place"))
        if returning:
            adds.append(AddMembers(array.name, array.node, tuple(returning), True, "it was a member and has come back"))
        if blank:
            adds.append(AddMembers(array.name, array.node, tuple(blank), False, "the array lacks a member"))
    cuts = [placement for carver in carvers.values() for placement in carver.cut]
    return [*_partition_steps(fresh, cuts, "to repair"), *adds]


def _candidates(
    array: Array, disks: t.Sequence[Disk], carvers: t.Mapping[str, Carver], lacking: int
) -> tuple[list[str], list[str]]:
    """Return up to ``lacking`` partitions that can repair ``array``: (returning, blank). Cuts room where needed."""
    present = {member.disk for member in array.members if not member.faulty}
    returning: list[str] = []
    blank: list[str] = []

    def full() -> bool:
        return len(returning) + len(blank) >= lacking

    for disk in disks:
        stray = _stray_on(array, disk)
        if not full() and stray and disk.node not in present:
            returning.append(stray)
            present.add(disk.node)
    for disk in disks:
        prepared = _prepared_on(array.name, array, disk)
        if not full() and prepared and disk.node not in present:
            blank.append(prepared)
            present.add(disk.node)
    # A disk that is new to the pool repairs before one that has other slices: it is there for that.
    for disk in sorted(disks, key=lambda disk: bool(disk.partitions)):
        carver = carvers[disk.node]
        if full() or disk.node in present or carver.room < array.needed_size:
            continue
        blank.append(carver.take(array.index, array.slice_size).partition.node)
        present.add(disk.node)
    return returning, blank


def _partition_steps(disks: t.Mapping[str, Disk], cuts: t.Iterable[Placement], purpose: str) -> Steps:
    """Return one step for each disk that is to be cut. ``disks`` are the disks before the cuts."""
    by_disk: dict[str, list[Partition]] = {}
    for placement in cuts:
        by_disk.setdefault(placement.disk, []).append(placement.partition)
    steps: Steps = []
    for node, parts in by_disk.items():
        disk = disks[node]
        what = "it is blank" if not disk.partitions else "it has free room"
        steps.append(
            PartitionDisk(node, disk.display, disk.sector, not disk.has_gpt, tuple(parts), f"{what}, needed {purpose}")
        )
    return steps


# --- replacement -------------------------------------------------------------------------------------------------


def _replace(pool: Pool, want: Wanted) -> Steps:
    """Carry out declared replacements, one disk after the other, and take back leftover ones."""
    for each in want.replace:
        old, new = pool.disk(pool.node_of(each.old)), pool.disk(pool.node_of(each.new))
        if old is None:
            continue
        steps = _replace_disk(pool, old, new) if new is not None else []
        steps = steps or _release(pool, old)
        if steps:
            return steps
    declared = {pool.node_of(each.old) for each in want.replace}
    return [
        CancelReplacement(array.name, member.node, "nobody declared that it be replaced")
        for array in pool.arrays
        for member in array.members
        if member.want_replacement
        and member.disk not in declared
        and array.settled
        and not any(other.replacement and other.slot == member.slot for other in array.members)
    ]


def _replace_disk(pool: Pool, old: Disk, new: Disk) -> Steps:
    carver = Carver(pool.name, new)
    steps: Steps = []
    for array in pool.arrays:
        source = next((m for m in array.members if m.disk == old.node and m.slot is not None and not m.faulty), None)
        if source is None:
            continue
        if any(member.disk == new.node and member.replacement for member in array.members):
            steps.append(AwaitArray(array.name, "replacement", f"{source.node} must serve until its copy is complete"))
            continue
        if array.activity is not None:
            steps.append(_settle(array, "before a member can be replaced"))
            continue
        spare = next((m.node for m in array.members if m.disk == new.node and m.spare), "")
        target = spare or _prepared_on(array.name, array, new)
        if not target:
            target = carver.take(array.index, array.slice_size).partition.node
        steps.append(ReplaceMember(array.name, array.node, source.node, target, not spare, "declared in 'replace'"))
    return [*_partition_steps({new.node: new}, carver.cut, "to replace " + old.display), *steps]


def _release(pool: Pool, old: Disk) -> Steps:
    """Take the superblocks off a replaced disk once every array is whole without it."""
    if any(member.disk == old.node for array in pool.arrays for member in array.members):
        return []
    arrays = [array for array in pool.arrays if _stray_on(array, old)]
    if not arrays or not all(array.whole for array in arrays):
        return []
    parts = tuple(_stray_on(array, old) for array in arrays)
    return [ReleaseDisk(old.node, old.display, parts, "it was replaced and the arrays are whole without it")]


# --- growth ----------------------------------------------------------------------------------------------------


def _settle(array: Array, why: str) -> PoolStep:
    action = array.activity.action if array.activity is not None else "reshape"
    if action in ("check", "repair"):
        return PauseCheck(array.name, array.node, why)
    return AwaitArray(array.name, action, why)


def _await_reshapes(pool: Pool, want: Wanted) -> Steps:
    return [_settle(array, "the new room is there when it has ended") for array in pool.arrays if array.reshaping]


def _grow(pool: Pool, want: Wanted) -> Steps:
    """Use free room: in slices that exist, and for new slices. Never while redundancy is lacking."""
    unwhole = [array for array in pool.arrays if not array.whole]
    if any(array.activity is None for array in unwhole):
        return []
    disks = usable_disks(pool, want)
    growth = allocate(pool, want, disks)
    joins: dict[int, list[str]] = {}
    for placement in growth.joins:
        joins.setdefault(placement.index, []).append(placement.partition.node)
    steps: Steps = []
    waits: Steps = []
    unmade: dict[int, list[Partition]] = {}
    for each in existing_slices(pool):
        prepared = [
            node for node in (_prepared_on(slice_name(pool.name, each.index), each.array, d) for d in disks) if node
        ]
        add = [*prepared, *joins.get(each.index, [])]
        if each.array is None:
            unmade[each.index] = _partitions(pool, growth.joins, add)
            continue
        spares = [m for m in each.array.members if m.spare and m.disk not in _reserved_for_replacement(pool, want)]
        room = want.most_members - each.array.devices - len(spares)
        add = add[: max(0, room)]
        if add or spares:
            if each.array.activity is not None:
                waits.append(_settle(each.array, "before the array can grow"))
            steps.append(_grow_step(each.array, add, len(spares), want))
    for placement in growth.new:
        unmade.setdefault(placement.index, []).append(placement.partition)
    for index, parts in sorted(unmade.items()):
        if len(parts) >= least_members(want.redundancy):
            steps.append(_create_step(pool, want, index, parts))
    if not steps:
        return []
    waits = waits or [_settle(array, "redundancy comes before growth") for array in unwhole]
    if waits:
        return waits
    fresh = {disk.node: disk for disk in disks}
    return [*_partition_steps(fresh, [*growth.joins, *growth.new], "to grow"), *steps]


def _partitions(pool: Pool, joins: t.Iterable[Placement], nodes: t.Sequence[str]) -> list[Partition]:
    known = {part.node: part for disk in pool.disks for part in disk.partitions}
    known.update({placement.partition.node: placement.partition for placement in joins})
    return [known[node] for node in nodes]


def _grow_step(array: Array, add: t.Sequence[str], spares: int, want: Wanted) -> GrowArray:
    devices = array.devices + len(add) + spares
    level = level_for(devices, want.redundancy) if array.level == 1 else array.level
    why = "a spare was left over" if spares and not add else "more disks have room for this slice"
    return GrowArray(array.name, array.node, level, array.level, devices, tuple(add), why)


def _create_step(pool: Pool, want: Wanted, index: int, parts: t.Sequence[Partition]) -> CreateArray:
    size = min(part.size for part in parts)
    shape = shape_for(size, len(parts), want.redundancy, want.chunk, want.most_members)
    return CreateArray(
        array=slice_name(pool.name, index),
        index=index,
        level=shape.level,
        partitions=tuple(part.node for part in parts),
        slice_size=size,
        component_size=shape.component_size,
        data_offset=shape.data_offset,
        chunk=shape.chunk,
        bitmap=want.bitmap,
        reason=f"{len(parts)} disks have room for this slice",
    )


def _bitmaps(pool: Pool, want: Wanted) -> Steps:
    return [
        SetBitmap(array.name, array.node, want.bitmap, "declared")
        for array in pool.arrays
        if array.bitmap != want.bitmap and array.settled and array.whole
    ]


# --- records and the end -----------------------------------------------------------------------------------------


def _record(pool: Pool, want: Wanted) -> Steps:
    """Keep mdadm.conf in step with the arrays."""
    wanted = {(f"/dev/md/{array.name}", array.uuid) for array in pool.arrays}
    if wanted == set(pool.recorded) and len(wanted) == len(pool.recorded):
        return []
    return [RecordArrays(tuple(array.name for array in pool.arrays), "so that each array has its name at every boot")]


def _initramfs(pool: Pool, want: Wanted) -> Steps:
    return [RebuildInitramfs("it holds an older mdadm.conf")] if pool.initramfs_stale and pool.arrays else []


def _await_rest(pool: Pool, want: Wanted) -> Steps:
    return [
        AwaitArray(array.name, array.activity.action, "the pool is settled when it has ended")
        for array in pool.arrays
        if array.activity is not None and array.activity.action not in ("check", "repair")
    ]


def _group(pool: Pool, want: Wanted) -> Steps:
    return plan_group(pool, want.extent_size, data_alignment(want.chunk))


_PHASES: tuple[Phase, ...] = (
    _wake,
    _mend_tables,
    _wipe,
    _drop,
    _repair,
    _replace,
    _record,
    _group,  # takes arrays as soon as they are there
    _grow,
    _await_reshapes,
    plan_volumes,  # when the room is complete
    _initramfs,
    _await_rest,
    _bitmaps,
)

__all__: t.Sequence[str] = ("outdated", "plan_pool", "usable_disks")
