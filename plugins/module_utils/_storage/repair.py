# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The phases that restore and keep redundancy: clear, drop, repair, replace, release. Pure."""

from __future__ import annotations

import typing as t

from .eligible import prepared_on, stray_on, unused_on, usable_disks
from .layout import Carver
from .phases import Steps, partition_steps, settle
from .steps.arrays import AwaitArray, PauseCheck, WakeArray
from .steps.disks import ClearSpare, ReleaseDisk
from .steps.members import AddMembers, CancelReplacement, DropMembers, ReplaceMember

if t.TYPE_CHECKING:
    from .model import Array, Disk, Pool, Wanted


def clear_spares(pool: Pool, want: Wanted) -> Steps:
    """Make slices usable again that were to be members and that arrays were started without."""
    steps: Steps = []
    for disk in usable_disks(pool, want):
        parts = tuple(part for part in (unused_on(array, disk) for array in pool.arrays) if part)
        if parts:
            steps.append(ClearSpare(disk.node, disk.display, parts, "the array was started without it"))
    return steps


# --- repair ----------------------------------------------------------------------------------------------------


def drop_failed(pool: Pool, want: Wanted) -> Steps:
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


def repair(pool: Pool, want: Wanted) -> Steps:
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
    return [*partition_steps(fresh, cuts, "to repair"), *adds]


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
        stray = stray_on(array, disk)
        if not full() and stray and disk.node not in present:
            returning.append(stray)
            present.add(disk.node)
    for disk in disks:
        prepared = prepared_on(array.name, array, disk)
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


# --- replacement -------------------------------------------------------------------------------------------------


def replace_members(pool: Pool, want: Wanted) -> Steps:
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
            steps.append(settle(array, "before a member can be replaced"))
            continue
        spare = next((m.node for m in array.members if m.disk == new.node and m.spare), "")
        target = spare or prepared_on(array.name, array, new)
        if not target:
            target = carver.take(array.index, array.slice_size).partition.node
        steps.append(ReplaceMember(array.name, array.node, source.node, target, not spare, "declared in 'replace'"))
    return [*partition_steps({new.node: new}, carver.cut, "to replace " + old.display), *steps]


def _release(pool: Pool, old: Disk) -> Steps:
    """Take the superblocks off a replaced disk once every array is whole without it."""
    if any(member.disk == old.node for array in pool.arrays for member in array.members):
        return []
    arrays = [array for array in pool.arrays if stray_on(array, old)]
    if not arrays or not all(array.whole for array in arrays):
        return []
    parts = tuple(stray_on(array, old) for array in arrays)
    return [ReleaseDisk(old.node, old.display, parts, "it was replaced and the arrays are whole without it")]
