"""File systems from their superblocks: what mkfs wrote, what a cut mkfs leaves, and what is never guessed."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats.filesystem import (
    FileSystem,
    identify,
    mounted_xfs_size,
    parse_ext,
    parse_xfs,
)

from .host_capture import CAPTURED

MIB = 1024 * 1024

with gzip.open(CAPTURED / "filesystems.json.gz", "rt") as _file:
    HEADS: dict[str, bytes] = {name: base64.b64decode(text) for name, text in json.load(_file).items()}


def no_question() -> str:
    raise AssertionError("a process would have been started")


def reader(data: bytes, size: int = 2 * MIB) -> Callable[[int, int], bytes]:
    device = data.ljust(size, b"\0")
    return lambda offset, length: device[offset : offset + length]


@pytest.mark.parametrize("release", ["bookworm", "trixie"])
@pytest.mark.parametrize(
    ("name", "kind", "size"),
    [
        ("ext2", "ext2", 32 * MIB),
        ("ext3", "ext3", 32 * MIB),
        ("ext4", "ext4", 32 * MIB),
        ("ext4-4k", "ext4", 32 * MIB),
        ("ext4-not64", "ext4", 32 * MIB),
        ("xfs", "xfs", 320 * MIB),
    ],
)
def test_what_mkfs_wrote_is_known_without_a_process(release: str, name: str, kind: str, size: int) -> None:
    assert identify(reader(HEADS[f"{release}-{name}"]), no_question) == FileSystem(kind, size)


def test_the_high_half_of_the_block_count_counts_with_64bit_only() -> None:
    head = bytearray(HEADS["trixie-ext4-4k"])
    struct.pack_into("<I", head, 1024 + 0x150, 2)
    assert parse_ext(bytes(head)) == FileSystem("ext4", (2 << 32) * 4096 + 32 * MIB)

    head = bytearray(HEADS["trixie-ext4-not64"])
    struct.pack_into("<I", head, 1024 + 0x150, 2)
    assert parse_ext(bytes(head)) == FileSystem("ext4", 32 * MIB)


def test_an_xfs_whose_mkfs_was_cut_is_blank() -> None:
    head = bytearray(HEADS["trixie-xfs"])
    head[126] = 1

    assert identify(reader(bytes(head)), no_question) == FileSystem("")


def test_a_blank_device_is_blank_without_a_process() -> None:
    assert identify(reader(b""), no_question) == FileSystem("")


def test_a_signature_behind_an_empty_start_is_not_taken_for_blank() -> None:
    """Btrfs leaves its first 64 KiB alone."""
    device = bytes(65536) + b"_BHRfS_M"

    assert identify(reader(device), lambda: "btrfs") == FileSystem("btrfs")


def test_left_overs_behind_what_lvcreate_zeroed_are_blank_when_blkid_knows_nothing() -> None:
    device = bytes(4096) + b"left over"

    assert identify(reader(device), lambda: "") == FileSystem("")


def test_data_at_the_start_is_never_taken_for_blank() -> None:
    assert identify(reader(b"somebody's"), lambda: "") == FileSystem("unknown")
    assert identify(reader(b"somebody's"), lambda: "crypto_LUKS") == FileSystem("crypto_LUKS")


@given(st.binary(min_size=1, max_size=4096).filter(lambda data: data.strip(b"\0")))
def test_no_bytes_whatever_are_taken_for_blank(data: bytes) -> None:
    if parse_xfs(data) == FileSystem(""):
        return
    assert identify(reader(data), lambda: "").kind


def test_a_path_that_is_no_mount_of_the_device_tells_no_size() -> None:
    assert mounted_xfs_size("/", "0:0") is None
    assert mounted_xfs_size("/nonexistent", "0:0") is None
