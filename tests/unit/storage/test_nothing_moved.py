# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A reshape that was cut off at its very start: told apart by the bytes on the members, never by a guess."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats.superblock import (
    OFFSET,
    Found,
    backup_place,
    parse,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import MIB, Partition
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.arrays import nothing_moved
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.disks import Piece
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.host import Host

from .test_superblock import backup, superblock

START = MIB
SIZE = 101 * MIB
CHUNK = 64 * 1024


def chunk(seed: int) -> bytes:
    return bytes((seed * 37 + position * 11) % 256 for position in range(CHUNK))


def added(*chunks: bytes) -> bytes:
    total = 0
    for each in chunks:
        total ^= int.from_bytes(each, "little")
    return total.to_bytes(CHUNK, "little")


class Members:
    """Three old members of a raid5, and one that the reshape adds, as files."""

    def __init__(self, root: Path, level: int = 5, old: int = 3) -> None:
        self.root = root
        self.host = Host(str(root))
        (root / "dev").mkdir()
        self.pieces = [self._piece(slot, level, old) for slot in range(old + 1)]

    def _piece(self, slot: int, level: int, old: int) -> Piece:
        roles = tuple(range(old + 1))
        block = superblock(number=slot, roles=roles, features=1 | 4, delta=1, devices=old + 1)
        found = parse(block, OFFSET)
        assert found is not None
        found = replace(found, superblock=replace(found.superblock, level=level), reshape_position=0)
        disk = f"/dev/sd{'abcdef'[slot]}"
        with (self.root / disk[1:]).open("wb") as file:
            file.truncate(START + SIZE)
        return Piece(disk, Partition(1, START, SIZE, "data-0", "", f"{disk}1"), found)

    def write(self, slot: int, offset: int, data: bytes) -> None:
        with (self.root / self.pieces[slot].disk[1:]).open("r+b") as file:
            file.seek(START + offset)
            file.write(data)

    def first_row(self, *chunks: bytes) -> None:
        for slot, data in enumerate(chunks):
            self.write(slot, self.pieces[slot].found.superblock.data_offset, data)

    def change(self, slot: int, **facts: object) -> None:
        found: Found = replace(self.pieces[slot].found, **facts)  # type: ignore[arg-type]  # fields of Found
        self.pieces[slot] = replace(self.pieces[slot], found=found)

    @property
    def nothing_moved(self) -> bool:
        return nothing_moved(self.host, self.pieces)


@pytest.fixture
def members(tmp_path: Path) -> Members:
    found = Members(tmp_path)
    found.first_row(chunk(1), chunk(2), added(chunk(1), chunk(2)))
    return found


def test_a_first_row_with_its_old_parity_was_not_moved(members: Members) -> None:
    assert members.nothing_moved


def test_a_first_row_that_the_reshape_has_written_is_noticed(members: Members) -> None:
    # In four members the third holds data where it had the parity among three.
    members.first_row(chunk(1), chunk(2), chunk(3), added(chunk(1), chunk(2), chunk(3)))
    assert not members.nothing_moved


def test_an_empty_first_row_proves_nothing(tmp_path: Path) -> None:
    assert not Members(tmp_path).nothing_moved


def test_a_backup_on_the_new_member_is_for_mdadm_to_put_back(members: Members) -> None:
    members.write(3, backup_place(members.pieces[3].found), backup())
    assert not members.nothing_moved


@pytest.mark.parametrize("facts", [{"reshape_position": 4096}, {"moves_data": True}, {"previous_devices": 5}])
def test_what_the_kernel_takes_up_itself_is_left_to_it(members: Members, facts: dict[str, object]) -> None:
    members.change(0, **facts)
    assert not members.nothing_moved


@pytest.mark.parametrize("slot", [1, 3])
def test_without_every_member_nobody_can_tell(members: Members, slot: int) -> None:
    del members.pieces[slot]
    assert not members.nothing_moved


def test_a_member_that_cannot_be_read_is_no_proof(members: Members) -> None:
    (members.root / "dev/sdb").unlink()
    assert not members.nothing_moved


def test_the_second_parity_of_raid6_is_left_out(tmp_path: Path) -> None:
    members = Members(tmp_path, level=6, old=4)
    members.first_row(chunk(9), chunk(1), chunk(2), added(chunk(1), chunk(2)))
    assert members.nothing_moved
