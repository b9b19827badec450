# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What exchanging one disk would bring, to the byte: the plan for it, simulated. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .._converge.converge import Refusal
from .growth import after_plan, plan_pool
from .model import Array, Disk, Group, Pool, Wanted


@dataclass(frozen=True)
class Prospect:
    """The volume group's bytes after the disk with this node was exchanged; ``gain`` is against today's."""

    disk: str
    size: int
    gain: int


def prospects(pool: Pool, want: Wanted, new_size: int) -> tuple[Prospect, ...]:
    """Return what exchanging each declared member for a blank disk of ``new_size`` bytes would bring, best first.

    A disk too small to take the other's place, or a pool that cannot lose one now, brings no prospect.
    """
    found: list[Prospect] = []
    tried: dict[tuple[object, ...], int] = {}
    for disk in pool.disks:
        if not any(member.disk == disk.node for array in pool.arrays for member in array.members):
            continue
        # Disks with the same size and slices are interchangeable; a large pool has few kinds.
        kind = (disk.size, tuple(sorted((part.label, part.size) for part in disk.partitions)), disk.declared)
        if kind not in tried:
            tried[kind] = _size_after(pool, want, disk, new_size)
        size = tried[kind]
        if size:
            found.append(Prospect(disk.node, size, size - _size(pool.group)))
    return tuple(sorted(found, key=lambda each: (-each.gain, each.disk)))


def _size(group: Group | None) -> int:
    return group.size if group is not None else 0


def _without(array: Array, node: str) -> Array:
    return replace(array, members=tuple(member for member in array.members if member.disk != node))


def _size_after(pool: Pool, want: Wanted, old: Disk, new_size: int) -> int:
    """Return the bytes of the group after ``old`` was exchanged, or 0 when that is not possible."""
    path = old.path or old.node
    new = Disk(node=old.node + "-new-", size=new_size, path=path, sector=old.sector)
    exchanged = replace(
        pool,
        disks=tuple(new if disk.node == old.node else disk for disk in pool.disks),
        arrays=tuple(_without(array, old.node) for array in pool.arrays),
        resolved=(*(pair for pair in pool.resolved if pair[0] != path), (path, new.node)),
        volumes=(),
    )
    if any(array.missing > array.redundancy for array in exchanged.arrays):
        return 0
    wanted = replace(want, volumes=(), replace=())
    if path not in wanted.disks:
        wanted = replace(wanted, disks=(*wanted.disks, path))
    try:
        plan = plan_pool(exchanged, wanted)
    except Refusal:
        return 0
    return _size(after_plan(exchanged, plan).group)
