# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Module files: what modinfo(8) reads from them, without starting it. Pure."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import struct
import zlib

from ..model import File

#: linux/scripts/sign-file.c
_SIGNATURE = b"~Module signature appended~\n"
_XZ, _GZIP = b"\xfd7zXZ\x00", b"\x1f\x8b"


def file_of(path: str, content: bytes) -> File:
    """Return what a module's file tells of itself; of a damaged one, or one in zstd, only the digest is known."""
    digest = hashlib.sha256(content).hexdigest()
    try:
        plain = plain_of(content)
    except (OSError, EOFError, lzma.LZMAError, zlib.error):
        return File(path, digest)
    tags = modinfo_of(plain)
    return File(
        path,
        digest,
        tags.get("version", ""),
        tags.get("srcversion", ""),
        tags.get("vermagic", ""),
        plain.endswith(_SIGNATURE),
    )


def plain_of(content: bytes) -> bytes:
    """Return the content without its compression."""
    if content.startswith(_XZ):
        return lzma.decompress(content)
    if content.startswith(_GZIP):
        return gzip.decompress(content)
    return content


def modinfo_of(elf: bytes) -> dict[str, str]:
    """Return the tags in the section ``.modinfo`` (elf(5)); empty when there is none, or no ELF."""
    if elf[:4] != b"\x7fELF" or len(elf) < 64 or elf[4] not in (1, 2):
        return {}
    try:
        return _tags(elf)
    except (struct.error, IndexError):
        return {}


def _tags(elf: bytes) -> dict[str, str]:
    order = "<" if elf[5] == 1 else ">"
    wide = elf[4] == 2
    table, size, count, names = (
        (struct.unpack_from(order + "Q", elf, 40)[0], *struct.unpack_from(order + "HHH", elf, 58))
        if wide
        else (struct.unpack_from(order + "I", elf, 32)[0], *struct.unpack_from(order + "HHH", elf, 46))
    )
    sections = []
    for number in range(count):
        where = table + number * size
        name = struct.unpack_from(order + "I", elf, where)[0]
        offset, length = struct.unpack_from(order + ("QQ" if wide else "II"), elf, where + (24 if wide else 16))
        sections.append((name, offset, length))
    strings = sections[names][1]
    for name, offset, length in sections:
        start = strings + name
        if elf[start : elf.index(b"\0", start)] == b".modinfo":
            return _pairs(elf[offset : offset + length])
    return {}


def _pairs(section: bytes) -> dict[str, str]:
    tags: dict[str, str] = {}
    for entry in section.split(b"\0"):
        key, equals, value = entry.partition(b"=")
        if equals:
            tags.setdefault(key.decode("ascii", "replace"), value.decode("utf-8", "replace"))
    return tags
