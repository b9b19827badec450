# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the parameters of raid_pool mean, and which make no sense."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    GIB,
    KIB,
    MIB,
    Replacement,
    Size,
    Wanted,
    WantedVolume,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.parameters import (
    parse_volume_size,
    tools_for,
    wanted_pool,
)

DISKS = ["/dev/disk/by-id/a", "/dev/disk/by-id/b"]


def given(**changes: Any) -> dict[str, Any]:
    """Return parameters as Ansible fills them in, with these changes."""
    return {
        "name": "data",
        "disks": DISKS,
        "redundancy": 1,
        "volumes": [],
        "chunk": "512KiB",
        "bitmap": "internal",
        "wait": True,
        "wait_timeout": 3600,
        "replace": [],
        "wipe": [],
        "smallest_slice": None,
        "members": 16,
        **changes,
    }


def volume(**changes: Any) -> dict[str, Any]:
    return {"name": "bits", "size": "1GiB", "filesystem": "ext4", "mount_point": None, "nofail": True, **changes}


def refusal(**changes: Any) -> str:
    with pytest.raises(Refusal) as caught:
        wanted_pool(given(**changes))
    return str(caught.value)


def test_defaults_are_a_plain_pool() -> None:
    assert wanted_pool(given()) == Wanted(name="data", disks=tuple(DISKS))


