# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What on a disk is somebody else's, and what of it is in use."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._converge.command import Runner
from ..formats.superblock import Found
from ..model import LINUX_RAID, Array, Disk, Partition, slice_index, slice_name
from ..size import human
from .arrays import Identity
from .disks import Contents
from .host import Host
from .signatures import Signature, scan
from .sysfs import KernelArray, Use

#: Signatures that an empty partition table leaves, which is nobody's.
_TABLE = ("gpt", "PMBR")


@dataclass(frozen=True)
class Ownership:
    """What is known of the host when disks are judged."""

    pool: str
    uuids: t.Mapping[str, int]  #: UUID of each array of the pool to its index
    arrays: tuple[Array, ...]
    foreign_arrays: tuple[Identity, ...]  #: arrays of the kernel that are not the pool's
    uses: tuple[Use, ...]


def judge(host: Host, runner: Runner, ownership: Ownership, contents: t.Sequence[Contents]) -> list[Disk]:
    """Return the disks with what is foreign, what is in use, and which idle arrays stand in the way.

    One process names the signatures on all disks that hold something unknown; none is started without any.
    """
    nodes = [node for each in contents for node in _unknown(ownership, each)]
    signatures, failed = scan(runner, nodes)
    return [_judged(host, ownership, each, signatures, failed) for each in contents]


def _is_ours(ownership: Ownership, partition: Partition, found: Found | None) -> bool:
    if found is not None and found.valid:
        return found.superblock.array_uuid in ownership.uuids
    return (
        found is None and slice_index(ownership.pool, partition.label) is not None and partition.type_guid == LINUX_RAID
    )


def _unknown(ownership: Ownership, contents: Contents) -> list[str]:
    """Return the nodes on a declared disk whose signatures nobody has looked at yet."""
    disk = contents.disk
    if not disk.declared or contents.error:
        return []
    found = dict(contents.found)
    strangers = [
        partition for partition in disk.partitions if not _is_ours(ownership, partition, found.get(partition.node))
    ]
    unused = [partition for partition in disk.partitions if found.get(partition.node) is None]
    if found and not strangers and not unused:
        return []
    asked = {partition.node for partition in (*strangers, *unused) if partition.in_kernel}
    whole = [] if found and not strangers else [disk.node]
    return [*whole, *sorted(asked)]


def _judged(
    host: Host,
    ownership: Ownership,
    contents: Contents,
    signatures: t.Mapping[str, tuple[Signature, ...]],
    failed: t.Mapping[str, str],
) -> Disk:
    disk, kernel = contents.disk, contents.kernel
    if contents.error:
        sentence = f"it cannot be read ({contents.error})"
        return replace(disk, foreign=(sentence,), in_use=(sentence,))
    found = dict(contents.found)
    foreign: list[str] = []
    in_use = _in_use(host, ownership, contents)
    idle, busy = _foreign_arrays(host, ownership, contents)
    in_use += busy
    about_table = _about_table(contents)
    foreign += about_table
    partitions = []
    for partition in disk.partitions:
        seen = signatures.get(partition.node, ())
        block = found.get(partition.node)
        if _is_ours(ownership, partition, block):
            others = tuple(str(each) for each in seen if block is None)
            partitions.append(replace(partition, signatures=others))
            foreign += [f"partition {partition.number} '{partition.label}' is not blank ({what})" for what in others]
            continue
        foreign.append(_about_partition(ownership, partition, block, seen))
        partitions.append(replace(partition, signatures=tuple(str(each) for each in seen)))
    known = _TABLE if contents.table is not None else (*_TABLE, "dos") if about_table else ()
    foreign += [f"{each} on the whole disk" for each in signatures.get(disk.node, ()) if each.kind not in known]
    for node in (disk.node, *(partition.node for partition in disk.partitions)):
        if node in failed:
            foreign.append(f"{node} cannot be read ({failed[node]})")
    if disk.declared and not found and not in_use and not idle and not foreign and host.busy(kernel.node):
        in_use.append("a process or the kernel holds it for itself")
    return replace(
        disk,
        partitions=tuple(partitions),
        foreign=tuple(dict.fromkeys((*foreign, *in_use))),
        in_use=tuple(dict.fromkeys(in_use)),
        foreign_arrays=tuple(idle),
    )


