# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The superblocks that md keeps on its members (include/uapi/linux/raid/md_p.h, md(4))."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ..model import Superblock
from .gpt import Reader

#: Bytes from the start of a member to a version 1.2 superblock.
OFFSET = 4096
#: Bytes that hold a superblock with the roles of all devices.
LENGTH = 4096

_SECTOR = 512
MAGIC = b"\xfc\x4e\x2b\xa9"
_BIG_ENDIAN_MAGIC = b"\xa9\x2b\x4e\xfc"
_MOST_DEVICES = 1920  # mdadm's super1.c: what fits into 4 KiB behind the first 256 bytes

# md_p.h, struct mdp_superblock_1: the constant part, reshape, this device, state.
_FIXED = struct.Struct("<4sIII16s32sQiIQIIiIQiIIiQQQQII16sBBHiQQQII32x")

# Where in it are feature_map, raid_disks, reshape_position with delta_disks behind it, sb_csum, and max_dev.
_FEATURES_AT, _DISKS_AT, _RESHAPE_AT, _CHECKSUM_AT, _MOST_AT = 8, 92, 104, 216, 220
_RESHAPE_PART = struct.Struct("<Qi")

_BITMAP = 1
_RECOVERY = 2
_RESHAPE = 4
_BAD_BLOCKS = 8
_REPLACEMENT = 16
_NEW_OFFSET = 64
_JOURNAL = 512
_PPL = 1024

_ROLE_SPARE = 0xFFFF
_ROLE_FAULTY = 0xFFFE
_ROLE_JOURNAL = 0xFFFD


@dataclass(frozen=True)
class Found:
    """A superblock, and what observers need beyond what planners see of it."""

    version: str  #: "1.0", "1.1", "1.2" or "0.90"
    superblock: Superblock
    valid: bool = True  #: the checksum is right
    replacement: bool = False  #: being filled as the replacement of another member
    recovering: bool = False  #: not yet filled to its end
    journal: bool = False
    ppl: bool = False
    previous_devices: int = 0  #: during a reshape the old number of devices; else 0
    reshape_position: int = 0  #: bytes of the array up to which the reshape has come
    moves_data: bool = False  #: the reshape writes beside the data that it reads, so that it needs no backup
    device_number: int = 0  #: the index of this device in `roles`
    roles: tuple[int, ...] = ()  #: what this superblock says of every device (md_p.h, dev_roles)
    updated: int = 0  #: seconds since 1970

    def disowns(self, other: Found) -> bool:
        """Whether this superblock, the newer one, gives ``other`` another role than it has by its own account.

        A member that failed is called faulty as long as it is there, and a spare once it was removed.
        """
        number = other.device_number
        own = other.roles[number] if number < len(other.roles) else _ROLE_SPARE
        return (self.roles[number] if number < len(self.roles) else _ROLE_SPARE) != own


def format_uuid(raw: bytes) -> str:
    """Return 16 bytes as mdadm prints them: four groups of eight hexadecimal digits with colons."""
    digits = raw.hex()
    return ":".join(digits[start : start + 8] for start in range(0, 32, 8))


def normal_uuid(text: str) -> str:
    """Return a UUID in any punctuation as :func:`format_uuid` writes it; "" when it has not 32 digits."""
    digits = "".join(char for char in text.lower() if char in "0123456789abcdef")
    punctuation = set(text.lower()) - set("0123456789abcdef")
    if len(digits) != 32 or punctuation - set(":-. "):
        return ""
    return format_uuid(bytes.fromhex(digits))


def _checksum(block: bytes, devices: int) -> int:
    """Return the checksum over the superblock as drivers/md/md.c, calc_sb_1_csum, does."""
    length = 256 + 2 * devices
    data = block[:_CHECKSUM_AT] + bytes(4) + block[_CHECKSUM_AT + 4 : length]
    total = sum(struct.unpack_from(f"<{length // 4}I", data))
    if length % 4:
        total += struct.unpack_from("<H", data, length - 2)[0]
    folded: int = (total & 0xFFFFFFFF) + (total >> 32)
    return folded & 0xFFFFFFFF