def test_everything_that_can_be_declared_arrives() -> None:
    want = wanted_pool(
        given(
            redundancy=2,
            chunk="64KiB",
            bitmap="none",
            replace=[{"old": "/dev/disk/by-id/c", "new": DISKS[0]}],
            wipe=["SERIAL", "0x5000c500a0b1c2d3"],
            smallest_slice="1GiB",
            members=8,
            volumes=[
                volume(mount_point="/srv/bits/", nofail=False),
                volume(name="rest", size="100%FREE", filesystem="xfs"),
                volume(name="raw", size="10%", filesystem=None),
            ],
        )
    )
    assert want == Wanted(
        name="data",
        disks=tuple(DISKS),
        redundancy=2,
        chunk=64 * KIB,
        bitmap=False,
        replace=(Replacement("/dev/disk/by-id/c", DISKS[0]),),
        wipe=frozenset(("SERIAL", "0x5000c500a0b1c2d3")),
        smallest_slice=GIB,
        most_members=8,
        volumes=(
            WantedVolume("bits", Size(bytes=GIB), "ext4", "/srv/bits", nofail=False),
            WantedVolume("rest", Size(free=True), "xfs"),
            WantedVolume("raw", Size(percent=10)),
        ),
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("104857600", Size(bytes=100 * MIB)),
        ("100MiB", Size(bytes=100 * MIB)),
        ("1.5 GiB", Size(bytes=3 * GIB // 2)),
        ("10GB", Size(bytes=10**10)),
        ("50%", Size(percent=50)),
        ("50 %", Size(percent=50)),
        ("50%VG", Size(percent=50)),
        ("100%", Size(percent=100)),
        ("100%FREE", Size(free=True)),
        ("100%free", Size(free=True)),
        (" 100 %FREE ", Size(free=True)),
    ],
)
def test_a_size_can_be_bytes_a_share_or_the_rest(text: str, size: Size) -> None:
    assert parse_volume_size(text, "bits") == size


@pytest.mark.parametrize("text", ["0%", "101%", "50%FREE", "12.5%", "%", "50%PVS", "-1", "0", "big", "", "10 apples"])
def test_any_other_size_is_refused_with_the_volume_named(text: str) -> None:
    with pytest.raises(Refusal, match="'bits'"):
        parse_volume_size(text, "bits")


@pytest.mark.parametrize("name", ["", "a/b", "-data", ".data", "a b", "dätä", "a:b", "a@b", "x" * 23])
def test_a_name_that_cannot_be_carried_is_refused(name: str) -> None:
    assert "name" in refusal(name=name)


@pytest.mark.parametrize("name", ["data", "x" * 22, "a-b", "0", "a+b_c.d"])
def test_other_names_are_fine(name: str) -> None:
    assert wanted_pool(given(name=name)).name == name


@pytest.mark.parametrize(
    "name", ["", "-bits", ".", "..", "a/b", "a b", "snapshot1", "pvmove0", "my_rimage_0", "x_tdata", "x" * 127]
)
def test_a_volume_name_that_lvm_does_not_take_is_refused(name: str) -> None:
    assert "volume" in refusal(volumes=[volume(name=name)])


def test_hyphens_count_twice_in_the_length_of_a_device_name() -> None:
    assert wanted_pool(given(volumes=[volume(name="x" * 122)])).volumes
    assert "too long" in refusal(volumes=[volume(name="x" + "-x" * 50)])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"disks": []}, "No disks are declared"),
        ({"disks": ["sda", "/dev/sdb"]}, "'sda' is not a path below /dev"),
        ({"disks": ["/dev/sda", "/dev/sda"]}, "Disk '/dev/sda' is declared twice"),
        ({"chunk": "100KiB"}, "power of two"),
        ({"chunk": "2KiB"}, "power of two"),
        ({"chunk": "many"}, "The chunk: 'many' is no size"),
        ({"bitmap": "ppl"}, "raid5 only.*cannot reshape"),
        ({"members": 1}, "needs at least 2 members"),
        ({"members": 3, "redundancy": 2}, "needs at least 4 members"),
        ({"wait_timeout": 0}, "wait_timeout is 0"),
        ({"smallest_slice": "1 apple"}, "smallest_slice: '1 apple' is no size"),
        ({"replace": [{"old": "/dev/sda", "new": "/dev/sda"}]}, "cannot replace itself"),
        ({"replace": [{"old": "sda", "new": "/dev/sdb"}]}, "'sda' is not a path"),
        (
            {"replace": [{"old": "/dev/sda", "new": "/dev/sdb"}, {"old": "/dev/sda", "new": "/dev/sdc"}]},
            "The disk to replace '/dev/sda' is declared twice",
        ),
        (
            {"replace": [{"old": "/dev/sda", "new": "/dev/sdc"}, {"old": "/dev/sdb", "new": "/dev/sdc"}]},
            "The replacement '/dev/sdc' is declared twice",
        ),
        ({"volumes": [volume(), volume()]}, "Volume 'bits' is declared twice"),
        (
            {"volumes": [volume(mount_point="/srv"), volume(name="pieces", mount_point="/srv/")]},
            "Mount point '/srv' is declared twice",
        ),
        ({"volumes": [volume(mount_point="srv")]}, "must begin with '/'"),
        ({"volumes": [volume(mount_point="//")]}, "cannot be mounted on '/'"),
        ({"volumes": [volume(mount_point="/a\nb")]}, "control character"),
        ({"volumes": [volume(mount_point="/srv", filesystem=None)]}, "declare its filesystem"),
        (
            {"volumes": [volume(size="100%FREE"), volume(name="pieces", size="100%FREE")]},
            "Only one volume can take 100%FREE; these do: bits, pieces",
        ),
        ({"volumes": [volume(size="60%"), volume(name="pieces", size="41%")]}, "add up to 101%"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words) as caught:
        wanted_pool(given(**changes))
    assert str(caught.value).endswith(".")


def test_only_tools_that_are_used_are_asked_for() -> None:
    assert "mkfs.xfs" not in tools_for(wanted_pool(given(volumes=[volume()])))
    assert tools_for(wanted_pool(given(volumes=[volume()])))["resize2fs"] == "e2fsprogs"
    assert tools_for(wanted_pool(given(volumes=[volume(filesystem="xfs")])))["xfs_growfs"] == "xfsprogs"
    assert tools_for(wanted_pool(given()))["sgdisk"] == "gdisk"
