# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Where slices go: which sizes, on which disks, at which offsets. Pure arithmetic on bytes."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from .model import (
    ALIGNMENT,
    KIB,
    MIB,
    Array,
    Disk,
    Partition,
    Pool,
    Wanted,
    capacity_of,
    slice_index,
    slice_name,
)

#: A GPT has room for this many partitions (UEFI 2.10, 5.3.1, and what sgdisk and fdisk write).
MOST_PARTITIONS = 128
#: Below this a slice is not worth its metadata: superblock, bitmap, physical volume label, an extent of 4 MiB.
LEAST_SLICE = 32 * MIB
#: md turns a mirror into raid5 with this chunk, whatever was asked, if the size is a multiple of it.
MIRROR_CHUNK = 64 * KIB


def aligned(offset: int, boundary: int = ALIGNMENT) -> int:
    """Return the first multiple of ``boundary`` at or after ``offset``."""
    return -(-offset // boundary) * boundary


def least_members(redundancy: int) -> int:
    """Return how many disks a slice needs before it can become an array: 2, or 4 with two redundant disks."""
    return 2 if redundancy == 1 else 4


def level_for(members: int, redundancy: int) -> int:
    """Return the md level for a slice on ``members`` disks."""
    if redundancy == 2:
        return 6
    return 1 if members == 2 else 5


@dataclass(frozen=True)
class Cut:
    """A new slice: so many bytes on each of these disks, which are indexes into the rooms given."""

    size: int
    members: tuple[int, ...]


def _balanced(items: t.Sequence[int], least: int, most: int) -> list[t.Sequence[int]]:
    """Split ``items`` in order into few runs of ``least`` to ``most``, as equal as possible; some may be left out."""
    runs = min(-(-len(items) // most), len(items) // least)
    short, longer = divmod(min(len(items), runs * most), runs)
    result = []
    start = 0
    for run in range(runs):
        end = start + short + (1 if run < longer else 0)
        result.append(items[start:end])
        start = end
    return result


def cut_rooms(
    rooms: t.Sequence[int], redundancy: int = 1, smallest: int = 1, most: int = 16, alignment: int = 1
) -> tuple[Cut, ...]:
    """Cut free rooms of so many bytes into slices that span as many disks as possible, at most ``most`` each.

    The first slice is as large as the smallest room, on all disks; the next as the smallest room then left;
    and so on until too few disks have ``smallest`` bytes left for a redundant slice. Within one group of
    disks this is the most that can be had: all but the ``redundancy`` largest shares of each byte carry data.
    More disks than ``most`` are split into groups of like size.
    """
    least = least_members(redundancy)
    left = list(rooms)
    cuts: list[Cut] = []
    while True:
        eligible = sorted((i for i, room in enumerate(left) if room >= smallest), key=lambda i: (-left[i], i))
        if len(eligible) < least:
            return tuple(cuts)
        for group in _balanced(eligible, least, max(most, least)):
            size = min(left[i] for i in group)
            cuts.append(Cut(size, tuple(sorted(group))))
            for i in group:
                left[i] -= aligned(size, alignment)


def smallest_slice(want: Wanted, disks: t.Iterable[Disk]) -> int:
    """Return the smallest slice worth making: as declared, else 1 % of the smallest disk, at least 32 MiB.

    Disks that differ by less share their slices, and the difference stays unused.
    """
    if want.smallest_slice:
        return want.smallest_slice
    sizes = [disk.size for disk in disks if disk.declared]
    return max(LEAST_SLICE, aligned(min(sizes) // 100)) if sizes else LEAST_SLICE


def largest_gap(disk: Disk) -> tuple[int, int]:
    """Return (start, size) of the largest free room on ``disk``: aligned start, end not rounded; size 0 for none."""
    if len(disk.partitions) >= MOST_PARTITIONS:
        return (0, 0)
    end = disk.gpt_end if disk.has_gpt and disk.gpt_end else disk.usable_end
    best = (0, 0)
    start = ALIGNMENT
    for part in sorted(disk.partitions, key=lambda part: part.start):
        if part.start - start > best[1]:
            best = (start, part.start - start)
        start = max(start, aligned(part.end))
    return (start, end - start) if end - start > best[1] else best


def free_number(partitions: t.Iterable[Partition]) -> int:
    """Return the smallest partition number that is not taken."""
    taken = {part.number for part in partitions}
    return next(number for number in range(1, MOST_PARTITIONS + 2) if number not in taken)


@dataclass(frozen=True)
class ArrayShape:
    """What mdadm is asked for when it creates an array; the prediction is exact."""

    level: int
    data_offset: int
    component_size: int
    chunk: int  #: 0 for a mirror


def data_offset_for(slice_size: int, chunk: int, most_members: int = 16) -> int:
    """Return the bytes to leave before the data of a member.

    A reshape to more members moves the data towards the start, by one chunk for each data disk of the new shape
    and one more; where there is no room for that it needs a backup file, and halts when its mdadm dies. So leave
    room for growing to ``most_members`` one by one, as far as it costs no more than 1 % of the slice, and at
    least what mdadm's own rule gives (super1.c, validate_geometry1): 128 MiB halved until 0.1 % of the device,
    but not below four chunks, behind superblock and bitmap, rounded up to 1 MiB.
    """
    headroom = 128 * MIB
    while headroom * 1024 > slice_size and headroom > 2 * chunk:
        headroom //= 2
    least = aligned(12 * KIB + headroom)
    generous = aligned(sum(range(2, most_members + 1)) * (chunk or MIRROR_CHUNK) + MIB)
    affordable = slice_size // 100 // MIB * MIB
    return max(min(least, generous), min(generous, affordable))


def shape_for(slice_size: int, members: int, redundancy: int, chunk: int, most_members: int = 16) -> ArrayShape:
    """Return the shape of a new array over ``members`` slices of ``slice_size`` bytes.

    A mirror's size is a multiple of 64 KiB, so that it can become raid5 later without losing a byte.
    """
    level = level_for(members, redundancy)
    granule = MIRROR_CHUNK if level == 1 else chunk
    offset = data_offset_for(slice_size, 0 if level == 1 else chunk, most_members)
    return ArrayShape(level, offset, (slice_size - offset) // granule * granule, 0 if level == 1 else chunk)


def data_alignment(chunk: int) -> int:
    """Return where the first extent of a physical volume starts: 1 MiB, or one chunk if that is more."""
    return max(MIB, chunk)


@dataclass(frozen=True)
class Slice:
    """A slice that exists: an array, or partitions prepared for one that was not created yet."""

    index: int
    size: int  #: bytes of a new member's partition
    needed: int  #: bytes that will do
    disks: frozenset[str]  #: nodes of disks that hold a partition of it
    array: Array | None


def existing_slices(pool: Pool) -> tuple[Slice, ...]:
    """Return the slices of ``pool`` in the order of their index."""
    prepared: dict[int, list[tuple[Disk, Partition]]] = {}
    for disk in pool.disks:
        for part in disk.partitions:
            index = slice_index(pool.name, part.label)
            if index is not None:
                prepared.setdefault(index, []).append((disk, part))
    arrays = {array.index: array for array in pool.arrays}
    result = []
    for index in sorted(prepared.keys() | arrays.keys()):
        parts = prepared.get(index, [])
        array = arrays.get(index)
        disks = {disk.node for disk, part in parts}
        if array is None:
            size = min(part.size for disk, part in parts)
            result.append(Slice(index, size, size, frozenset(disks), None))
        else:
            disks |= {member.disk for member in array.members if member.disk}
            result.append(Slice(index, array.slice_size, array.needed_size, frozenset(disks), array))
    return tuple(result)


def best_fit(room: int, slices: t.Sequence[Slice]) -> tuple[Slice, ...]:
    """Return the slices that together use the most of ``room`` bytes, the oldest where several sets do."""
    best: dict[int, tuple[Slice, ...]] = {0: ()}
    for each in slices:
        for used, chosen in sorted(best.items()):
            size = each.size if used + each.size <= room else each.needed
            total = used + aligned(size)
            if used + size <= room and total not in best:
                best[total] = (*chosen, each)
        if len(best) > 4096:  # far beyond any real pool; keep the fullest
            best = dict(sorted(best.items(), reverse=True)[:4096])
    return best[max(best)]


@dataclass(frozen=True)
class Placement:
    """A partition to be cut: slice ``index`` on ``disk``."""

    disk: str
    index: int
    partition: Partition


class Carver:
    """Hands out free room on one disk, one partition after the other."""

    def __init__(self, pool_name: str, disk: Disk) -> None:
        self._name = pool_name
        self.disk = disk
        self.cut: list[Placement] = []

    @property
    def room(self) -> int:
        """Bytes in the largest gap left."""
        return largest_gap(self.disk)[1]

    def take(self, index: int, size: int) -> Placement:
        """Cut slice ``index`` of ``size`` bytes, or of what is left when that is a little less."""
        start, room = largest_gap(self.disk)
        number = free_number(self.disk.partitions)
        part = Partition(
            number=number,
            start=start,
            size=min(size, room),
            label=slice_name(self._name, index),
            type_guid="",
            node=self.disk.partition_node(number),
        )
        self.disk = replace(self.disk, has_gpt=True, partitions=(*self.disk.partitions, part))
        placement = Placement(self.disk.node, index, part)
        self.cut.append(placement)
        return placement


@dataclass(frozen=True)
class Growth:
    """What the free room of disks can become."""

    joins: tuple[Placement, ...] = ()  #: new members of slices that exist
    new: tuple[Placement, ...] = ()  #: members of new slices


def allocate(pool: Pool, want: Wanted, disks: t.Sequence[Disk]) -> Growth:
    """Place slices in the free room of ``disks``: in slices that exist first, then in new ones."""
    slices = existing_slices(pool)
    counts = {each.index: max(len(each.disks), each.array.devices if each.array else 0) for each in slices}
    carvers = [Carver(pool.name, disk) for disk in disks]
    joins: list[Placement] = []
    for carver in carvers:
        open_slices = [
            each for each in slices if carver.disk.node not in each.disks and counts[each.index] < want.most_members
        ]
        for each in best_fit(carver.room, open_slices) if open_slices else ():
            joins.append(carver.take(each.index, each.size))
            counts[each.index] += 1

    smallest = smallest_slice(want, pool.disks)
    rooms = [carver.room for carver in carvers]
    new: list[Placement] = []
    next_index = max(counts, default=-1) + 1
    for index, cut in enumerate(
        cut_rooms(rooms, want.redundancy, smallest, want.most_members, ALIGNMENT), start=next_index
    ):
        new.extend(carvers[i].take(index, cut.size) for i in cut.members)
    return Growth(tuple(joins), tuple(new))


def waiting_room(pool: Pool, want: Wanted) -> dict[str, int]:
    """Return the bytes of free room on each declared disk that no partner makes redundant yet, by node."""
    smallest = smallest_slice(want, pool.disks)
    rooms = {disk.node: largest_gap(disk)[1] for disk in pool.disks if disk.declared}
    return {node: room for node, room in rooms.items() if room >= smallest}


def usable_capacity(arrays: t.Iterable[Array]) -> int:
    """Return the bytes that arrays offer together in the shape they have."""
    return sum(capacity_of(array.level, array.devices, array.component_size) for array in arrays)


__all__: t.Sequence[str] = (
    "ArrayShape",
    "Carver",
    "Cut",
    "Growth",
    "Placement",
    "Slice",
    "aligned",
    "allocate",
    "best_fit",
    "cut_rooms",
    "data_alignment",
    "data_offset_for",
    "existing_slices",
    "free_number",
    "largest_gap",
    "least_members",
    "level_for",
    "shape_for",
    "smallest_slice",
    "usable_capacity",
    "waiting_room",
)