def parse(block: bytes, at: int) -> Found | None:
    """Return the version 1 superblock in ``block``, which was read ``at`` bytes from the member's start.

    None when there is none, or when it says that it belongs elsewhere: a copy that a larger partition or an
    image brought along is not this device's. ``block`` should have 4 KiB, for the roles of all devices.
    """
    if len(block) < _FIXED.size or block[:4] != MAGIC:
        return None
    (
        _magic,
        major,
        features,
        _pad0,
        array_uuid,
        name,
        _created,
        level,
        _layout,
        size,
        chunk,
        devices,
        _bitmap_at,
        _new_level,
        reshape_at,
        delta,
        _new_layout,
        _new_chunk,
        _new_offset,
        data_offset,
        _data_size,
        super_offset,
        _recovered,
        number,
        _corrected,
        device_uuid,
        _flags,
        _log_shift,
        _log_size,
        _log_at,
        updated,
        events,
        _resynced,
        checksum,
        most_devices,
    ) = _FIXED.unpack_from(block)
    if major != 1 or super_offset * _SECTOR != at or most_devices > _MOST_DEVICES:
        return None
    if len(block) < 256 + 2 * most_devices:
        return None
    roles = struct.unpack_from(f"<{most_devices}H", block, 256)
    role = roles[number] if number < most_devices else _ROLE_SPARE
    home, colon, rest = name.split(b"\0", 1)[0].decode("utf-8", "replace").partition(":")
    reshaping = bool(features & _RESHAPE)
    return Found(
        version={0: "1.1", 4096: "1.2"}.get(at, "1.0"),
        superblock=Superblock(
            array_uuid=format_uuid(array_uuid),
            device_uuid=format_uuid(device_uuid),
            name=rest if colon else home,
            home_host=home if colon else "",
            level=level,
            devices=devices,
            events=events,
            role=role if role < _ROLE_JOURNAL else None,
            faulty=role == _ROLE_FAULTY,
            data_offset=data_offset * _SECTOR,
            component_size=size * _SECTOR,
            chunk=chunk * _SECTOR,
            has_bitmap=bool(features & _BITMAP) and not features & _PPL,
            has_bad_blocks=bool(features & _BAD_BLOCKS),
            reshaping=reshaping,
        ),
        valid=_checksum(block, most_devices) == checksum,
        replacement=bool(features & _REPLACEMENT),
        recovering=bool(features & _RECOVERY),
        journal=bool(features & _JOURNAL) and role == _ROLE_JOURNAL,
        ppl=bool(features & _PPL),
        previous_devices=devices - delta if reshaping else 0,
        reshape_position=reshape_at * _SECTOR if reshaping else 0,
        moves_data=bool(features & _NEW_OFFSET),
        device_number=number,
        roles=roles,
        updated=updated & (1 << 40) - 1,
    )


def reverted(block: bytes) -> bytes:
    """Return a version 1 superblock as it was before a reshape to more members, and as it is when it tells of none.

    As mdadm does where nothing was moved yet (super1.c, revert-reshape-nobackup); there that cannot be done twice,
    nor when some members were told of the reshape and others not.
    """
    changed = bytearray(block)
    (features,) = struct.unpack_from("<I", block, _FEATURES_AT)
    if not features & _RESHAPE:
        return block
    (disks,) = struct.unpack_from("<I", block, _DISKS_AT)
    _position, delta = _RESHAPE_PART.unpack_from(block, _RESHAPE_AT)
    struct.pack_into("<I", changed, _FEATURES_AT, features & ~_RESHAPE)
    struct.pack_into("<I", changed, _DISKS_AT, disks - delta)
    _RESHAPE_PART.pack_into(changed, _RESHAPE_AT, 0, 0)
    (most,) = struct.unpack_from("<I", block, _MOST_AT)
    struct.pack_into("<I", changed, _CHECKSUM_AT, _checksum(bytes(changed), most))
    return bytes(changed)


#: Bytes that hold the description of a backup.
BACKUP_LENGTH = 4096
_BACKUP = struct.Struct("<16s16sQQQQI4xQQQ")


def backup_place(found: Found) -> int:
    """Return where mdadm describes the backup that it keeps on a member which a reshape adds (mdadm's Grow.c).

    In bytes from the member's start: in the last 4 KiB of its data.
    """
    return found.superblock.data_offset + found.superblock.component_size - BACKUP_LENGTH


def holds_backup(block: bytes, array_uuid: str) -> bool:
    """Whether ``block``, read at :func:`backup_place`, tells of a backup of the array (Grow.c, mdp_backup_super)."""
    if len(block) < _BACKUP.size or block[:15] != b"md_backup_data-":
        return False
    _magic, uuid, _time, _at, _start, length, _checksum, _at2, _start2, length2 = _BACKUP.unpack_from(block)
    return format_uuid(uuid) == array_uuid and bool(length or (block[15:16] == b"2" and length2))


def _parse_old(block: bytes) -> Found | None:
    """Return a version 0.90 superblock (md_p.h, mdp_super_t), in the byte order of either machine."""
    order = {MAGIC: "<", _BIG_ENDIAN_MAGIC: ">"}.get(block[:4])
    if order is None or len(block) < 4096:
        return None
    words = struct.unpack_from(f"{order}64I", block)
    if words[1] != 0:
        return None
    uuid = struct.pack(">4I", words[5], *words[13:16])
    superblock = Superblock(
        array_uuid=format_uuid(uuid),
        device_uuid="",
        name="",
        home_host="",
        level=struct.unpack_from(f"{order}i", block, 28)[0],
        devices=words[10],
        events=0,
        role=None,
        faulty=False,
        data_offset=0,
        component_size=words[8] * 1024,
        chunk=0,
        has_bitmap=False,
        has_bad_blocks=False,
        reshaping=False,
    )
    return Found(version="0.90", superblock=superblock)


def find(read: Reader, size: int) -> Found | None:
    """Return the superblock of a device of ``size`` bytes, looked for where each version has it.

    ``read`` takes offsets within the device. 1.2 is 4 KiB from the start, 1.1 at the start, 1.0 at least
    8 KiB before the end on a 4 KiB boundary, 0.90 in the last whole 64 KiB (md_p.h, mdadm's super1.c).
    """
    places = [4096, 0, (size // _SECTOR - 16) // 8 * 8 * _SECTOR]
    for at in places:
        if 0 <= at <= size - LENGTH:
            found = parse(read(at, LENGTH), at)
            if found is not None:
                return found
    old = size // 65536 * 65536 - 65536
    if old < 0:
        return None
    return _parse_old(read(old, LENGTH))