def _about_table(contents: Contents) -> list[str]:
    table = contents.table
    if table is None:
        mbr = contents.mbr
        if mbr is None:
            return []
        if mbr.protective:
            return ["it has a damaged GUID partition table (neither header passes its checksum)"]
        return [f"it has an MBR partition table with {len(mbr.types)} partitions"] if mbr.types else []
    found = []
    if table.primary_damaged:
        found.append(
            "its GUID partition table is damaged, only the backup at its end is whole; gdisk's recovery menu repairs it"
        )
    if table.usable_end > contents.disk.size:
        found.append("its GUID partition table was made for a larger disk")
    if table.hybrid:
        found.append("its MBR lists partitions of its own beside the GUID partition table")
    return found


def _about_partition(
    ownership: Ownership, partition: Partition, found: Found | None, seen: t.Sequence[Signature]
) -> str:
    what = f"partition {partition.number} '{partition.label}' of {human(partition.size)}"
    if found is not None and not found.valid:
        return f"{what} holds an md superblock with a wrong checksum"
    if found is not None:
        block = found.superblock
        index = slice_index(ownership.pool, block.name)
        if index is not None:
            ours = next((uuid for uuid, number in ownership.uuids.items() if number == index), "")
            name = slice_name(ownership.pool, index)
            return (
                f"{what} belongs to another array named {name}, UUID {block.array_uuid}, "
                f"while the pool's has UUID {ours or 'none that can be used'}"
            )
        name = f"{block.home_host}:{block.name}" if block.home_host else block.name
        return f"{what} is a member of md array '{name}', UUID {block.array_uuid}"
    if seen:
        return f"{what} ({seen[0]})"
    return what


def _numbers(host: Host, contents: Contents) -> dict[str, str]:
    """Return the device numbers of a disk and its partitions: number to node."""
    kernel = contents.kernel
    numbers = {host.text(f"/sys/block/{kernel.name}/dev"): kernel.node}
    for partition in kernel.partitions:
        number = host.text(f"/sys/block/{kernel.name}/{partition.name}/dev")
        numbers[number] = "/dev/" + partition.name.replace("!", "/")
    return numbers


def _in_use(host: Host, ownership: Ownership, contents: Contents) -> list[str]:
    kernel, disk = contents.kernel, contents.disk
    if disk.partitions and not kernel.holders and _only_ours(ownership, contents):
        return []
    found = []
    numbers = _numbers(host, contents)
    for use in ownership.uses:
        # btrfs and others mount with a number of their own, so the source counts as well.
        node = numbers.get(use.number) or next((node for node in numbers.values() if node == use.source), "")
        if node:
            how = f"is mounted on {use.mount_point}" if use.mount_point else "is used as swap"
            found.append(f"{node} {how}")
    ours = {array.node.rpartition("/")[2] for array in ownership.arrays}
    arrays = {each.kernel.name for each in ownership.foreign_arrays} | ours
    held = [(kernel.node, kernel.holders)]
    held += [("/dev/" + each.name.replace("!", "/"), each.holders) for each in kernel.partitions]
    in_table = {partition.node for partition in disk.partitions}
    for node, holders in held:
        for holder in holders:
            if holder not in arrays:
                name = host.text(f"/sys/block/{holder}/dm/name")
                found.append(f"{node} is held by /dev/{holder}" + (f" ({name})" if name else ""))
            elif holder in ours and node not in in_table:
                found.append(f"array /dev/{holder} runs on {node}, which the partition table does not list")
    return found


def _only_ours(ownership: Ownership, contents: Contents) -> bool:
    """Whether every partition that the kernel has is a member of one of the pool's arrays, or unused."""
    ours = {array.node.rpartition("/")[2] for array in ownership.arrays}
    in_table = {partition.node for partition in contents.disk.partitions}
    found = dict(contents.found)
    return all(_is_ours(ownership, each, found.get(each.node)) for each in contents.disk.partitions) and all(
        set(each.holders) <= ours and "/dev/" + each.name.replace("!", "/") in in_table
        for each in contents.kernel.partitions
    )


def _foreign_arrays(host: Host, ownership: Ownership, contents: Contents) -> tuple[list[str], list[str]]:
    """Return the idle md arrays of somebody else on a disk, and sentences about those in use."""
    nodes = {contents.kernel.node} | {"/dev/" + each.name.replace("!", "/") for each in contents.kernel.partitions}
    idle, busy = [], []
    for identity in ownership.foreign_arrays:
        kernel: KernelArray = identity.kernel
        on = sorted({each.member.node for each in kernel.members} & nodes)
        if not on:
            continue
        if kernel.holders or host.busy(kernel.node):
            name = f" ('{identity.name}')" if identity.name else ""
            busy.append(f"{', '.join(on)} belongs to the array {kernel.node}{name}, which is in use")
        else:
            idle.append(kernel.node)
    return idle, busy
