"""The file that keeps the beginning of an array: written whole, read whole or not at all, put back to its members."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.critical import kept_path, rows_at_risk
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats import kept
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats.superblock import (
    OFFSET,
    Found,
    parse,
    reverted,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import MIB, Array, Partition
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.disks import Piece
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.kept import (
    can_be_put_back,
    observe_refuge,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.sysfs import Use

from .test_superblock import superblock

CHUNK = 64 * 1024
#: The superblocks are of 20 seconds later.
HELD = 1_700_000_000 - 20
LENGTH = rows_at_risk(2, 3) * CHUNK


def kept_file(**facts: object) -> bytes:
    data = b"".join(bytes([number]) * LENGTH for number in range(3))
    members = tuple(kept.KeptMember(f"member {number}", 4 * MIB) for number in range(3))
    header = kept.Kept("array", 3, 4, LENGTH, members, hashlib.sha256(data).hexdigest(), HELD)
    return kept.header(replace(header, **facts)) + data  # type: ignore[arg-type]  # fields of Kept


def test_what_was_written_is_read() -> None:
    found = kept.read(io.BytesIO(kept_file()))
    assert found is not None
    assert (found.array_uuid, found.old_devices, found.new_devices, found.length) == ("array", 3, 4, LENGTH)
    assert found.time == HELD
    assert found.place("member 2") == kept.HEADER + 2 * LENGTH
    assert found.place("member 7") is None
    assert found.size == len(kept_file())


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        kept_file()[: kept.HEADER - 1],
        kept_file()[:-1],
        kept_file() + b"x",
        kept_file()[:-1] + b"x",
        b"x" + kept_file()[1:],
        kept_file().replace(b'"format": 1', b'"format": 2'),
    ],
    ids=["empty", "cut in the header", "cut", "longer", "changed", "no header", "another format"],
)
def test_a_file_that_is_not_whole_keeps_nothing(damaged: bytes) -> None:
    assert kept.read(io.BytesIO(damaged)) is None


def test_too_many_members_are_told_of() -> None:
    members = tuple(kept.KeptMember("x" * 35, MIB) for _number in range(400))
    with pytest.raises(ValueError, match="400 members"):
        kept.header(kept.Kept("array", 400, 401, 1, members, ""))


def test_a_superblock_is_taken_back_to_before_its_reshape() -> None:
    block = superblock(features=1 | 4, delta=1, devices=4, roles=(0, 1, 2, 3))
    found = parse(block, OFFSET)
    assert found is not None
    assert (found.reshape_position, found.previous_devices) == (4096 * 512, 3)
    assert reverted(block) == superblock(features=1, devices=3, roles=(0, 1, 2, 3))
    assert reverted(reverted(block)) == reverted(block)


class Members:
    """Three old members and a new one of an array that is not started, and the file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.host = Host(str(root))
        self.pieces = [self._piece(slot) for slot in range(4)]
        self.path = root / kept_path("data-0")[1:]
        self.path.parent.mkdir(parents=True)
        self.keep()

    def _piece(self, slot: int) -> Piece:
        block = superblock(number=slot, roles=(0, 1, 2, 3), features=1 | 4, delta=1, devices=4)
        found = parse(block, OFFSET)
        assert found is not None
        block_of = replace(found.superblock, device_uuid=f"member {slot}", array_uuid="array")
        found = replace(found, superblock=block_of, reshape_position=0)
        disk = f"/dev/sd{'abcd'[slot]}"
        return Piece(disk, Partition(1, MIB, 101 * MIB, "data-0", "", f"{disk}1"), found)

    def keep(self, **facts: object) -> None:
        self.path.write_bytes(kept_file(**facts))

    def change(self, **facts: object) -> None:
        found: Found = replace(self.pieces[0].found, **facts)  # type: ignore[arg-type]  # fields of Found
        self.pieces[0] = replace(self.pieces[0], found=found)

    @property
    def restorable(self) -> bool:
        return can_be_put_back(self.host, "data-0", self.pieces)


@pytest.fixture
def members(tmp_path: Path) -> Members:
    return Members(tmp_path)


@pytest.mark.parametrize("position", [0, CHUNK * 3, CHUNK * 12])
def test_a_beginning_is_put_back_wherever_the_reshape_was_recorded_on_its_way(members: Members, position: int) -> None:
    members.change(reshape_position=position)
    assert members.restorable


def test_an_old_member_that_is_missing_is_no_hindrance(members: Members) -> None:
    del members.pieces[1]
    assert members.restorable


@pytest.mark.parametrize(
    "facts",
    [
        {"reshape_position": CHUNK * 12 + 512},
        {"moves_data": True},
        {"previous_devices": 4},
        {"version": "1.1"},
    ],
)
def test_a_reshape_that_md_takes_up_is_left_to_it(members: Members, facts: dict[str, object]) -> None:
    members.change(**facts)
    assert not members.restorable


@pytest.mark.parametrize(
    "facts",
    [
        {"array_uuid": "another"},
        {"old_devices": 2},
        {"new_devices": 5},
        {"time": HELD - 60},
        {"time": HELD + 60},
        {"sha256": "0" * 64},
        {"members": tuple(kept.KeptMember(f"member {number}", MIB) for number in range(3))},
        {"members": tuple(kept.KeptMember(f"other {number}", 4 * MIB) for number in range(3))},
    ],
)
def test_a_file_of_something_else_is_never_put_back(members: Members, facts: dict[str, object]) -> None:
    members.keep(**facts)
    assert not members.restorable


def test_without_a_file_there_is_nothing_to_put_back(members: Members) -> None:
    members.path.unlink()
    assert not members.restorable


class Tree:
    """A host with an array below a volume, and a disk beside it."""

    def __init__(self, root: Path) -> None:
        self.host = Host(str(root))
        (root / "var/lib").mkdir(parents=True)
        (root / "sys/dev/block").mkdir(parents=True)
        for name, number, below in (("md127", "9:127", ""), ("dm-0", "253:0", "md127"), ("vda1", "254:1", "")):
            (root / f"sys/devices/{name}/slaves/{below}").mkdir(parents=True)
            (root / f"sys/dev/block/{number}").symlink_to(f"../../devices/{name}")
            (root / "sys/class/block").mkdir(parents=True, exist_ok=True)
            (root / f"sys/class/block/{name}").symlink_to(f"../../devices/{name}")


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ([Use("254:1", "/", "ext4", "/dev/vda1")], ""),
        ([Use("253:0", "/", "ext4", "/dev/mapper/data-root")], "data-0"),
        ([Use("254:1", "/", "ext4", "/dev/vda1"), Use("253:0", "/var", "ext4", "/dev/mapper/data-var")], "data-0"),
        ([Use("254:1", "/", "ext4", "/dev/vda1"), Use("253:0", "/va", "ext4", "/dev/mapper/data-va")], ""),
        ([Use("253:0", "/var", "ext4", "/dev/mapper/data-var"), Use("254:1", "/var", "ext4", "/dev/vda1")], ""),
    ],
)
def test_a_directory_on_the_pool_itself_is_noticed(tmp_path: Path, uses: list[Use], expected: str) -> None:
    tree = Tree(tmp_path)
    array = Array(0, "data-0", "/dev/md127", "", 5, 3, CHUNK, MIB, MIB, ())
    refuge = observe_refuge(tree.host, [array], uses)
    assert refuge.array == expected
    assert refuge.free > 0
