# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Which md arrays are the pool's: from the kernel where it runs them, else from the superblocks of their members."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..critical import kept_path
from ..formats import superblock
from ..model import Array, Member, Superblock, slice_index, slice_name
from .disks import Piece
from .host import Device, Host
from .kept import can_be_put_back, mapped_on
from .sysfs import KernelArray, reshape_has_a_helper, sysfs_name, whole_disk

_LEVELS = (1, 5, 6)


@dataclass(frozen=True)
class Identity:
    """Who an array of the kernel says it is, by the superblock of one of its members."""

    kernel: KernelArray
    uuid: str
    name: str  #: without the home host


@dataclass(frozen=True)
class Claim:
    """One array that calls itself POOL-N."""

    index: int
    uuid: str
    kernel: KernelArray | None = None
    in_group: bool = False  #: the pool's volume group is on it


def identify(host: Host, kernel: KernelArray) -> Identity:
    """Read the superblock of the first member that has one; without any the kernel's own word remains."""
    for each in kernel.members:
        if not each.member.node:
            continue
        size = host.number(f"/sys/class/block/{each.name}/size") * 512
        try:
            with Device(host, each.member.node) as device:
                found = superblock.find(device.read, size)
        except OSError:
            continue
        if found is not None and found.valid:
            return Identity(kernel, found.superblock.array_uuid, found.superblock.name)
    return Identity(kernel, superblock.normal_uuid(kernel.uuid), "")


def claimed_index(host: Host, pool: str, identity: Identity, in_group: bool) -> int | None:
    """Return N when an array of the kernel calls itself POOL-N, else None.

    An array below the pool's volume group may have another name, if the labels of its partitions agree on N.
    """
    index = slice_index(pool, identity.name)
    if index is not None or not in_group:
        return index
    labels: set[str] = set()
    for each in identity.kernel.members:
        if each.member.node:
            uevent = host.text(f"/sys/class/block/{each.name}/uevent")
            labels.update(line[len("PARTNAME=") :] for line in uevent.splitlines() if line.startswith("PARTNAME="))
    return slice_index(pool, labels.pop()) if len(labels) == 1 else None


def choose(claims: t.Sequence[Claim], members: t.Mapping[str, int]) -> dict[int, Claim]:
    """Return for each index the array that has the right to the name, when several claim it.

    The one below the volume group wins, then a running one, then an assembled one, then the one with more
    members on declared disks (``members``: UUID to number), then the smaller UUID, so that every run decides alike.
    """

    def right(claim: Claim) -> tuple[bool, bool, bool, int, list[int]]:
        kernel = claim.kernel
        started = kernel is not None and kernel.started
        # The smaller UUID is the greater right.
        order = [-ord(char) for char in claim.uuid]
        return claim.in_group, started, kernel is not None, members.get(claim.uuid, 0), order

    chosen: dict[int, Claim] = {}
    for claim in claims:
        rival = chosen.get(claim.index)
        if rival is None or right(claim) > right(rival):
            chosen[claim.index] = claim
    return chosen


def build(host: Host, pool: str, claim: Claim, mine: t.Sequence[Piece], sizes: t.Mapping[str, int]) -> Array | None:
    """Return the array of a claim; None when it is of a level that pools do not have.

    ``mine`` are the partitions whose superblock names the array, ``sizes`` all partitions' sizes in bytes by node.
    """
    kernel = claim.kernel
    if kernel is not None and kernel.started:
        array = _running(host, pool, claim, kernel)
    else:
        array = _at_rest(host, pool, claim, kernel, mine)
    if array is None or array.level not in _LEVELS:
        return None
    members = {member.node for member in array.members}
    known = [sizes[node] for node in sorted(members) if node in sizes]
    return replace(
        array,
        kept=host.exists(kept_path(array.name)),
        slice_size=min(known) if known else array.needed_size,
        strays=tuple(sorted(each.partition.node for each in mine if _is_stray(each, members))),
    )


def _is_stray(piece: Piece, members: t.Collection[str]) -> bool:
    """Whether a piece was a member once. A journal is none: it may hold what is written nowhere else."""
    return piece.partition.node not in members and not piece.found.journal


def _running(host: Host, pool: str, claim: Claim, kernel: KernelArray) -> Array | None:
    if kernel.level is None:
        return None
    name = slice_name(pool, claim.index)
    mapped = mapped_on(host, kernel.holders)
    return Array(
        index=claim.index,
        name=name,
        node=kernel.node,
        uuid=claim.uuid,
        level=kernel.level,
        devices=kernel.devices,
        chunk=kernel.chunk,
        component_size=kernel.component_size,
        slice_size=0,
        members=tuple(each.member for each in kernel.members),
        previous_devices=kernel.previous_devices,
        auto_read_only=kernel.read_only,
        bitmap=kernel.bitmap,
        activity=kernel.activity,
        hidden_reshape=kernel.hidden_reshape,
        suspended=kernel.suspended and not reshape_has_a_helper(host, kernel),
        frozen=kernel.action == "frozen" and not reshape_has_a_helper(host, kernel),
        data_offset=max((each.data_offset for each in kernel.members), default=0),
        size_now=kernel.size,
        mapped=tuple(each.name for each in mapped),
        held=tuple(each.name for each in mapped if each.suspended),
        speed_limits=kernel.speed_limits,
    )


