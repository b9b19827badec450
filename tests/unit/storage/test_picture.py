# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The picture of a pool, as it stands in diffs."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    GIB,
    KIB,
    LINUX_RAID,
    MIB,
    Activity,
    Array,
    Disk,
    Group,
    Member,
    Partition,
    PhysicalVolume,
    Pool,
    Volume,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.picture import (
    draw,
    duration,
    progress_bar,
    shortened,
)

FIRST = 99 * MIB + 1007 * KIB
SECOND = 99 * MIB + 1007 * KIB


def disk(name: str, size: int, *slices: tuple[str, int], path: str | None = None) -> Disk:
    parts = []
    start = MIB
    for number, (label, length) in enumerate(slices, start=1):
        parts.append(Partition(number, start, length, label, LINUX_RAID, f"/dev/{name}{number}"))
        start = -(-(start + length) // MIB) * MIB
    path = f"/dev/disk/by-id/virtio-{name}" if path is None else path
    return Disk(f"/dev/{name}", size, path=path, has_gpt=True, partitions=tuple(parts))


def array(index: int, level: int, component: int, *nodes: str) -> Array:
    members = tuple(Member(node, node.rstrip("0123456789"), slot) for slot, node in enumerate(nodes))
    return Array(
        index=index,
        name=f"data-{index}",
        node=f"/dev/md{127 - index}",
        uuid="",
        level=level,
        devices=len(nodes),
        chunk=512 * KIB,
        component_size=component,
        slice_size=FIRST,
        members=members,
    )


GROWN = Pool(
    name="data",
    disks=(
        disk("vda", 201 * MIB, ("data-0", FIRST), ("data-1", SECOND)),
        disk("vdb", 201 * MIB, ("data-0", FIRST), ("data-1", SECOND), path="/dev/vdb"),
        disk("vdc", 101 * MIB, ("data-0", FIRST), path="/dev/disk/by-id/ata-WDC_WD40EFRX-68N32N0_WD-WCC7K0XXXXXX"),
        disk("vdd", 301 * MIB, ("data-0", FIRST), ("data-1", SECOND)),
    ),
    arrays=(
        array(0, 5, 99840 * KIB, "/dev/vda1", "/dev/vdb1", "/dev/vdc1", "/dev/vdd1"),
        array(1, 5, 101312 * KIB, "/dev/vda2", "/dev/vdb2", "/dev/vdd2"),
    ),
    group=Group(
        "data",
        4 * MIB,
        (PhysicalVolume("data-0", "/dev/md127", MIB, 72), PhysicalVolume("data-1", "/dev/md126", MIB, 49)),
    ),
    volumes=(
        Volume("bits", 25, "ext4", 100 * MIB, ("/srv/bits",)),
        Volume("pieces", 25, "xfs", 80 * MIB),
        Volume("raw", 1),
        Volume("asleep", 1, "unknown", active=False),
    ),
)


def golden(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


def test_a_grown_pool() -> None:
    assert draw(GROWN) == golden(
        """
        Pool data: 484 MiB, 276 MiB free
        Disks
          vda virtio-vda              201 MiB  [---- data-0 ----|---- data-1 ----]
          vdb                         201 MiB  [---- data-0 ----|---- data-1 ----]
          vdc ata-WDC_WD..C7K0XXXXXX  101 MiB  [---- data-0 ----]
          vdd virtio-vdd              301 MiB  [---- data-0 ----|---- data-1 ----|. 100 MiB free .]
        Arrays
          data-0  raid5  4 x 97.5 MiB   292.5 MiB   whole
          data-1  raid5  3 x 98.94 MiB  197.88 MiB  whole
        Volumes
          bits    100 MiB  ext4            /srv/bits
          pieces  100 MiB  xfs of 80 MiB   not mounted
          raw     4 MiB    no file system  not mounted
          asleep  4 MiB    not active      not mounted
        """
    )


def test_blank_disks() -> None:
    pool = Pool(
        "data",
        (replace(disk("vda", 101 * MIB), has_gpt=False), disk("vdb", 64 * GIB)),
        absent=("/dev/disk/by-id/virtio-gone",),
    )
    assert draw(pool) == golden(
        """
        Pool data: no volume group yet
        Disks
          vda virtio-vda  101 MiB  [ 99.98 MiB free ]
          vdb virtio-vdb  64 GiB   [................... 64 GiB free ...................]
          virtio-gone     absent
        """
    )


def test_what_is_wrong_is_marked() -> None:
    first = GROWN.arrays[0]
    members = (
        replace(first.members[0], faulty=True, slot=None, in_sync=False),
        replace(first.members[1], in_sync=False),
        replace(first.members[2], slot=None, in_sync=False),
        first.members[3],
    )
    disks = (
        GROWN.disks[0],
        replace(GROWN.disks[1], path=""),
        GROWN.disks[2],
        replace(disk("vdd", 301 * MIB, ("home", FIRST), ("data-1", SECOND)), foreign=("ext4 file system 'home'", "x")),
    )
    pool = replace(
        GROWN, disks=disks, arrays=(replace(first, members=members), replace(GROWN.arrays[1], active=False)), volumes=()
    )
    assert draw(pool) == golden(
        """
        Pool data: 484 MiB, 484 MiB free
        Disks
          vda virtio-vda              201 MiB  [ data-0 failed -|---- data-1 ----]
          vdb                         201 MiB  [ data-0 rebuilding |---- data-1 ----] not declared
          vdc ata-WDC_WD..C7K0XXXXXX  101 MiB  [- data-0 spare -]
          vdd virtio-vdd              301 MiB  ext4 file system 'home', 1 more
        Arrays
          data-0  raid5  4 x 97.5 MiB   292.5 MiB   lacks 3 of 4
          data-1  raid5  3 x 98.94 MiB  197.88 MiB  not started
        """
    )


@pytest.mark.parametrize(
    "activity",
    [Activity("reshape", 40 * MIB, 100 * MIB, 10 * MIB), Activity("reshape", 41 * MIB, 100 * MIB, 9 * MIB)],
)
def test_progress_is_drawn_on_request_only(activity: Activity) -> None:
    growing = replace(GROWN.arrays[1], previous_devices=2, activity=activity)
    pool = replace(GROWN, arrays=(GROWN.arrays[0], growing))
    [line] = [line for line in draw(pool).splitlines() if "data-1  raid5" in line]
    assert line.endswith("reshape from 2 to 3 members")
    [line] = [line for line in draw(pool, progress=True).splitlines() if "data-1  raid5" in line]
    assert line.endswith(
        f"members, [####........] {activity.percent:.0f} %, {round(activity.seconds_left or 0)} s left"
    )


def test_kernel_names_of_arrays_are_not_drawn_because_they_change_between_boots() -> None:
    renamed = tuple(replace(each, node=f"/dev/md{each.index}") for each in GROWN.arrays)
    assert draw(replace(GROWN, arrays=renamed)) == draw(GROWN)


def test_many_disks_stay_short() -> None:
    terabytes = 1024 * GIB
    disks = tuple(
        disk(f"sd{chr(97 + i)}", (8 if i >= 20 else 4) * terabytes, (f"data-{i // 13}", 4 * terabytes - 2 * MIB))
        for i in range(26)
    )
    assert draw(Pool("data", disks)) == golden(
        """
        Pool data: no volume group yet
        Disks
          sda and 12 like it  4 TiB  [      data-0 unused      ]
          sdn and 6 like it   4 TiB  [      data-1 unused      ]
          sdu and 5 like it   8 TiB  [      data-1 unused      |....... 4 TiB free ......]
        """
    )


def test_many_slices_do_not_widen_a_line() -> None:
    slices = tuple((f"data-{i}", 300 * MIB) for i in range(40))
    nodes = [f"/dev/vda{i + 1}" for i in range(40)]
    arrays = tuple(array(i, 1, 299 * MIB, nodes[i], f"/dev/vdb{i + 1}") for i in range(40))
    pool = Pool("data", (disk("vda", 40 * GIB, *slices), disk("vdb", 40 * GIB, *slices)), arrays=arrays)
    text = draw(pool)
    assert "[40 slices, 28.28 GiB free]" in text
    assert "data-0 and 39 like it  raid1" in text
    assert len(text.splitlines()) == 6


def test_no_line_is_wider_than_a_hundred_columns() -> None:
    few = tuple((f"data-{i}", 2 * GIB) for i in range(9))
    pool = replace(
        GROWN, disks=(*GROWN.disks, disk("nvme0n1p", 20 * GIB, *few, path="/dev/disk/by-id/nvme-" + "x" * 60))
    )
    assert max(map(len, draw(pool).splitlines())) <= 100


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    assert shortened("ata-WDC_WD40EFRX_WD-WCC7K0", 26) == "ata-WDC_WD40EFRX_WD-WCC7K0"
    assert shortened("ata-WDC_WD40EFRX-68N32N0_WD-WCC7K0XXXXXX", 26) == "ata-WDC_WD40..WCC7K0XXXXXX"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.4, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (3500, "58 min"),
        (3590, "1 h"),
        (12000, "3 h 20 min"),
        (86390, "1 d"),
        (187200, "2 d 4 h"),
    ],
)
def test_durations_have_two_units_at_most(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_bar_is_full_at_the_end_only() -> None:
    assert progress_bar(0) == "[............]"
    assert progress_bar(99.9) == "[###########.]"
    assert progress_bar(100) == "[############]"
