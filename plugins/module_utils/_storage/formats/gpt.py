# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The GUID partition table as it is on a disk (UEFI 2.10, section 5.3)."""

from __future__ import annotations

import struct
import typing as t
import zlib
from dataclasses import dataclass

#: Reads bytes of a disk: offset and length in bytes, both multiples of the logical sector size.
Reader = t.Callable[[int, int], bytes]

#: What a reader is asked for first: it holds the table of a disk with 512 as well as with 4096 byte sectors.
HEAD_BYTES = 24 * 1024

_SIGNATURE = b"EFI PART"
# Signature, revision, header size, CRC, reserved, own LBA, other LBA, first and last usable LBA, disk GUID,
# LBA of the entries, their number, their size, their CRC (table 5.5).
_HEADER = struct.Struct("<8sIIIIQQQQ16sQIII")
# Type GUID, unique GUID, first and last LBA, attributes, name in UTF-16 (table 5.6).
_ENTRY = struct.Struct("<16s16sQQQ72s")
_MBR_SLOT = struct.Struct("<B3sB3sII")
_PROTECTIVE = 0xEE
# More is no table but damage; the specification sets no limit.
_MOST_ENTRIES = 4096
_UNUSED = bytes(16)


@dataclass(frozen=True)
class Entry:
    """One partition. Sizes and offsets in bytes; GUIDs in lower case with hyphens."""

    number: int
    start: int
    size: int
    label: str
    type_guid: str
    guid: str


@dataclass(frozen=True)
class Table:
    """A table whose header and entries pass their checksums. Sizes and offsets in bytes."""

    entries: tuple[Entry, ...]
    guid: str
    first_usable: int
    usable_end: int  #: first byte after the last that the table lets partitions use
    backup_at: int  #: where this table says that the other header is
    primary_damaged: bool = False  #: read from the backup header, the one in front is missing or broken
    has_protective_mbr: bool = True  #: without it neither the kernel nor libblkid look at the table
    hybrid: bool = False  #: the MBR also lists partitions of its own


@dataclass(frozen=True)
class MasterBootRecord:
    """What the first sector says: the types of its primary partitions that are not empty."""

    types: tuple[int, ...]

    @property
    def protective(self) -> bool:
        """Whether it only tells old tools to keep off."""
        return _PROTECTIVE in self.types


def format_guid(raw: bytes) -> str:
    """Return 16 bytes as a GUID: the first three fields are little-endian (UEFI 2.10, appendix A)."""
    first, second, third = struct.unpack_from("<IHH", raw)
    return f"{first:08x}-{second:04x}-{third:04x}-{raw[8:10].hex()}-{raw[10:16].hex()}"


def parse_mbr(sector: bytes) -> MasterBootRecord | None:
    """Return what the first 512 bytes of a disk say, or None when they are no MBR.

    A FAT or NTFS boot sector carries the same two last bytes; its slots are program text, whose first byte is
    hardly ever 0 or 0x80 four times over.
    """
    if len(sector) < 512 or sector[510:512] != b"\x55\xaa":
        return None
    slots = [_MBR_SLOT.unpack_from(sector, 446 + 16 * index) for index in range(4)]
    if any(slot[0] not in (0, 0x80) for slot in slots):
        return None
    types = tuple(slot[2] for slot in slots if slot[2] and slot[5])
    return MasterBootRecord(types)


def _entries(raw: bytes, count: int, size: int, sector: int) -> tuple[Entry, ...]:
    found = []
    for index in range(count):
        kind, guid, first, last, _attributes, name = _ENTRY.unpack_from(raw, index * size)
        if kind == _UNUSED:
            continue
        label = name.decode("utf-16-le", "replace").split("\0", 1)[0]
        found.append(
            Entry(
                number=index + 1,
                start=first * sector,
                size=max(0, last - first + 1) * sector,
                label=label,
                type_guid=format_guid(kind),
                guid=format_guid(guid),
            )
        )
    return tuple(found)


def _table_at(read: Reader, lba: int, size: int, sector: int) -> Table | None:
    if lba < 1 or (lba + 1) * sector > size:
        return None
    block = read(lba * sector, sector)
    if len(block) < _HEADER.size or block[:8] != _SIGNATURE:
        return None
    fields = _HEADER.unpack_from(block)
    (
        _signature,
        _revision,
        header_size,
        crc,
        _reserved,
        own,
        other,
        first,
        last,
        guid,
        entries_at,
        count,
        entry_size,
        entries_crc,
    ) = fields
    if not _HEADER.size <= header_size <= sector or own != lba:
        return None
    if zlib.crc32(block[:16] + bytes(4) + block[20:header_size]) != crc:
        return None
    if entry_size < _ENTRY.size or entry_size % 8 or not 0 < count <= _MOST_ENTRIES:
        return None
    length = count * entry_size
    rounded = (length + sector - 1) // sector * sector
    if entries_at * sector + rounded > size:
        return None
    raw = read(entries_at * sector, rounded)[:length]
    if len(raw) < length or zlib.crc32(raw) != entries_crc:
        return None
    return Table(
        entries=_entries(raw, count, entry_size, sector),
        guid=format_guid(guid),
        first_usable=first * sector,
        usable_end=(last + 1) * sector,
        backup_at=other * sector,
    )


def read_table(read: Reader, size: int, sector: int) -> Table | None:
    """Return the GPT of a disk of ``size`` bytes with ``sector`` bytes per logical sector; None without one.

    The header in LBA 1 counts when it passes its checksums; else the one in the last sector, with
    ``primary_damaged`` set. What ``read`` raises passes through.
    """
    mbr = parse_mbr(read(0, max(sector, 512))[:512])
    primary = _table_at(read, 1, size, sector)
    table = primary or _table_at(read, size // sector - 1, size, sector)
    if table is None:
        return None
    return Table(
        entries=table.entries,
        guid=table.guid,
        first_usable=table.first_usable,
        usable_end=table.usable_end,
        backup_at=table.backup_at,
        primary_damaged=primary is None,
        has_protective_mbr=mbr is not None and mbr.protective,
        hybrid=mbr is not None and any(kind != _PROTECTIVE for kind in mbr.types),
    )
