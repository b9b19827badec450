"""GUID partition tables: what sgdisk writes, what damage does, and sectors of 4096 bytes."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats.gpt import (
    Table,
    format_guid,
    parse_mbr,
    read_table,
)

from .host_capture import lay_out

MIB = 1024 * 1024
LINUX_RAID_ON_DISK = bytes.fromhex("0f889da1fc053b4da006743f0f84911e")


def header(sector: int, own: int, other: int, last: int, entries_at: int, entries: bytes, count: int) -> bytes:
    fields = [b"EFI PART", 0x10000, 92, 0, 0, own, other, 34, last, b"d" * 16, entries_at, count, 128]
    raw = struct.pack("<8sIIIIQQQQ16sQII", *fields) + struct.pack("<I", zlib.crc32(entries))
    checked = raw[:16] + struct.pack("<I", zlib.crc32(raw)) + raw[20:]
    return checked.ljust(sector, b"\0")


def entry(first: int, last: int, label: str) -> bytes:
    return struct.pack("<16s16sQQQ72s", LINUX_RAID_ON_DISK, b"u" * 16, first, last, 0, label.encode("utf-16-le"))


def disk(sector: int, sectors: int, entries: list[bytes], protective: bool = True) -> bytearray:
    count = 128
    table = b"".join(entries).ljust(count * 128, b"\0")
    length = len(table) // sector
    image = bytearray(sector * sectors)
    if protective:
        image[446:462] = struct.pack("<B3sB3sII", 0, b"\0\2\0", 0xEE, b"\xff" * 3, 1, sectors - 1)
        image[510:512] = b"\x55\xaa"
    last = sectors - length - 2
    image[sector : 2 * sector] = header(sector, 1, sectors - 1, last, 2, table, count)
    image[2 * sector : 2 * sector + len(table)] = table
    backup = sectors - 1 - length
    image[backup * sector : backup * sector + len(table)] = table
    image[(sectors - 1) * sector :] = header(sector, sectors - 1, 1, last, backup, table, count)
    return image


def read(image: bytes | bytearray, sector: int = 512, size: int = 0) -> Table | None:
    def reader(offset: int, length: int) -> bytes:
        assert offset % sector == 0
        assert length % sector == 0
        return bytes(image[offset : offset + length])

    return read_table(reader, size or len(image), sector)


@pytest.mark.parametrize(("sector", "sectors"), [(512, 16384), (4096, 2048)])
def test_partitions_come_in_bytes_whatever_the_sector(sector: int, sectors: int) -> None:
    first = MIB // sector
    table = read(disk(sector, sectors, [entry(first, first * 2 - 1, "data-0")]), sector)

    assert table is not None
    (only,) = table.entries
    assert (only.number, only.start, only.size, only.label) == (1, MIB, MIB, "data-0")
    assert only.type_guid == "a19d880f-05fc-4d3b-a006-743f0f84911e"
    assert table.backup_at == sector * (sectors - 1)
    assert table.usable_end == sector * sectors - 128 * 128 - sector
    assert table.has_protective_mbr
    assert not table.primary_damaged


@pytest.mark.parametrize("release", ["trixie", "bookworm"])
def test_what_sgdisk_wrote_is_read(release: str, tmp_path: Path) -> None:
    host, _runner = lay_out(f"{release}-whole", tmp_path)
    with open(host.at("/dev/vdb"), "rb") as file:
        image = file.read()

    table = read(image)

    assert table is not None
    assert [(part.number, part.start, part.size, part.label) for part in table.entries] == [
        (1, MIB, 206814 * 512 - MIB + 512, "data-0")
    ]
    assert table.usable_end == 206815 * 512
    assert table.backup_at == len(image) - 512
    assert table.has_protective_mbr


def test_the_backup_serves_when_the_primary_is_damaged() -> None:
    image = disk(512, 16384, [entry(2048, 4095, "data-0")])
    image[512 + 60] ^= 1

    table = read(image)

    assert table is not None
    assert table.primary_damaged
    assert [part.label for part in table.entries] == ["data-0"]


def test_damaged_entries_count_as_damage() -> None:
    image = disk(512, 16384, [entry(2048, 4095, "data-0")])
    image[1024 + 56] ^= 1

    table = read(image)

    assert table is not None
    assert table.primary_damaged
    assert table.entries[0].label == "data-0"


def test_two_damaged_headers_are_no_table() -> None:
    image = disk(512, 16384, [entry(2048, 4095, "data-0")])
    image[512] ^= 1
    image[-512] ^= 1

    assert read(image) is None


def test_a_disk_that_grew_keeps_its_old_end() -> None:
    image = disk(512, 16384, [entry(2048, 4095, "data-0")]) + bytearray(MIB)

    table = read(image)

    assert table is not None
    assert not table.primary_damaged
    assert table.usable_end == (16384 - 33) * 512
    assert table.backup_at == 16383 * 512


def test_a_blank_disk_has_no_table() -> None:
    assert read(bytes(MIB)) is None


def test_a_table_without_a_protective_mbr_says_so() -> None:
    table = read(disk(512, 16384, [], protective=False))

    assert table is not None
    assert not table.has_protective_mbr


def test_partitions_in_the_mbr_beside_the_table_are_noticed() -> None:
    image = disk(512, 16384, [])
    image[462:478] = struct.pack("<B3sB3sII", 0x80, b"\0" * 3, 0x83, b"\0" * 3, 2048, 1000)

    table = read(image)

    assert table is not None
    assert table.hybrid


def test_an_mbr_lists_its_types_and_a_fat_boot_sector_is_none() -> None:
    sector = bytearray(512)
    sector[510:] = b"\x55\xaa"
    sector[446:462] = struct.pack("<B3sB3sII", 0x80, b"\0" * 3, 0x07, b"\0" * 3, 2048, 1000)
    mbr = parse_mbr(bytes(sector))
    assert mbr is not None
    assert mbr.types == (0x07,)

    sector[446:510] = b"No operating system, press any key to try again".ljust(64)
    assert parse_mbr(bytes(sector)) is None


def test_a_guid_is_printed_with_its_first_fields_turned_round() -> None:
    assert format_guid(LINUX_RAID_ON_DISK) == "a19d880f-05fc-4d3b-a006-743f0f84911e"


@given(st.integers(0, 34 * 512 - 1), st.integers(1, 255))
def test_no_damaged_byte_is_ever_believed(position: int, change: int) -> None:
    """Whatever byte of the table in front changes, what is read is what was written."""
    image = disk(512, 4096, [entry(2048, 3071, "data-0"), entry(3072, 4000, "data-1")])
    whole = read(image)
    assert whole is not None
    image[position] ^= change

    table = read(image)

    assert table is not None
    assert table.entries == whole.entries
    assert table.usable_end == whole.usable_end
