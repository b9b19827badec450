# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Which disks, and what on them, may serve which purpose. Pure."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from .model import Array, Disk, Partition, Pool, Wanted


def usable_disks(pool: Pool, want: Wanted) -> tuple[Disk, ...]:
    """Return the declared disks on which slices may be placed."""
    failed = {member.disk for array in pool.arrays for member in array.members if member.faulty}
    reserved = reserved_for_replacement(pool, want)
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
    strays = [array for array in pool.arrays if array.strays and stray_on(array, disk)]
    if not strays:
        return False
    member = any(each.disk == disk.node for array in pool.arrays for each in array.members if not each.faulty)
    return not member and all(array.whole for array in strays)


def stray_on(array: Array, disk: Disk) -> str:
    """Return the partition on ``disk`` that once was a member of ``array`` and held some of its data, or ""."""
    strays = set(array.strays)
    return next((part.node for part in disk.partitions if part.node in strays and not _never_served(part, array)), "")


def unused_on(array: Array, disk: Disk) -> str:
    """Return the partition on ``disk`` that was to be a member of the running ``array`` and never became one, or ""."""
    strays = set(array.strays) if array.active else set()
    return next((part.node for part in disk.partitions if part.node in strays and _never_served(part, array)), "")


def _never_served(part: Partition, array: Array) -> bool:
    """Whether a superblock tells of a spare, or of a member beyond those that the array has.

    The latter is what a reshape to more members had added before its beginning was put back.
    """
    block = part.superblock
    if block is None or block.array_uuid != array.uuid or block.faulty:
        return False
    return block.role is None or block.role >= array.devices


def prepared_on(array_name: str, array: Array | None, disk: Disk) -> str:
    """Return the partition on ``disk`` that was cut for the slice and is not in use yet, or ""."""
    for part in disk.partitions:
        if part.label == array_name and part.superblock is None:
            in_use = array is not None and any(member.node == part.node for member in array.members)
            return "" if in_use else part.node
    return ""


def reserved_for_replacement(pool: Pool, want: Wanted) -> set[str]:
    """Return the nodes of new disks whose old disk still serves."""
    serving = {
        member.disk
        for array in pool.arrays
        for member in array.members
        if member.slot is not None and not member.faulty
    }
    return {pool.node_of(each.new) for each in want.replace if pool.node_of(each.old) in serving} - {""}
