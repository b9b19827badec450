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

from .._converge.converge import Refusal
from .._converge.plan import Plan, Step
from . import refusals
from .critical import DIRECTORY, data_members, needs_backup, rows_at_risk, safe_position
from .eligible import prepared_on, usable_disks
from .layout import (
    MIRROR_CHUNK,
    Placement,
    allocate,
    data_alignment,
    existing_slices,
    least_members,
    level_for,
    shape_for,
)
from .model import MIB, Array, Partition, Pool, Wanted, slice_index, slice_name
from .phases import Phase, Steps, cut_once, partition_steps, settle
from .repair import clear_spares, drop_failed, repair, replace_members
from .size import human
from .steps.arrays import (
    AwaitArray,
    CreateArray,
    RebuildInitramfs,
    RecordArrays,
    SetBitmap,
    StartArray,
    ThawArray,
    WakeArray,
    noun,
)
from .steps.disks import MoveBackupTable, PoolStep, TellKernel, WipeDisk
from .steps.reshapes import ContinueReshape, EndGuard, GrowArray, Guard, LiftSuspension, RevertReshape
from .volumes import plan_group, plan_volumes

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
            return Plan(cut_once(plan))
        for step in steps:
            pool = step.after(pool)
        plan.extend(steps)
        if steps[-1].reveals:
            return Plan(cut_once(plan))
    raise RuntimeError(f"The plan for pool {want.name} does not come to an end; please report this.")


def after_plan(pool: Pool, plan: Plan) -> Pool:
    """Return the pool as it is once every step of ``plan`` is done."""
    for step in plan:
        pool = after_step(pool, step)
    return pool


def after_step(pool: Pool, step: Step) -> Pool:
    """Return the pool as it is once ``step`` is done. Raises TypeError for a step of another domain."""
    if not isinstance(step, PoolStep):
        raise TypeError(f"{step!r} is no step on a storage pool")
    return step.after(pool)


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
    starts: Steps = []
    for array in pool.arrays:
        if array.active and array.kept:
            steps.append(_end_guard(array))
        if not array.active:
            starts.append(_start(array))
        elif array.suspended and not array.reshaping:
            why = "the mdadm that held back writes to a range was killed, and the reshape has ended without it"
            steps.append(LiftSuspension(array.name, array.node, why))
        elif array.suspended or (array.hidden_reshape and not array.auto_read_only):
            why = "its reshape was interrupted" + (" and holds back writes to a range" if array.suspended else "")
            steps.append(ContinueReshape(array.name, array.node, why))
        elif array.hidden_reshape:
            steps.append(WakeArray(array.name, array.node, "a reshape was interrupted and waits for the first write"))
        elif array.auto_read_only and array.activity is not None and array.activity.delayed:
            what = noun(array.activity.action)
            steps.append(WakeArray(array.name, array.node, f"its {what} waits for the first write"))
        elif array.frozen:
            steps.append(ThawArray(array.name, array.node, "an mdadm that was killed has left it frozen"))
    return [*steps, *starts]


def _end_guard(array: Array) -> EndGuard:
    position = 0
    if array.reshaping and 0 < array.previous_devices < array.devices:
        position = safe_position(
            data_members(array.level, array.previous_devices), data_members(array.level, array.devices), array.chunk
        )
    why = "the run that began its reshape was killed" if array.held else "the array has no use for it any more"
    return EndGuard(array.name, array.node, array.held, position, why)


def _start(array: Array) -> PoolStep:
    name = f"/dev/md/{array.name}"
    members = tuple(member.node for member in array.members if member.node)
    assembled = array.node if array.assembled else ""
    if array.restorable:
        why = "its reshape was cut off at its beginning, and the kernel does not take that up"
        return RevertReshape(array.name, name, members, assembled, True, why)
    if array.reshape_unbegun:
        why = "its reshape was cut off before it moved anything, and the kernel does not take that up"
        return RevertReshape(array.name, name, members, assembled, False, why)
    if array.hidden_reshape:
        # mdadm --assemble puts back what a reshape was moving; --run does not, and the kernel may then refuse.
        return StartArray(array.name, name, members, assembled, "its reshape was interrupted")
    if array.scattered:
        return StartArray(array.name, name, members, assembled, "only some of its members are assembled")
    if array.assembled:
        return StartArray(array.name, array.node, (), "", "it waits for members that are not there")
    return StartArray(array.name, name, members, "", "nothing has assembled it")


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


