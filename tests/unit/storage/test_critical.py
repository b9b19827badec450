"""How much of an array a reshape puts at risk, against what mdadm says and what raid5.c does."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.critical import (
    backup_length,
    data_members,
    needs_backup,
    rows_at_risk,
    safe_position,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import KIB, MIB

CHUNK = 512 * KIB


@pytest.mark.parametrize(
    ("old", "new", "chunk", "expected"),
    [
        # "mdadm: Need to backup 6144K of critical section.." for four members that become five.
        (3, 4, 512 * KIB, 6144 * KIB),
        (2, 3, 512 * KIB, 3072 * KIB),
        (2, 4, 64 * KIB, 256 * KIB),
        (1, 2, 64 * KIB, 128 * KIB),
    ],
)
def test_the_backup_has_the_length_that_mdadm_prints(old: int, new: int, chunk: int, expected: int) -> None:
    assert backup_length(old, new, chunk) == expected


@pytest.mark.parametrize(("level", "devices", "expected"), [(1, 2, 1), (5, 4, 3), (6, 4, 2), (6, 6, 4)])
def test_a_mirror_counts_as_a_raid5_of_two(level: int, devices: int, expected: int) -> None:
    assert data_members(level, devices) == expected


@pytest.mark.parametrize(
    ("offset", "old", "new", "chunk", "expected"),
    [
        # Measured: 2048 to 1792 to 1408 sectors with chunks of 64 KiB; none with 512 KiB and 2 MiB before the data.
        (2048 * 512, 1, 2, 64 * KIB, False),
        (1792 * 512, 2, 3, 64 * KIB, False),
        (2 * MIB, 3, 4, CHUNK, True),
        (2 * MIB, 3, 4, 64 * KIB, False),
    ],
)
def test_the_data_move_aside_where_there_is_room(offset: int, old: int, new: int, chunk: int, expected: bool) -> None:
    assert needs_backup(offset, old, new, chunk) is expected


def overwritten_before_the_first_record(old: int, new: int) -> tuple[int, int]:
    """Follow raid5.c, reshape_request, in chunks: (rows written, position) when it first has to record where it is."""
    progress = 0
    while True:
        if Fraction(progress, old) - 1 > Fraction(progress, new) + 1:
            return progress // new, progress
        progress += new


@given(st.integers(1, 30), st.integers(1, 15))
def test_what_is_kept_reaches_beyond_what_the_kernel_overwrites_without_a_record(old: int, more: int) -> None:
    new = old + more
    rows, position = overwritten_before_the_first_record(old, new)
    assert rows_at_risk(old, new) >= rows + 2
    assert position >= safe_position(old, new, 1) > position - 2 * new


@given(st.integers(1, 30), st.integers(1, 15), st.data())
def test_beyond_the_safe_position_nothing_unread_is_overwritten(old: int, more: int, data: st.DataObject) -> None:
    new = old + more
    row = data.draw(st.integers(safe_position(old, new, 1) // new + 1, 4 * (old + new)))
    position = row * new
    if position > safe_position(old, new, 1):
        # The kernel has read up to here, and the next row that it writes is one that it has read from.
        assert position // new < position // old
