# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Which beginnings of arrays are kept, whether one is to be put back, and whether there is room for one."""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass

from ..critical import DIRECTORY, LONGEST_GUARD, data_members, kept_path, rows_at_risk, safe_position
from ..formats import kept
from ..model import Array, Refuge
from .disks import Piece
from .host import Host
from .sysfs import Use, sysfs_name

#: Seconds by which clocks may have been set while volumes were held.
_CLOCK = 10


@dataclass(frozen=True)
class Mapped:
    """A device-mapper device."""

    name: str
    suspended: bool


def mapped_on(host: Host, holders: t.Iterable[str]) -> tuple[Mapped, ...]:
    """Return the device-mapper devices among the holders of an array."""
    found = []
    for holder in holders:
        name = host.text(f"/sys/block/{holder}/dm/name")
        if name:
            found.append(Mapped(name, host.text(f"/sys/block/{holder}/dm/suspended") == "1"))
    return tuple(sorted(found, key=lambda each: each.name))


def read_kept(host: Host, array: str) -> kept.Kept | None:
    """Return what is kept of an array; None when that is nothing, or damaged."""
    try:
        with open(host.at(kept_path(array)), "rb") as file:
            return kept.read(file)
    except OSError:
        return None


def can_be_put_back(host: Host, array: str, good: t.Sequence[Piece]) -> bool:
    """Whether the beginning of an array, which is not started, has to come from the file that keeps it.

    So it is in a reshape that had not yet come to where md takes it up by itself, if every old member that is there
    stands in the file.
    """
    newest = good[0].found
    block, old = newest.superblock, newest.previous_devices
    if not block.reshaping or newest.moves_data or newest.version != "1.2" or not 0 < old < block.devices:
        return False
    before, after = data_members(block.level, old), data_members(block.level, block.devices)
    if newest.reshape_position > safe_position(before, after, block.chunk):
        return False
    if not host.exists(kept_path(array)):
        return False
    found = read_kept(host, array)
    if found is None or found.array_uuid != block.array_uuid:
        return False
    # md wrote the superblock while the volumes were held, or the file is of an earlier reshape, and out of date.
    if not -_CLOCK <= newest.updated - found.time <= LONGEST_GUARD + _CLOCK:
        return False
    whole = min(rows_at_risk(before, after) * block.chunk, block.component_size)
    if (found.old_devices, found.new_devices) != (old, block.devices) or found.length < whole:
        return False
    offsets = {member.device_uuid: member.data_offset for member in found.members}
    return all(
        offsets.get(piece.found.superblock.device_uuid) == piece.found.superblock.data_offset
        for piece in good
        if piece.found.superblock.role is not None and piece.found.superblock.role < old
    )


def observe_refuge(host: Host, arrays: t.Iterable[Array], uses: t.Sequence[Use]) -> Refuge:
    """Return what room there is for the beginning of an array, and whether that is on one of ``arrays`` itself."""
    place = DIRECTORY
    while not host.exists(place):
        place = os.path.dirname(place)
    try:
        status = os.statvfs(host.at(place))
    except OSError:
        return Refuge(free=0)
    by_name = {sysfs_name(array.node): array.name for array in arrays if array.assembled}
    return Refuge(status.f_bavail * status.f_frsize, _array_below(host, _device_of(host, place, uses), by_name))


def _device_of(host: Host, place: str, uses: t.Sequence[Use]) -> str:
    """Return "MAJOR:MINOR" of the device that the file system of a directory is on."""
    real = host.resolve(place)
    best = Use("", "", "", "")
    for use in uses:
        point = use.mount_point
        if point and (real + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(best.mount_point):
            best = use  # of several on one place the last is on top
    # Where the number is not a block device's, as for btrfs, the source tells one.
    known = host.exists(f"/sys/dev/block/{best.number}")
    return best.number if known or not best.source.startswith("/dev/") else host.device_number(best.source)


def _array_below(host: Host, number: str, arrays: t.Mapping[str, str]) -> str:
    """Return the array that a device stands on, at whatever depth; "" when it stands on none."""
    left = [host.resolve(f"/sys/dev/block/{number}").rpartition("/")[2]] if number else []
    seen: set[str] = set()
    while left:
        name = left.pop()
        if name in arrays:
            return arrays[name]
        if name not in seen:
            seen.add(name)
            left += host.names(f"/sys/class/block/{name}/slaves")
    return ""