def fresh(mine: t.Sequence[Piece]) -> tuple[Piece, ...]:
    """Return the pieces that md would assemble the array from, newest first.

    md insists on event counts that differ by one at most (md.c, super_1_validate), and leaves out what the
    newest superblock disowns.
    """
    if not mine:
        return ()
    # Of equal ones first what tells of a reshape: the others may have been written by a run that put it back.
    ordered = sorted(mine, key=lambda piece: (-piece.found.superblock.events, not piece.found.superblock.reshaping))
    newest = ordered[0].found
    return tuple(
        piece
        for piece in ordered
        if piece.found.superblock.events + 1 >= newest.superblock.events
        and not piece.found.superblock.faulty
        and not newest.disowns(piece.found)
    )


def nothing_moved(host: Host, good: t.Sequence[Piece]) -> bool:
    """Whether a reshape to more members, which needs backups, was cut off before md moved anything.

    Until mdadm has made the first backup md stands at the start of the array, and there the kernel does not take it
    up ("reshape_position too early", drivers/md/raid5.c). Without a backup on the new members it is either that, or
    the backup lies in a file of somebody's. The first row of chunks tells: md moves it before any other, and then
    the old members' chunks do not add up to zero any more.
    """
    newest = good[0].found
    old = newest.previous_devices
    block = newest.superblock
    if not block.reshaping or newest.reshape_position or newest.moves_data or not 0 < old < block.devices:
        return False
    by_slot = {piece.found.superblock.role: piece for piece in good}
    # In row 0 of the layout that mdadm gives to raid6 the second parity is on the first member.
    row = [by_slot.get(slot) for slot in range(1 if block.level == 6 else 0, old)]
    new = [by_slot.get(slot) for slot in range(old, block.devices)]
    if not all(row) or not all(new):
        return False
    try:
        backups = [
            _read(host, each, superblock.backup_place(each.found), superblock.BACKUP_LENGTH) for each in new if each
        ]
        chunks = [_read(host, each, each.found.superblock.data_offset, block.chunk) for each in row if each]
    except OSError:
        return False
    if any(superblock.holds_backup(backup, block.array_uuid) for backup in backups):
        return False
    total = 0
    for chunk in chunks:
        total ^= int.from_bytes(chunk, "little")
    return not total and any(map(any, chunks))


def _read(host: Host, piece: Piece, offset: int, length: int) -> bytes:
    with Device(host, piece.disk) as device:
        return device.read(piece.partition.start + offset, length)


def _at_rest(host: Host, pool: str, claim: Claim, kernel: KernelArray | None, mine: t.Sequence[Piece]) -> Array | None:
    good = fresh(mine)
    if not good:
        return None
    newest: Superblock = good[0].found.superblock
    bound = {each.member.node for each in kernel.members} if kernel is not None else set()
    name = slice_name(pool, claim.index)
    return Array(
        index=claim.index,
        name=name,
        node=kernel.node if kernel is not None else f"/dev/md/{name}",
        uuid=claim.uuid,
        level=newest.level,
        devices=newest.devices,
        chunk=newest.chunk,
        component_size=newest.component_size,
        slice_size=0,
        members=_members_at_rest(good),
        previous_devices=good[0].found.previous_devices,
        active=False,
        assembled=kernel is not None,
        scattered=bool(bound) and any(piece.partition.node not in bound for piece in good),
        bitmap=newest.has_bitmap,
        hidden_reshape=newest.reshaping,
        reshape_unbegun=nothing_moved(host, good),
        restorable=can_be_put_back(host, name, good),
        data_offset=max(piece.found.superblock.data_offset for piece in good),
    )


def _members_at_rest(good: t.Sequence[Piece]) -> tuple[Member, ...]:
    members = [
        Member(
            node=piece.partition.node,
            disk=piece.disk,
            slot=piece.found.superblock.role,
            in_sync=piece.found.superblock.role is not None and not piece.found.recovering,
            replacement=piece.found.replacement,
        )
        for piece in good
        if not piece.found.journal
    ]
    return tuple(sorted(members, key=lambda member: (member.slot is None, member.slot or 0, member.node)))


def disks_of(host: Host, kernel: KernelArray) -> set[str]:
    """Return the names (as in /sys/block) of the disks under an array."""
    return {whole_disk(host, sysfs_name(each.member.node)) for each in kernel.members if each.member.node}
