# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The plan for what stands on the arrays: physical volumes, the group, volumes, file systems, mounts. Pure."""

from __future__ import annotations

import typing as t

from .._converge.converge import Refusal
from .model import KIB, MIB, Group, Mount, Pool, Volume, Wanted, WantedVolume
from .size import human
from .steps.volumes import (
    ActivateVolumes,
    CreateGroup,
    CreateVolume,
    ExtendGroup,
    ExtendVolume,
    GrowFilesystem,
    MakeFilesystem,
    MountVolume,
    RecordMount,
    ResizePhysicalVolume,
)

if t.TYPE_CHECKING:
    from .steps.disks import PoolStep

#: A file system may leave a tail of its volume unused that is smaller than its largest block.
TAIL = 64 * KIB
#: mkfs.xfs refuses less (xfsprogs 5.19 and later).
LEAST_XFS = 300 * MIB


def plan_group(pool: Pool, extent_size: int, pe_start: int) -> list[PoolStep]:
    """Put arrays into the volume group, and let it use the whole of those that grew."""
    group = pool.group
    arrays = [array for array in pool.arrays if array.active]
    if group is None:
        if not arrays:
            return []
        names = tuple(array.name for array in arrays)
        nodes = tuple(array.node for array in arrays)
        return [CreateGroup(pool.name, names, nodes, pe_start, extent_size, "the pool needs one")]
    if group.missing:
        return []  # LVM changes nothing before every physical volume is back
    steps: list[PoolStep] = []
    known = {volume.array for volume in group.volumes}
    new = [array for array in arrays if array.name not in known]
    if new:
        names, nodes = tuple(array.name for array in new), tuple(array.node for array in new)
        steps.append(ExtendGroup(group.name, names, nodes, pe_start, "the array is new"))
    for array in arrays:
        for volume in group.volumes:
            grown = volume.extents_of(array.size_now, group.extent_size)
            if volume.array == array.name and grown > volume.extents:
                steps.append(ResizePhysicalVolume(array.name, array.node, "the array has grown"))
    return steps


def wanted_extents(volume: WantedVolume, group: Group, current: int, free: int) -> int:
    """Return how many extents a volume is to have.

    Bytes are rounded up to whole extents. A percentage is of all extents of the pool, rounded down, so it
    follows when the pool grows. "100%FREE" is what it has plus what nobody else has.
    """
    if volume.size.free:
        return current + free
    if volume.size.percent:
        return group.extents * volume.size.percent // 100
    return -(-volume.size.bytes // group.extent_size)


def target_sizes(pool: Pool, want: Wanted, group: Group) -> dict[str, int]:
    """Return the extents that each declared volume is to have. Raises Refusal when the pool is too small."""
    current = {volume.name: volume.extents for volume in pool.volumes}
    taken = sum(current.values())
    targets: dict[str, int] = {}
    for wanted in sorted(want.volumes, key=lambda each: each.size.free):
        have = current.get(wanted.name, 0)
        extents = wanted_extents(wanted, group, have, max(0, group.extents - taken))
        if extents < 1:
            raise Refusal(
                f"Volume {wanted.name} would get no room: pool {pool.name} has {human(group.size)}, "
                f"all of it taken or too little for the share asked for. Nothing was changed."
            )
        targets[wanted.name] = extents
        taken += targets[wanted.name] - have
    if taken > group.extents:
        raise Refusal(
            f"The volumes of pool {pool.name} need {human(taken * group.extent_size)}, but the pool has "
            f"{human(group.size)} on the disks declared. Make volumes smaller or add disks. Nothing was changed."
        )
    return targets


def plan_volumes(pool: Pool, want: Wanted) -> list[PoolStep]:
    """Make and grow volumes and their file systems, record and mount them."""
    group = pool.group
    if group is None or group.missing or not want.volumes:
        return []
    declared = {wanted.name for wanted in want.volumes}
    inactive = tuple(volume.name for volume in pool.volumes if volume.name in declared and not volume.active)
    if inactive:
        return [ActivateVolumes(group.name, inactive, "their devices are not there")]
    targets = target_sizes(pool, want, group)
    steps: list[PoolStep] = []
    for wanted in want.volumes:
        volume = next((each for each in pool.volumes if each.name == wanted.name), None)
        extents = targets[wanted.name]
        if volume is None:
            steps.append(CreateVolume(group.name, wanted.name, extents, group.extent_size, "declared"))
        elif extents > volume.extents:
            steps.append(
                ExtendVolume(group.name, wanted.name, extents, group.extent_size, "the declared size is larger now")
            )
        steps += _plan_content(group, wanted, volume or Volume(wanted.name, 0), extents, pool)
    return steps


def _plan_content(group: Group, wanted: WantedVolume, volume: Volume, extents: int, pool: Pool) -> list[PoolStep]:
    if not wanted.filesystem:
        return []
    device = f"/dev/{group.name}/{wanted.name}"
    size = extents * group.extent_size
    steps: list[PoolStep] = []
    if not volume.filesystem:
        if wanted.filesystem == "xfs" and size < LEAST_XFS:
            raise Refusal(
                f"Volume {wanted.name} would have {human(size)}, but an xfs file system needs {human(LEAST_XFS)}. "
                "Use ext4 or a larger size. Nothing was changed."
            )
        steps.append(MakeFilesystem(wanted.name, device, wanted.filesystem, size, "the volume is blank"))
    elif size - volume.filesystem_size >= TAIL:
        mounted_on = volume.mounted_on[0] if volume.mounted_on else ""
        steps.append(
            GrowFilesystem(wanted.name, device, wanted.filesystem, size, mounted_on, "the volume is larger than it")
        )
    if wanted.mount_point:
        steps += _plan_mount(wanted, device, volume, pool)
    return steps


def _plan_mount(wanted: WantedVolume, device: str, volume: Volume, pool: Pool) -> list[PoolStep]:
    steps: list[PoolStep] = []
    have = next((mount for mount in pool.mounts if mount.device == device), None)
    options = _options(have.options if have else "defaults", wanted.nofail)
    mount = Mount(device, wanted.mount_point, wanted.filesystem, options)
    if have != mount:
        steps.append(RecordMount(mount, "so that it is mounted at every boot"))
    if wanted.mount_point not in volume.mounted_on:
        steps.append(MountVolume(wanted.name, device, wanted.mount_point, "it is not mounted"))
    return steps


def _options(options: str, nofail: bool) -> str:
    """Return fstab options with or without nofail, the others as they were."""
    words = [word for word in options.split(",") if word and word != "nofail"]
    return ",".join([*words, "nofail"] if nofail else words) or "defaults"
