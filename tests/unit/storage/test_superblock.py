"""md superblocks: what mdadm and the kernel wrote, where each version lies, and what damage does."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats.superblock import (
    BACKUP_LENGTH,
    LENGTH,
    OFFSET,
    Found,
    backup_place,
    find,
    format_uuid,
    holds_backup,
    normal_uuid,
    parse,
)

from .host_capture import lay_out

KIB = 1024
MIB = 1024 * KIB
ARRAY = bytes(range(16))


def checksum(block: bytes, devices: int) -> int:
    length = 256 + 2 * devices
    words = struct.unpack(f"<{length // 4}I", block[: length // 4 * 4])
    total = sum(words) + (struct.unpack("<H", block[length - 2 : length])[0] if length % 4 else 0)
    folded: int = (total & 0xFFFFFFFF) + (total >> 32)
    return folded & 0xFFFFFFFF


def superblock(
    at: int = OFFSET,
    name: str = "any:data-0",
    number: int = 1,
    roles: tuple[int, ...] = (0, 1, 2),
    features: int = 1,
    delta: int = 0,
    devices: int = 3,
) -> bytes:
    """A version 1 superblock of a raid5 with 64 KiB chunks and 96 MiB on each member."""
    block = bytearray(LENGTH)
    struct.pack_into("<4sII", block, 0, b"\xfc\x4e\x2b\xa9", 1, features)
    block[16:32] = ARRAY
    block[32:64] = name.encode().ljust(32, b"\0")
    struct.pack_into("<QiIQII", block, 64, 0, 5, 2, 96 * MIB // 512, 128, devices)
    struct.pack_into("<Qi", block, 104, 4096 if features & 4 else 0, delta)
    struct.pack_into("<QQQ", block, 128, 8192, 96 * MIB // 512, at // 512)
    struct.pack_into("<I", block, 160, number)
    block[168:184] = b"\xaa" * 16
    struct.pack_into("<QQ", block, 192, 1_700_000_000, 42)
    struct.pack_into("<I", block, 220, len(roles))
    struct.pack_into(f"<{len(roles)}H", block, 256, *roles)
    struct.pack_into("<I", block, 216, checksum(bytes(block), len(roles)))
    return bytes(block)


def parsed(block: bytes, at: int = OFFSET) -> Found:
    found = parse(block, at)
    assert found is not None
    return found


@pytest.mark.parametrize("release", ["trixie", "bookworm"])
def test_what_mdadm_wrote_is_read(release: str, tmp_path: Path) -> None:
    host, _runner = lay_out(f"{release}-whole", tmp_path)
    with open(host.at("/dev/vdc1"), "rb") as file:
        file.seek(OFFSET)
        found = parsed(file.read(LENGTH))

    block = found.superblock
    assert found.valid
    assert (block.home_host, block.name) == ("any", "data-0")
    assert (block.level, block.devices, block.role, block.faulty) == (5, 4, 1, False)
    assert (block.data_offset, block.component_size, block.chunk) == (4 * MIB, 94 * MIB, 512 * KIB)
    assert block.has_bitmap
    assert not block.has_bad_blocks
    assert not block.reshaping
    assert found.roles[:3] == (0, 1, 2)


def test_a_reshape_under_way_tells_both_numbers_of_devices(tmp_path: Path) -> None:
    host, _runner = lay_out("trixie-hidden", tmp_path)
    with open(host.at("/dev/vdb1"), "rb") as file:
        file.seek(OFFSET)
        found = parsed(file.read(LENGTH))

    assert found.valid
    assert found.superblock.reshaping
    assert (found.superblock.devices, found.previous_devices) == (5, 4)


def test_a_member_that_failed_is_disowned_by_the_others(tmp_path: Path) -> None:
    host, _runner = lay_out("trixie-stray", tmp_path)

    def read(node: str) -> Found:
        with open(host.at(node), "rb") as file:
            file.seek(OFFSET)
            return parsed(file.read(LENGTH))

    outdated, current = read("/dev/vde1"), read("/dev/vdb1")

    assert outdated.superblock.role == 3
    assert outdated.superblock.events < current.superblock.events
    assert current.disowns(outdated)
    assert not current.disowns(read("/dev/vdc1"))


@pytest.mark.parametrize(
    ("role", "expected", "faulty"), [(0, 0, False), (0xFFFF, None, False), (0xFFFE, None, True), (0xFFFD, None, False)]
)
def test_roles(role: int, expected: int | None, faulty: bool) -> None:
    found = parsed(superblock(number=2, roles=(0, 1, role)))

    assert (found.superblock.role, found.superblock.faulty) == (expected, faulty)


def test_a_number_beyond_the_roles_is_a_spare() -> None:
    assert parsed(superblock(number=7)).superblock.role is None


@pytest.mark.parametrize(
    ("name", "home", "rest"), [("any:data-0", "any", "data-0"), ("data-0", "", "data-0"), ("h:a:b", "h", "a:b")]
)
def test_the_home_host_stands_before_the_first_colon(name: str, home: str, rest: str) -> None:
    found = parsed(superblock(name=name)).superblock

    assert (found.home_host, found.name) == (home, rest)


@pytest.mark.parametrize("features", [1, 2, 4, 8, 16, 512, 1024])
def test_features(features: int) -> None:
    found = parsed(superblock(features=features, delta=1))
    block = found.superblock

    assert [
        block.has_bitmap,
        found.recovering,
        block.reshaping,
        block.has_bad_blocks,
        found.replacement,
        False,
        found.ppl,
    ] == [features == bit for bit in (1, 2, 4, 8, 16, 0, 1024)]
    assert found.previous_devices == (2 if features == 4 else 0)


def test_a_journal_device() -> None:
    assert parsed(superblock(features=512, number=2, roles=(0, 1, 0xFFFD))).journal


@pytest.mark.parametrize("roles", [(0, 1, 2), (0, 1, 2, 3)])
def test_any_changed_byte_breaks_the_checksum(roles: tuple[int, ...]) -> None:
    good = superblock(roles=roles)
    assert parsed(good).valid
    for position in (20, 40, 100, 200, 256, 255 + 2 * len(roles)):
        bad = bytearray(good)
        bad[position] ^= 1
        assert not parsed(bytes(bad)).valid, position


@pytest.mark.parametrize(("version", "at"), [("1.2", 4096), ("1.1", 0), ("1.0", 10 * MIB - 8192)])
def test_each_version_is_found_where_it_lies(version: str, at: int) -> None:
    image = bytearray(10 * MIB)
    image[at : at + LENGTH] = superblock(at)

    found = find(lambda offset, length: bytes(image[offset : offset + length]), len(image))

    assert found is not None
    assert found.version == version


def test_a_superblock_in_the_wrong_place_is_not_this_devices() -> None:
    assert parse(superblock(at=4096), 0) is None


@pytest.mark.parametrize("order", ["<", ">"])
def test_version_0_90_is_recognised_in_either_byte_order(order: str) -> None:
    image = bytearray(10 * MIB)
    at = 10 * MIB - 65536
    words = [0xA92B4EFC, 0, 90, 0, 0, 0x11223344, 0, 1, 1024, 2, 2, 0, 0, 0x55667788, 0x99AABBCC, 0xDDEEFF00]
    struct.pack_into(f"{order}16I", image, at, *words)

    found = find(lambda offset, length: bytes(image[offset : offset + length]), len(image))

    assert found is not None
    assert found.version == "0.90"
    assert found.superblock.array_uuid == "11223344:55667788:99aabbcc:ddeeff00"
    assert (found.superblock.level, found.superblock.devices) == (1, 2)


@given(st.binary(max_size=600))
def test_garbage_behind_the_magic_number_is_no_error(data: bytes) -> None:
    parse(b"\xfc\x4e\x2b\xa9" + data, OFFSET)


@given(st.integers(0, 3 * 65536))
def test_a_device_of_any_size_can_be_looked_at(size: int) -> None:
    assert find(lambda _offset, length: bytes(length), size) is None


def test_uuids_are_printed_as_mdadm_does_and_read_in_any_punctuation() -> None:
    text = "00010203:04050607:08090a0b:0c0d0e0f"

    assert format_uuid(ARRAY) == text
    assert normal_uuid(text.upper()) == text
    assert normal_uuid("00010203-0405-0607-0809-0a0b0c0d0e0f") == text
    assert normal_uuid(text.replace(":", "")) == text
    assert normal_uuid("nonsense") == ""
    assert normal_uuid("") == ""


def backup(uuid: bytes = ARRAY, kind: bytes = b"1", length: int = 8, second: int = 0) -> bytes:
    """What mdadm writes before and behind a backup of a critical section (Grow.c, mdp_backup_super)."""
    head = struct.pack("<16s16sQQQQI4xQQQ", b"md_backup_data-" + kind, uuid, 1, 2, 0, length, 3, 4, 5, second)
    return head.ljust(512, b"\0")


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (backup(), True),
        (backup(kind=b"2", length=0, second=8), True),
        (backup(kind=b"2", length=8), True),
        # mdadm forgets a backup by setting its length to zero; the second one counts from version 2 on.
        (backup(length=0), False),
        (backup(kind=b"1", length=0, second=8), False),
        (backup(uuid=b"\xaa" * 16), False),
        (bytes(512), False),
        (b"", False),
    ],
)
def test_a_backup_that_is_still_needed_is_known(block: bytes, expected: bool) -> None:
    assert holds_backup(block, format_uuid(ARRAY)) == expected


def test_a_backup_is_described_in_the_last_4_kib_of_the_data() -> None:
    found = parse(superblock(), OFFSET)
    assert found is not None
    assert backup_place(found) == 8192 * 512 + 96 * MIB - BACKUP_LENGTH


@pytest.mark.parametrize(("features", "moves"), [(1 | 4, False), (1 | 4 | 64, True)])
def test_a_reshape_tells_how_far_it_is_and_whether_it_moves_the_data(features: int, moves: bool) -> None:
    found = parse(superblock(features=features, delta=1, devices=4, roles=(0, 1, 2, 3)), OFFSET)
    assert found is not None
    assert (found.previous_devices, found.reshape_position, found.moves_data) == (3, 4096 * 512, moves)
