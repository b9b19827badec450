# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The file that keeps the beginning of an array while md moves it: a header, then so many bytes of each member.

The bytes are those of the members, with their parity, not those of the array. They can be put back while nobody can
start the array, and where a member is missing.
"""

from __future__ import annotations

import hashlib
import json
import typing as t
from dataclasses import dataclass

#: Bytes before those of the first member.
HEADER = 16 * 1024
_FORMAT = 1


@dataclass(frozen=True)
class KeptMember:
    """A member whose beginning is kept."""

    device_uuid: str  #: as in its superblock
    data_offset: int  #: where its data begin, in bytes


@dataclass(frozen=True)
class Kept:
    """What the header tells."""

    array_uuid: str
    old_devices: int
    new_devices: int
    length: int  #: bytes of each member, from the start of its data
    members: tuple[KeptMember, ...]  #: in the order of the file
    sha256: str  #: of everything behind the header
    time: int = 0  #: when nobody could write to the array any more, in seconds since 1970

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return HEADER + self.length * len(self.members)

    def place(self, device_uuid: str) -> int | None:
        """Return where in the file a member's bytes begin; None when it is not there."""
        for number, member in enumerate(self.members):
            if member.device_uuid == device_uuid:
                return HEADER + number * self.length
        return None


def header(kept: Kept) -> bytes:
    """Return the header, padded to its length. Raises ValueError when there are too many members for it."""
    value = {
        "format": _FORMAT,
        "array": kept.array_uuid,
        "old_devices": kept.old_devices,
        "new_devices": kept.new_devices,
        "length": kept.length,
        "members": [[member.device_uuid, member.data_offset] for member in kept.members],
        "sha256": kept.sha256,
        "time": kept.time,
    }
    text = json.dumps(value).encode("ascii")
    if len(text) >= HEADER:
        raise ValueError(f"{len(kept.members)} members are too many for a header of {HEADER} bytes")
    return text + b"\n" + bytes(HEADER - len(text) - 1)


def parse(block: bytes) -> Kept | None:
    """Return what a header tells; None when it is none, or one of another version."""
    if len(block) < HEADER:
        return None
    try:
        value = json.loads(block[:HEADER].rstrip(b"\0").decode("ascii"))
        if value["format"] != _FORMAT:
            return None
        return Kept(
            array_uuid=str(value["array"]),
            old_devices=int(value["old_devices"]),
            new_devices=int(value["new_devices"]),
            length=int(value["length"]),
            members=tuple(KeptMember(str(uuid), int(offset)) for uuid, offset in value["members"]),
            sha256=str(value["sha256"]),
            time=int(value["time"]),
        )
    except (ValueError, KeyError, TypeError):
        return None


def read(file: t.BinaryIO) -> Kept | None:
    """Return what ``file`` keeps; None unless it is whole, down to its checksum."""
    kept = parse(file.read(HEADER))
    if kept is None:
        return None
    digest = hashlib.sha256()
    found = HEADER
    for piece in iter(lambda: file.read(1024 * 1024), b""):
        digest.update(piece)
        found += len(piece)
    return kept if found == kept.size and digest.hexdigest() == kept.sha256 else None
