# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.layout import (
    Slice,
    aligned,
    best_fit,
    cut_rooms,
    data_offset_for,
    largest_gap,
    level_for,
    shape_for,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    ALIGNMENT,
    GIB,
    KIB,
    MIB,
    Disk,
    Partition,
)

#: A partition over the whole of a disk of 101 MiB: sectors 2048 to 206814.
STORY_SLICE = 204767 * 512

ROOMS = st.lists(st.integers(min_value=0, max_value=40), min_size=0, max_size=9)


@given(ROOMS)
def test_one_redundant_disk_costs_exactly_the_largest_room(rooms: list[int]) -> None:
    cuts = cut_rooms(rooms)
    usable = sum(cut.size * (len(cut.members) - 1) for cut in cuts)
    assert usable == (sum(rooms) - max(rooms) if rooms else 0)


@given(ROOMS)
def test_two_redundant_disks_cost_the_room_above_the_third_largest_thrice_at_most(rooms: list[int]) -> None:
    cuts = cut_rooms(rooms, redundancy=2)
    highest_first = sorted(rooms, reverse=True)
    # A byte at height h counts for all but two of the disks that reach h, if these are four or more.
    top = highest_first[3] if len(rooms) >= 4 else 0
    expected = sum(max(0, sum(room >= h for room in rooms) - 2) for h in range(1, top + 1))
    assert sum(cut.size * (len(cut.members) - 2) for cut in cuts) == expected


@given(st.lists(st.integers(min_value=0, max_value=40), max_size=60), st.integers(2, 6), st.sampled_from([1, 2]))
def test_cuts_never_exceed_a_room_nor_the_cap_nor_share_a_disk(rooms: list[int], most: int, redundancy: int) -> None:
    least = 2 if redundancy == 1 else 4
    used = [0] * len(rooms)
    for cut in cut_rooms(rooms, redundancy, smallest=3, most=most):
        assert cut.size >= 3
        assert least <= len(set(cut.members)) == len(cut.members) <= max(most, least)
        for i in cut.members:
            used[i] += cut.size
    assert all(taken <= room for taken, room in zip(used, rooms, strict=True))
    assert sum(room - taken >= 3 for taken, room in zip(used, rooms, strict=True)) < least


def test_disks_that_differ_by_less_than_the_smallest_slice_share_theirs() -> None:
    assert [cut.members for cut in cut_rooms([4000, 4003, 4001], smallest=40)] == [(0, 1, 2)]


def test_the_next_slice_starts_aligned_behind_one_of_odd_size() -> None:
    assert [cut.size for cut in cut_rooms([10, 25, 25], alignment=8)] == [10, 25 - 16]


def test_more_disks_than_the_cap_are_split_into_equal_groups_of_like_size() -> None:
    cuts = cut_rooms([8] * 9 + [4] * 8, most=16)
    assert [(cut.size, len(cut.members)) for cut in cuts] == [(8, 9), (4, 8)]


@given(st.integers(0, 120), st.lists(st.integers(1, 60), max_size=7))
def test_a_disk_takes_the_slices_that_use_most_of_its_room(room: int, sizes: list[int]) -> None:
    scale = ALIGNMENT
    slices = [Slice(i, size * scale, size * scale, frozenset(), None) for i, size in enumerate(sizes)]
    chosen = best_fit(room * scale, slices)
    total = sum(each.size for each in chosen)
    best = max(
        sum(combination)
        for count in range(len(sizes) + 1)
        for combination in combinations(sizes, count)
        if sum(combination) <= room
    )
    assert len({each.index for each in chosen}) == len(chosen)
    assert total == best * scale


@pytest.mark.parametrize(
    ("members", "component", "offset", "chunk", "level"),
    [(4, 102236160, 2 * MIB, 512 * KIB, 5), (2, 103743488, MIB, 0, 1)],
)
def test_the_articles_arrays_are_predicted_to_the_byte(
    members: int, component: int, offset: int, chunk: int, level: int
) -> None:
    shape = shape_for(STORY_SLICE, members, 1, 512 * KIB)
    assert (shape.component_size, shape.data_offset, shape.chunk, shape.level) == (component, offset, chunk, level)


@given(st.integers(32 * MIB, 40 * 1024 * GIB), st.integers(2, 16), st.sampled_from([4, 64, 512, 1024]))
def test_a_shape_fits_its_slice(size: int, members: int, chunk_kib: int) -> None:
    shape = shape_for(size, members, 1, chunk_kib * KIB)
    assert shape.data_offset + shape.component_size <= size
    assert shape.data_offset % MIB == 0
    assert shape.component_size % (64 * KIB if shape.level == 1 else chunk_kib * KIB) == 0


def test_a_large_slice_has_room_to_grow_to_the_cap_without_a_backup_file() -> None:
    assert data_offset_for(4000 * GIB, 512 * KIB) >= sum(range(2, 17)) * 512 * KIB


def test_metadata_and_headroom_cost_less_than_one_percent_of_a_slice_from_one_gib_on() -> None:
    assert all(data_offset_for(g * GIB, 512 * KIB) * 100 <= g * GIB for g in (1, 2, 10, 100, 10_000))


@pytest.mark.parametrize(("members", "redundancy", "level"), [(2, 1, 1), (3, 1, 5), (16, 1, 5), (4, 2, 6), (9, 2, 6)])
def test_the_level_follows_members_and_redundancy(members: int, redundancy: int, level: int) -> None:
    assert level_for(members, redundancy) == level


@pytest.mark.parametrize(("sector", "last"), [(512, 206814 * 512 + 511), (4096, 206848 * 512 - 5 * 4096 - 1)])
def test_the_last_usable_byte_leaves_the_backup_table_its_place(sector: int, last: int) -> None:
    assert Disk("/dev/vda", 206848 * 512, sector=sector).usable_end == last + 1


def test_the_largest_gap_starts_aligned_and_ends_at_the_next_partition() -> None:
    parts = (
        Partition(1, MIB, 10 * MIB + 512, "data-0", "", "/dev/vda1"),
        Partition(2, 50 * MIB + 512, 20 * MIB, "data-1", "", "/dev/vda2"),
    )
    disk = Disk("/dev/vda", 100 * MIB, has_gpt=True, gpt_end=0, partitions=parts)
    start, size = largest_gap(disk)
    assert start == aligned(10 * MIB + 512 + MIB)
    assert start + size == 50 * MIB + 512
