# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A pool as modules return it: JSON-able, sizes in bytes. Pure."""

from __future__ import annotations

import typing as t

from .model import Array, Disk, Group, Member, Mount, Pool, Volume, slice_index

Facts = t.Dict[str, t.Any]


def _disk(pool: Pool, disk: Disk) -> Facts:
    return {
        "path": disk.path,
        "node": disk.node,
        "serial": disk.serial,
        "wwn": disk.wwn,
        "model": disk.model,
        "size": disk.size,
        "sector": disk.sector,
        "declared": disk.declared,
        "foreign": list(disk.foreign),
        "slices": [
            {"index": index, "node": part.node, "start": part.start, "size": part.size}
            for part in disk.partitions
            for index in (slice_index(pool.name, part.label),)
            if index is not None
        ],
    }


def _member(member: Member) -> Facts:
    if member.faulty:
        state = "failed"
    elif member.slot is None:
        state = "spare"
    elif member.replacement and not member.in_sync:
        state = "replacement"
    elif member.in_sync:
        state = "in_sync"
    else:
        state = "rebuilding"
    return {"node": member.node, "disk": member.disk, "slot": member.slot, "state": state}


def _array(array: Array) -> Facts:
    activity = array.activity
    return {
        "name": array.name,
        "node": array.node,
        "uuid": array.uuid,
        "level": f"raid{array.level}",
        "devices": array.devices,
        "missing": array.missing,
        "size": array.size_now,
        "component_size": array.component_size,
        "chunk": array.chunk,
        "bitmap": array.bitmap,
        "active": array.active,
        "settled": array.settled,
        "members": [_member(member) for member in array.members],
        "activity": None
        if activity is None
        else {
            "action": activity.action,
            "percent": activity.percent,
            "seconds_left": activity.seconds_left,
            "delayed": activity.delayed,
        },
    }


def _volume(volume: Volume, group: Group, mounts: t.Iterable[Mount]) -> Facts:
    device = f"/dev/{group.name}/{volume.name}"
    return {
        "name": volume.name,
        "device": device,
        "size": volume.extents * group.extent_size,
        "filesystem": volume.filesystem,
        "filesystem_size": volume.filesystem_size,
        "mounted_on": list(volume.mounted_on),
        "fstab": next((mount.mount_point for mount in mounts if mount.device == device), ""),
    }


def facts(pool: Pool) -> Facts:
    """Return the machine-readable state of ``pool``."""
    group = pool.group
    volumes = [] if group is None else [_volume(volume, group, pool.mounts) for volume in pool.volumes]
    capacity = 0 if group is None else group.size
    return {
        "name": pool.name,
        "capacity": capacity,
        "free": max(0, capacity - sum(volume["size"] for volume in volumes)),
        "settled": all(array.settled for array in pool.arrays),
        "redundant": bool(pool.arrays) and all(not array.missing for array in pool.arrays),
        "disks": [_disk(pool, disk) for disk in pool.disks],
        "absent": list(pool.absent),
        "arrays": [_array(array) for array in pool.arrays],
        "volumes": volumes,
    }
