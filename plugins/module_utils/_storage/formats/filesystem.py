# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Type and size of the file system on a device, from its superblock, without starting a process."""

from __future__ import annotations

import fcntl
import os
import struct
import typing as t
from dataclasses import dataclass

from .gpt import Reader

#: Bytes at the start of a device that tell ext4 and xfs.
HEAD_BYTES = 4096
#: Bytes that must be zero for a device to count as blank without asking blkid: known signatures lie in front of it.
BLANK_BYTES = 1024 * 1024

UNKNOWN = "unknown"

# Documentation/filesystems/ext4/super.rst; the superblock begins at byte 1024.
_EXT_AT = 1024
_EXT_MAGIC = 0xEF53
_EXT_HAS_JOURNAL = 0x4  # compatible
_EXT_64BIT = 0x80  # incompatible
_EXT_JOURNAL_DEVICE = 0x8  # incompatible
# What ext3 knows: filetype, recover, meta_bg; sparse_super, large_file, btree_dir (libblkid's superblocks/ext.c).
_EXT3_INCOMPATIBLE = 0x2 | 0x4 | 0x10
_EXT3_READ_ONLY = 0x1 | 0x2 | 0x4

_XFS_MAGIC = b"XFSB"
_XFS_IN_PROGRESS_AT = 126  # sb_inprogress of struct xfs_dsb (fs/xfs/libxfs/xfs_format.h)
# _IOR('X', 100, struct xfs_fsop_geom_v1) of 112 bytes (fs/xfs/libxfs/xfs_fs.h).
_XFS_GEOMETRY = 2 << 30 | 112 << 16 | ord("X") << 8 | 100


@dataclass(frozen=True)
class FileSystem:
    """A file system. ``kind`` is "" on a blank device, "unknown" for data without a known signature; size in bytes."""

    kind: str
    size: int = 0


def parse_ext(head: bytes) -> FileSystem | None:
    """Return the ext2, ext3 or ext4 file system in the first 4 KiB of a device."""
    block = head[_EXT_AT : _EXT_AT + 1024]
    if len(block) < 1024 or struct.unpack_from("<H", block, 0x38)[0] != _EXT_MAGIC:
        return None
    low, log_size = struct.unpack_from("<I", block, 0x4)[0], struct.unpack_from("<I", block, 0x18)[0]
    compatible, incompatible, read_only = struct.unpack_from("<III", block, 0x5C)
    if log_size > 6:
        return None
    high = struct.unpack_from("<I", block, 0x150)[0] if incompatible & _EXT_64BIT else 0
    size = (high << 32 | low) << 10 + log_size
    if incompatible & _EXT_JOURNAL_DEVICE:
        kind = "jbd"
    elif incompatible & ~_EXT3_INCOMPATIBLE or read_only & ~_EXT3_READ_ONLY:
        kind = "ext4"
    else:
        kind = "ext3" if compatible & _EXT_HAS_JOURNAL else "ext2"
    return FileSystem(kind, size)


def parse_xfs(head: bytes) -> FileSystem | None:
    """Return the xfs file system at the start of a device; kind "" when its mkfs did not reach the end.

    mkfs.xfs sets sb_inprogress first and clears it last, and the kernel refuses to mount what has it set.
    """
    if len(head) < 512 or head[:4] != _XFS_MAGIC:
        return None
    block_size, blocks = struct.unpack_from(">IQ", head, 4)
    if head[_XFS_IN_PROGRESS_AT]:
        return FileSystem("")
    return FileSystem("xfs", block_size * blocks)


def is_zero(data: bytes) -> bool:
    """Whether there is nothing but zeros."""
    return not data.strip(b"\0")


def identify(read: Reader, ask: t.Callable[[], str]) -> FileSystem:
    """Return what is on a device that ``read`` reads.

    ``ask`` names what blkid finds, or returns ""; it is called only for a device that is neither ext nor xfs
    nor zero in its first MiB: some types (btrfs) leave the first 64 KiB untouched. Data that blkid does not
    know is "unknown", unless the first 4 KiB are zero: lvcreate zeroes these, behind them stands what the
    extents held before.
    """
    head = read(0, HEAD_BYTES)
    found = parse_ext(head) or parse_xfs(head)
    if found is not None:
        return found
    blank = is_zero(head)
    if blank and is_zero(read(0, BLANK_BYTES)):
        return FileSystem("")
    return FileSystem(ask() or ("" if blank else UNKNOWN))


def mounted_xfs_size(mount_point: str, device: str) -> int | None:
    """Return the bytes of the xfs file system of ``device`` ("MAJOR:MINOR") that is mounted on ``mount_point``.

    Its superblock on disk lags behind until the log is written back, so the kernel is asked (ioctl_xfs_fsgeometry(2)).
    None when something else is mounted over it, or it does not answer.
    """
    try:
        descriptor = os.open(mount_point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        there = os.fstat(descriptor).st_dev
        if f"{os.major(there)}:{os.minor(there)}" != device:
            return None
        answer = bytearray(112)
        fcntl.ioctl(descriptor, _XFS_GEOMETRY, answer)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    block_size: int = struct.unpack_from("=I", answer)[0]
    blocks: int = struct.unpack_from("=Q", answer, 32)[0]
    return block_size * blocks
