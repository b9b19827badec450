# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.filter.raid_capacity import FilterModule, raid_capacity
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.size import BadSize, human, parse_size

TB = 10**12
SIZES = st.lists(st.integers(1, 20), min_size=1, max_size=16)


def test_two_sizes_make_a_raid5_below_and_a_mirror_above() -> None:
    assert raid_capacity(["4TB", "4TB", "8TB", "8TB"]) == {
        "usable": 16 * TB,
        "waiting": 0,
        "slices": [
            {"size": 4 * TB, "members": 4, "level": "raid5", "usable": 12 * TB},
            {"size": 4 * TB, "members": 2, "level": "raid1", "usable": 4 * TB},
        ],
    }


def test_the_largest_disk_waits_for_a_partner() -> None:
    found = raid_capacity([101, 101, 101, 201])
    assert (found["usable"], found["waiting"]) == (303, 100)


@pytest.mark.parametrize(("count", "usable", "waiting"), [(3, 0, 12), (4, 8, 0), (5, 12, 0)])
def test_two_redundant_disks_need_four(count: int, usable: int, waiting: int) -> None:
    found = raid_capacity([4] * count, redundancy=2)
    assert (found["usable"], found["waiting"]) == (usable, waiting)


@given(SIZES, st.sampled_from([1, 2]))
def test_every_byte_is_data_parity_or_waiting(sizes: list[int], redundancy: int) -> None:
    found = raid_capacity(sizes, redundancy)
    parity = sum(each["size"] * (1 if each["level"] != "raid6" else 2) for each in found["slices"])
    assert found["usable"] + parity + found["waiting"] == sum(sizes)
    assert found["usable"] == sum(each["usable"] for each in found["slices"])


@given(SIZES, st.integers(1, 30))
def test_no_other_replacement_gives_more(sizes: list[int], new: int) -> None:
    best = raid_capacity(sizes, replacement=new)["best_replacement"]
    every = [raid_capacity([*sizes[:i], new, *sizes[i + 1 :]])["usable"] for i in range(len(sizes))]
    assert best["usable"] == max(every) == every[best["index"]]


def test_the_smallest_disk_is_the_one_to_replace_where_several_gain_the_same() -> None:
    assert raid_capacity([4, 3, 8], replacement=8)["best_replacement"] == {"index": 1, "usable": 12}


def test_without_disks_there_is_nothing_and_nothing_to_replace() -> None:
    assert raid_capacity([], replacement="1TB") == {"usable": 0, "waiting": 0, "slices": []}


def test_seventeen_disks_make_two_slices() -> None:
    assert [each["members"] for each in raid_capacity([4] * 17)["slices"]] == [9, 8]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sizes": "4TB"}, "needs a list of sizes"),
        ({"sizes": 4}, "needs a list of sizes"),
        ({"sizes": ["4XB"]}, "'4XB' is no size"),
        ({"sizes": ["-4"]}, "'-4' is no size"),
        ({"sizes": [True]}, "True is no size"),
        ({"sizes": [1], "redundancy": 3}, "knows redundancy 1 and 2"),
        ({"sizes": [1], "replacement": "big"}, "'big' is no size"),
        ({"sizes": [1], "redundancy": 2, "members": 3}, "at least 4 members"),
    ],
)
def test_what_is_no_size_is_refused_in_words(arguments: dict[str, t.Any], words: str) -> None:
    with pytest.raises(AnsibleFilterError, match=words):
        raid_capacity(**arguments)


def test_ansible_finds_the_filter() -> None:
    assert FilterModule().filters() == {"raid_capacity": raid_capacity}


@pytest.mark.parametrize(
    ("text", "size"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("10GiB", 10 * 2**30),
        ("10 GiB", 10 * 2**30),
        ("10G", 10 * 2**30),
        ("4TB", 4 * 10**12),
        ("1.5KiB", 1536),
        ("0.3KB", 300),
        ("101m", 101 * 2**20),
        ("7B", 7),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str | int, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "GiB", "1.5", "1.5B", "0.1", "1e3", "-1", "4 T B", "nan", False])
def test_what_is_no_size_is_not_guessed(text: str | bool) -> None:
    with pytest.raises(BadSize):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (104840704, "99.98 MiB"),
        (306708480, "292.5 MiB"),
        (4 * 2**40, "4 TiB"),
        (2**30 - 1, "1 GiB"),
        (5 * 2**60, "5 EiB"),
        (9000 * 2**60, "9000 EiB"),
    ],
)
def test_sizes_are_written_as_people_read_them(size: int, text: str) -> None:
    assert human(size) == text


@given(st.integers(1, 2**70))
def test_every_byte_count_is_a_size(size: int) -> None:
    assert parse_size(size) == parse_size(str(size)) == parse_size(f"{size}B") == size
