# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What is on a disk: its partition table, the kernel's view of it, and the md superblocks on its partitions."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..formats import gpt, superblock
from ..model import LINUX_RAID, Disk, Partition, slice_index
from .host import Device, Host
from .sysfs import KernelDisk, read_disk, whole_disk


@dataclass(frozen=True)
class Location:
    """Where a declared path leads."""

    path: str
    name: str = ""  #: name in /sys/block; "" when it is no disk
    node: str = ""  #: for what is no disk the path with its links resolved
    problem: str = ""  #: why it is no disk; "" together with an empty `name` when nothing is there


def locate(host: Host, path: str) -> Location:
    """Follow a declared path to its disk."""
    number = host.device_number(path)
    if not number:
        if host.exists(path):
            return Location(path, node=host.resolve(path), problem="it is no block device")
        return Location(path)
    name = host.resolve(f"/sys/dev/block/{number}").rpartition("/")[2]
    node = "/dev/" + name.replace("!", "/")
    disk = whole_disk(host, name)
    if disk != name:
        parent = "/dev/" + disk.replace("!", "/")
        return Location(path, node=node, problem=f"it is a partition; declare the whole disk {parent}")
    if host.exists(f"/sys/block/{name}/md"):
        return Location(path, node=node, problem="it is an md array, not a disk")
    if host.exists(f"/sys/block/{name}/dm"):
        return Location(path, node=node, problem="it is a device-mapper device, not a disk")
    return Location(path, name, node)


@dataclass(frozen=True)
class Contents:
    """A disk as read. ``found`` holds the whole superblocks by the node of their partition."""

    disk: Disk
    kernel: KernelDisk
    table: gpt.Table | None = None
    mbr: gpt.MasterBootRecord | None = None
    found: tuple[tuple[str, superblock.Found], ...] = ()
    error: str = ""  #: why it cannot be read


@dataclass(frozen=True)
class Piece:
    """A partition with a superblock, and the disk that it is on."""

    disk: str
    partition: Partition
    found: superblock.Found


def pieces(contents: t.Iterable[Contents]) -> tuple[Piece, ...]:
    """Return all partitions with a valid superblock."""
    result = []
    for each in contents:
        by_node = dict(each.found)
        for partition in each.disk.partitions:
            found = by_node.get(partition.node)
            if found is not None and found.valid:
                result.append(Piece(each.disk.node, partition, found))
    return tuple(result)


def _partitions(kernel: KernelDisk, disk: Disk, table: gpt.Table) -> tuple[Partition, ...]:
    known = {each.number: each for each in kernel.partitions}
    partitions = []
    for entry in table.entries:
        twin = known.get(entry.number)
        partitions.append(
            Partition(
                number=entry.number,
                start=entry.start,
                size=entry.size,
                label=entry.label,
                type_guid=entry.type_guid,
                node=disk.partition_node(entry.number),
                in_kernel=twin is not None and (twin.start, twin.size) == (entry.start, entry.size),
            )
        )
    return tuple(partitions)


def may_be_member(pool: str, partition: Partition) -> bool:
    """Whether a partition is one to look for an md superblock of the pool on."""
    return partition.type_guid == LINUX_RAID or slice_index(pool, partition.label) is not None


def read_contents(host: Host, pool: str, name: str, path: str) -> Contents:
    """Read the disk ``name`` (as in /sys/block), declared as ``path``. A disk that cannot be read says so."""
    kernel = read_disk(host, name)
    disk = Disk(
        node=kernel.node,
        size=kernel.size,
        path=path,
        sector=kernel.sector,
        serial=kernel.serial,
        wwn=kernel.wwn,
        model=kernel.model,
        read_only=kernel.read_only,
    )
    try:
        with Device(host, kernel.node) as device:
            return _read(device, pool, kernel, disk)
    except OSError as error:
        return Contents(disk, kernel, error=error.strerror or str(error))


def _read(device: Device, pool: str, kernel: KernelDisk, disk: Disk) -> Contents:
    head = device.read(0, min(gpt.HEAD_BYTES, disk.size))

    def cached(offset: int, length: int) -> bytes:
        if offset + length <= len(head):
            return head[offset : offset + length]
        return device.read(offset, length)

    mbr = gpt.parse_mbr(head[:512])
    table = gpt.read_table(cached, disk.size, disk.sector)
    if table is None:
        return Contents(disk, kernel, mbr=mbr)
    found = []
    partitions = []
    for partition in _partitions(kernel, disk, table):
        seen = _superblock(device, partition) if may_be_member(pool, partition) else None
        if seen is not None:
            found.append((partition.node, seen))
        partitions.append(replace(partition, superblock=seen.superblock if seen else None))
    disk = replace(disk, has_gpt=True, gpt_end=table.usable_end, partitions=tuple(partitions))
    return Contents(disk, kernel, table, mbr, tuple(found))


def _superblock(device: Device, partition: Partition) -> superblock.Found | None:
    """Read a member's superblock through the whole disk, where it is also when the kernel lacks the partition."""

    def within(offset: int, length: int) -> bytes:
        return device.read(partition.start + offset, length)

    found = superblock.find(within, partition.size)
    if found is not None and not found.valid:
        # The kernel may have been writing it.
        found = superblock.find(within, partition.size)
    return found


def twins(disks: t.Sequence[Disk]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of declared paths whose disks are one disk seen twice (multipath).

    The WWN decides where both have one: a drive with two actuators, or several NVMe namespaces, share their serial.
    """
    groups: dict[tuple[t.Any, ...], list[Disk]] = {}
    for disk in disks:
        if disk.wwn:
            groups.setdefault((disk.wwn,), []).append(disk)
        if disk.serial:
            groups.setdefault((disk.serial, disk.model, disk.size), []).append(disk)
    found = []
    for key, group in groups.items():
        for index, first in enumerate(group):
            for second in group[index + 1 :]:
                decided_by_wwn = bool(first.wwn and second.wwn)
                if first.node != second.node and decided_by_wwn == (len(key) == 1):
                    found.append((first.path, second.path))
    return tuple(found)
