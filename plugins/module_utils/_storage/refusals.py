# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What is refused before anything is touched, and what is worth saying although nothing can be done. Pure.

Every refusal is one or two sentences for the person on call: what was found, what was expected, what to do.
"""

from __future__ import annotations

import typing as t

from .._converge.converge import Refusal
from .eligible import prepared_on, reserved_for_replacement, stray_on, unused_on
from .layout import largest_gap, smallest_slice, waiting_room
from .model import Array, Disk, Pool, Wanted, slice_index
from .size import human

NOTHING = "Nothing was changed."


def check(pool: Pool, want: Wanted) -> None:
    """Raise Refusal when the request cannot be carried out safely."""
    for rule in _RULES:
        problem = rule(pool, want)
        if problem:
            raise Refusal(f"{problem} {NOTHING}")


def _twins(pool: Pool, want: Wanted) -> str:
    for first, second in pool.twins:
        return f"{first} and {second} are the same disk; declare it once."
    return ""


def _foreign_group(pool: Pool, want: Wanted) -> str:
    group = pool.group
    if group is None or (pool.arrays and not group.foreign and (group.volumes or group.missing)):
        return ""
    what = ", ".join(group.foreign) or "no array of this pool"
    return f"A volume group {group.name} exists that is not this pool's (it is on {what}); choose another name."


def _redundancy(pool: Pool, want: Wanted) -> str:
    for array in pool.arrays:
        have = 2 if array.level == 6 else 1
        if have != want.redundancy:
            return (
                f"Array {array.name} is raid{array.level}, made for redundancy {have}, "
                f"but {want.redundancy} is declared; the redundancy of a pool cannot be changed. "
                f"Declare {have}, or make a new pool and move the data."
            )
    return ""


def _unstartable(pool: Pool, want: Wanted) -> str:
    for array in pool.arrays:
        present = sum(1 for member in array.members if member.slot is not None and not member.faulty)
        least = array.devices - array.redundancy
        if not array.active and present < least:
            return (
                f"Array {array.name} is not running and has {present} of its {array.devices} members, "
                f"it needs {least}; bring back a missing disk."
            )
    return ""


def _creation_needs_all(pool: Pool, want: Wanted) -> str:
    if pool.arrays or not pool.absent:
        return ""
    missing = _paths(pool.absent)
    return f"Pool {pool.name} does not exist yet and {missing} not there; a new pool needs every disk declared."


def _replacements(pool: Pool, want: Wanted) -> str:
    declared = {pool.node_of(path) or path for path in want.disks}
    for each in want.replace:
        old, new = pool.node_of(each.old), pool.node_of(each.new)
        if each.old in want.disks or (old and old in declared):
            return f"{each.old} is to be replaced and is also listed in 'disks'; take it out of 'disks'."
        if each.new not in want.disks and new not in declared:
            return f"{each.new} is to replace {each.old} and is not listed in 'disks'; add it there."
        problem = _replacement(pool, each.old, each.new)
        if problem:
            return problem
    return ""


def _replacement(pool: Pool, old_path: str, new_path: str) -> str:
    old, new = pool.disk(pool.node_of(old_path)), pool.disk(pool.node_of(new_path))
    if old is None:
        return ""
    serving = [
        array
        for array in pool.arrays
        if any(member.disk == old.node and member.slot is not None and not member.faulty for member in array.members)
    ]
    if not serving:
        return ""
    if new is None:
        return f"{new_path} is to replace {old_path} and is not there."
    if any(member.disk == new.node and member.faulty for array in pool.arrays for member in array.members):
        return f"{new_path} is to replace {old_path}, but md has marked it as failed; use another disk."
    for array in serving:
        if not array.whole and array.activity is None:
            return (
                f"Array {array.name} lacks {array.missing} of its members; repair it with a blank disk before "
                f"{old_path} is replaced."
            )
    owned = {slice_index(pool.name, part.label) for part in new.partitions}
    needed = [array for array in serving if array.index not in owned]
    room = largest_gap(new)[1]
    if sum(array.needed_size for array in needed) > room:
        return (
            f"{new_path} has {human(room)} free, but the slices of {old_path} need "
            f"{human(sum(array.needed_size for array in needed))}; use a larger disk."
        )
    return ""


def _new_disks(pool: Pool) -> list[Disk]:
    """Return the declared disks that hold nothing of the pool yet."""
    members = {member.disk for array in pool.arrays for member in array.members}
    return [
        disk
        for disk in pool.disks
        if disk.declared
        and disk.node not in members
        and not any(slice_index(pool.name, part.label) is not None for part in disk.partitions)
    ]


def _unfit_disks(pool: Pool, want: Wanted) -> str:
    members = {member.disk for array in pool.arrays for member in array.members}
    for disk in pool.disks:
        if not disk.declared or disk.node in members:
            continue
        if disk.read_only:
            return f"{disk.display} is read-only for the kernel; look for a write-protect switch or a failing disk."
        named = bool({disk.serial, disk.wwn} & want.wipe)
        if disk.foreign and disk.in_use and named:
            return f"{disk.display} is named in 'wipe' but is in use: {'; '.join(disk.in_use)}. Stop that use first."
        if disk.foreign and not named:
            serial = disk.serial or disk.wwn
            hint = (
                f"If that can be lost, add its serial '{serial}' to 'wipe'."
                if serial
                else "It has no serial, so wipe it by hand."
            )
            return f"{disk.display} holds something that is not the pool's: {'; '.join(disk.foreign)}. {hint}"
        if any(part.superblock is not None and part.superblock.has_bad_blocks for part in disk.partitions):
            return f"{disk.display} has blocks that md has listed as bad; replace the disk."
    return ""


def _sectors(pool: Pool, want: Wanted) -> str:
    sizes: dict[int, str] = {}
    for disk in pool.disks:
        sizes.setdefault(disk.sector, disk.display)
    if len(sizes) < 2:
        return ""
    found = ", ".join(f"{path} has {sector} bytes" for sector, path in sorted(sizes.items()))
    return (
        f"The disks have different logical sector sizes ({found}); arrays over both would break. Use disks of one kind."
    )


def _too_small(pool: Pool, want: Wanted) -> str:
    smallest = smallest_slice(want, pool.disks)
    wiped = want.wipe
    for disk in _new_disks(pool):
        room = disk.usable_end if {disk.serial, disk.wwn} & wiped else largest_gap(disk)[1]
        if room < smallest:
            offer = human(max(0, room))
            return f"{disk.display} is too small: it offers {offer}, and the smallest slice is {human(smallest)}."
    return ""


def _too_small_to_repair(pool: Pool, want: Wanted) -> str:
    """A blank disk beside an array with an empty slot is there to repair; it must be able to."""
    for array in pool.arrays:
        if (
            not array.active
            or array.whole
            or array.activity is not None
            or any(member.spare for member in array.members)
        ):
            continue
        if any(stray_on(array, disk) for disk in pool.disks if disk.declared):
            continue
        fitting = [disk for disk in pool.disks if disk.declared and _could_repair(array, disk)]
        reserved = reserved_for_replacement(pool, want)
        for disk in _new_disks(pool):
            if disk.node in reserved:
                continue
            if not fitting and not disk.foreign and largest_gap(disk)[1] < array.needed_size:
                offer = human(largest_gap(disk)[1])
                return (
                    f"{disk.display} is too small to repair array {array.name}: it offers {offer}, "
                    f"{human(array.needed_size)} are needed."
                )
    return ""


def _could_repair(array: Array, disk: Disk) -> bool:
    if any(member.disk == disk.node for member in array.members):
        return False
    ready = prepared_on(array.name, array, disk) or unused_on(array, disk)
    return bool(ready) or largest_gap(disk)[1] >= array.needed_size


def _accidental_widening(pool: Pool, want: Wanted) -> str:
    """A healthy undeclared member and a new disk: the user most likely meant to replace, and widening is for ever."""
    if not pool.arrays or any(not array.whole for array in pool.arrays):
        return ""
    olds = {pool.node_of(each.old) for each in want.replace}
    news = {pool.node_of(each.new) for each in want.replace}
    undeclared = [disk for disk in pool.disks if not disk.declared and disk.node not in olds and _serves(pool, disk)]
    new = [disk for disk in _new_disks(pool) if disk.node not in news]
    if not undeclared or not new:
        return ""
    old_name, new_name = undeclared[0].display, new[0].display
    return (
        f"{old_name} is a healthy member of pool {pool.name} and not declared, and {new_name} is new: adding it "
        f"would widen the arrays for ever. To exchange the disks, list them under 'replace' (old: {old_name}, "
        f"new: {new_name}); to add the new one, declare both."
    )


def _serves(pool: Pool, disk: Disk) -> bool:
    return any(
        member.disk == disk.node and member.slot is not None and not member.faulty
        for array in pool.arrays
        for member in array.members
    )


def _volumes(pool: Pool, want: Wanted) -> str:
    group = pool.group
    extent = group.extent_size if group else want.extent_size
    have = {volume.name: volume for volume in pool.volumes}
    taken = dict(pool.taken_mount_points)
    for wanted in want.volumes:
        if wanted.mount_point in taken:
            return (
                f"fstab uses {wanted.mount_point} for {taken[wanted.mount_point]} already; choose another mount point."
            )
        volume = have.get(wanted.name)
        if volume is None or group is None or group.missing:
            continue  # new, or nothing is done to volumes before every physical volume is back
        # What is on a volume that is not active shows when it is.
        if volume.active and wanted.filesystem and volume.filesystem not in ("", wanted.filesystem):
            return (
                f"Volume {volume.name} holds {volume.filesystem}, but {wanted.filesystem} is declared; "
                "nothing is ever reformatted. Declare what is there, or remove the volume by hand."
            )
        size = wanted.size
        target = group.extents * size.percent // 100 if size.percent else -(-size.bytes // extent)
        if not size.free and target < volume.extents:
            return (
                f"Volume {volume.name} has {human(volume.extents * extent)}, but {human(target * extent)} is declared; "
                "volumes are never shrunk. Declare at least what it has."
            )
    return ""


_RULES: tuple[t.Callable[[Pool, Wanted], str], ...] = (
    _twins,
    _foreign_group,
    _redundancy,
    _sectors,
    _unstartable,
    _creation_needs_all,
    _replacements,
    _unfit_disks,
    _too_small,
    _too_small_to_repair,
    _accidental_widening,
    _volumes,
)


def check_end(pool: Pool, want: Wanted) -> None:
    """Raise Refusal when even the complete plan leads to no pool."""
    if not pool.arrays:
        least = "two disks" if want.redundancy == 1 else "four disks"
        raise Refusal(f"Pool {want.name} needs at least {least} with room for a common slice. {NOTHING}")


def _paths(paths: t.Sequence[str]) -> str:
    return ", ".join(paths) + (" is" if len(paths) == 1 else " are")


def findings(pool: Pool, want: Wanted | None) -> tuple[str, ...]:
    """Return what the person on call should know about a pool, most urgent first."""
    found: list[str] = []
    for array in pool.arrays:
        if array.missing:
            spare = array.redundancy - array.missing
            left = {0: "no further disk may fail"}.get(spare, f"{spare} more may fail")
            found.append(f"Array {array.name} lacks {array.missing} of {array.devices} members: {left}.")
        found.extend(
            f"{member.node or 'A disk that is gone'} failed in array {array.name}."
            for member in array.members
            if member.faulty
        )
    found.extend(f"Declared disk {path} is not there." for path in pool.absent)
    if pool.group is not None and pool.group.missing:
        found.append(f"Volume group {pool.group.name} lacks {pool.group.missing} physical volumes.")
    for disk in pool.disks:
        if not disk.declared and want is not None and _serves(pool, disk):
            found.append(f"{disk.node} is a member of the pool and not declared.")
        if disk.declared and _only_outdated(pool, disk):
            found.append(
                f"{disk.display} holds an outdated copy that the arrays went on without; take it out of 'disks', "
                "or name it in 'wipe' to use it anew."
            )
    if want is not None:
        names = {disk.node: disk.display for disk in pool.disks}
        found.extend(
            f"{names[node]} has {human(room)} that wait for a partner of the same size."
            for node, room in waiting_room(pool, want).items()
        )
    return tuple(found)


def _only_outdated(pool: Pool, disk: Disk) -> bool:
    return not _serves(pool, disk) and any(stray_on(array, disk) for array in pool.arrays)
