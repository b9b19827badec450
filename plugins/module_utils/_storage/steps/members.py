# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Steps on the members of md arrays: drop, add, replace."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..._converge.plan import Argv
from ..model import Activity, Array, Member, Pool
from .arrays import disks_of, recovering, with_array
from .disks import PoolStep


@dataclass(frozen=True)
class DropMembers(PoolStep):
    """Remove members that the array has given up on: failed ones, and ones whose device is gone."""

    array: str
    node: str
    partitions: tuple[str, ...]  #: failed members whose device is there
    detached: bool  #: also those whose device is gone
    reason: str

    @property
    def title(self) -> str:
        what = list(self.partitions) + (["what is gone"] if self.detached else [])
        return f"Remove {', '.join(what)} from array {self.array}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        words = list(self.partitions) + (["detached"] if self.detached else [])
        return (("mdadm", "--manage", self.node, "--remove", *words),)

    def after(self, pool: Pool) -> Pool:
        def dropped(array: Array) -> Array:
            kept = tuple(m for m in array.members if not (m.node in self.partitions or (self.detached and not m.node)))
            return replace(array, members=kept, strays=array.strays + self.partitions)

        return with_array(pool, self.array, dropped)


@dataclass(frozen=True)
class AddMembers(PoolStep):
    """Add partitions to an array that lacks members; a returning one catches up by the bitmap."""

    array: str
    node: str
    partitions: tuple[str, ...]
    returning: bool
    reason: str

    @property
    def title(self) -> str:
        verb = "Take back" if self.returning else "Add"
        return f"{verb} {', '.join(self.partitions)} {'into' if self.returning else 'to'} array {self.array}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("mdadm", "--manage", self.node, "--add", *self.partitions),)

    def after(self, pool: Pool) -> Pool:
        disks = disks_of(pool, self.partitions)
        added = tuple(Member(node, disks[node], slot=None, in_sync=False) for node in self.partitions)

        def grown(array: Array) -> Array:
            strays = tuple(node for node in array.strays if node not in self.partitions)
            return recovering(replace(array, members=array.members + added, strays=strays))

        return with_array(pool, self.array, grown)


@dataclass(frozen=True)
class ReplaceMember(PoolStep):
    """Copy a member to a spare while it stays in service (md(4), hot replacement)."""

    array: str
    node: str
    old: str
    new: str
    add: bool  #: the new partition is not in the array yet
    reason: str

    @property
    def title(self) -> str:
        return f"Replace {self.old} by {self.new} in array {self.array}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        start: Argv = ("mdadm", "--manage", self.node, "--replace", self.old, "--with", self.new)
        return ((("mdadm", "--manage", self.node, "--add", self.new), start)) if self.add else (start,)

    def after(self, pool: Pool) -> Pool:
        disk = disks_of(pool, (self.new,))[self.new]

        def replacing(array: Array) -> Array:
            old = next(member for member in array.members if member.node == self.old)
            new = Member(self.new, disk, slot=old.slot, in_sync=False, replacement=True)
            others = tuple(member for member in array.members if member.node not in (self.old, self.new))
            return replace(
                array,
                members=(*others, replace(old, want_replacement=True), new),
                activity=Activity("recover", total=array.component_size),
                auto_read_only=False,
            )

        return with_array(pool, self.array, replacing)


@dataclass(frozen=True)
class CancelReplacement(PoolStep):
    """Take back a wish for replacement that nobody declared, as a failed --replace leaves it."""

    array: str
    partition: str
    reason: str

    @property
    def title(self) -> str:
        return f"Keep {self.partition} in array {self.array} (write '-want_replacement' to its state)"

    def after(self, pool: Pool) -> Pool:
        def kept(array: Array) -> Array:
            members = tuple(
                replace(member, want_replacement=False) if member.node == self.partition else member
                for member in array.members
            )
            return replace(array, members=members)

        return with_array(pool, self.array, kept)