# --- growth ----------------------------------------------------------------------------------------------------


def _await_reshapes(pool: Pool, want: Wanted) -> Steps:
    return [settle(array, "the new room is there when it has ended") for array in pool.arrays if array.reshaping]


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
            node for node in (prepared_on(slice_name(pool.name, each.index), each.array, d) for d in disks) if node
        ]
        add = [*prepared, *joins.get(each.index, [])]
        if each.array is None:
            unmade[each.index] = _partitions(pool, growth.joins, add)
            continue
        spares = [member for member in each.array.members if member.spare]
        room = want.most_members - each.array.devices - len(spares)
        add = add[: max(0, room)]
        if add or spares:
            if each.array.activity is not None:
                waits.append(settle(each.array, "before the array can grow"))
            steps.append(_grow_step(each.array, add, len(spares), want))
    for placement in growth.new:
        unmade.setdefault(placement.index, []).append(placement.partition)
    for index, parts in sorted(unmade.items()):
        if len(parts) >= least_members(want.redundancy):
            steps.append(_create_step(pool, want, index, parts))
    if not steps:
        return []
    waits = waits or [settle(array, "redundancy comes before growth") for array in unwhole]
    guarded = [step for step in steps if isinstance(step, GrowArray) and step.guard is not None]
    if guarded:
        # md begins with nothing while it works on the same disks, and nobody can be held that long.
        at_work = [array for array in pool.arrays if array.activity is not None or array.reshaping]
        waits = waits or [settle(array, "the beginning of the next reshape must not wait") for array in at_work]
        _check_refuge(pool, guarded[0])
        steps = [guarded[0]]
    if waits:
        return waits
    fresh = {disk.node: disk for disk in disks}
    return [*partition_steps(fresh, [*growth.joins, *growth.new], "to grow"), *steps]


def _partitions(pool: Pool, joins: t.Iterable[Placement], nodes: t.Sequence[str]) -> list[Partition]:
    known = {part.node: part for disk in pool.disks for part in disk.partitions}
    known.update({placement.partition.node: placement.partition for placement in joins})
    return [known[node] for node in nodes]


def _grow_step(array: Array, add: t.Sequence[str], spares: int, want: Wanted) -> GrowArray:
    devices = array.devices + len(add) + spares
    level = level_for(devices, want.redundancy) if array.level == 1 else array.level
    why = "a spare was left over" if spares and not add else "more disks have room for this slice"
    guard = _guard(array, devices)
    if guard is not None:
        why += "; there is too little before the data to move them aside"
    return GrowArray(array.name, array.node, level, array.level, devices, tuple(add), guard, why)


def _guard(array: Array, devices: int) -> Guard | None:
    """Return what a reshape to so many devices needs so that a crash at its beginning loses nothing."""
    old, new = data_members(array.level, array.devices), data_members(array.level, devices)
    chunk = array.chunk or MIRROR_CHUNK
    if not needs_backup(array.data_offset, old, new, chunk):
        return None
    length = min(rows_at_risk(old, new) * chunk, array.component_size)
    return Guard(length, safe_position(old, new, chunk), array.mapped, array.speed_limits)


def _check_refuge(pool: Pool, step: GrowArray) -> None:
    """Raise Refusal when there is no place for the beginning of the array."""
    array = pool.array_named(step.array)
    if step.guard is None:
        return
    needed = array.devices * step.guard.length + MIB
    if pool.refuge.array:
        raise Refusal(
            f"While array {array.name} begins to grow, its volumes are held and its beginning is kept in {DIRECTORY}, "
            f"which is on array {pool.refuge.array} itself; mount something else there. {refusals.NOTHING}"
        )
    if pool.refuge.free < needed:
        raise Refusal(
            f"While array {array.name} begins to grow, {human(needed)} of it are kept in {DIRECTORY}, which has "
            f"{human(pool.refuge.free)} free; make room there. {refusals.NOTHING}"
        )


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
    clear_spares,
    drop_failed,
    repair,
    replace_members,
    _record,
    _group,  # takes arrays as soon as they are there
    _grow,
    _await_reshapes,
    plan_volumes,  # when the room is complete
    _initramfs,
    _await_rest,
    _bitmaps,
)
