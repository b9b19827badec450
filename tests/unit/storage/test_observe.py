"""The observer on captured hosts: disks, the group and its volumes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    Wanted,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.observe import (
    observe_pool,
)

from .host_capture import lay_out, observe
from .observed import FOUR, MIB, RELEASES, disk, only_array, said, slots


@RELEASES
def test_a_whole_pool_costs_one_process(release: str, tmp_path: Path) -> None:
    host, runner = lay_out(f"{release}-whole", tmp_path)

    pool = observe_pool(Wanted("data", FOUR), runner, host)

    assert [argv[:2] for argv in runner.ran] == [("lvm", "fullreport")]
    array = only_array(pool)
    assert (array.name, array.index, array.node) == ("data-0", 0, "/dev/md127")
    assert (array.level, array.devices, array.chunk) == (5, 4, 512 * 1024)
    assert (array.component_size, array.data_offset) == (94 * MIB, 4 * MIB)
    assert array.slice_size == (206814 - 2048 + 1) * 512
    assert array.size_now == array.size == 282 * MIB
    assert array.settled
    assert array.missing == 0
    assert slots(array) == {"/dev/vdb1": 0, "/dev/vdc1": 1, "/dev/vdd1": 2, "/dev/vde1": 3}
    assert array.strays == ()


@RELEASES
def test_the_disks_of_a_whole_pool_are_its_own(release: str, tmp_path: Path) -> None:
    pool = observe(f"{release}-whole", tmp_path, FOUR)

    assert [each.path for each in pool.disks] == list(FOUR)
    assert all(not (each.foreign or each.in_use or each.foreign_arrays) for each in pool.disks)
    assert all(each.has_gpt and each.gpt_end == each.usable_end for each in pool.disks)
    assert all(part.in_kernel and part.superblock for each in pool.disks for part in each.partitions)
    assert disk(pool, "/dev/vdb").serial == "SN1"
    assert pool.twins == ()
    assert pool.absent == ()


@RELEASES
def test_the_group_and_its_volumes(release: str, tmp_path: Path) -> None:
    pool = observe(f"{release}-whole", tmp_path, FOUR)

    assert pool.group is not None
    assert (pool.group.extents, pool.group.extent_size, pool.group.foreign) == (70, 4 * MIB, ())
    (physical,) = pool.group.volumes
    assert (physical.array, physical.node, physical.pe_start) == ("data-0", "/dev/md127", 1572864)
    bits, pieces = pool.volumes
    assert (bits.name, bits.extents, bits.filesystem, bits.filesystem_size) == ("bits", 25, "ext4", 100 * MIB)
    assert bits.mounted_on == ("/srv/bits",)
    assert (pieces.name, pieces.filesystem, pieces.filesystem_size, pieces.mounted_on) == ("pieces", "", 0, ())
    assert bits.active
    assert pieces.active


def test_undeclared_members_are_seen_and_paths_that_lead_nowhere_are_absent(tmp_path: Path) -> None:
    pool = observe("trixie-whole", tmp_path, ("/dev/vdb", "/dev/disk/by-id/gone"))

    assert pool.absent == ("/dev/disk/by-id/gone",)
    assert [(each.node, each.declared) for each in pool.disks] == [(node, node == "/dev/vdb") for node in FOUR]
    assert pool.resolved == (("/dev/vdb", "/dev/vdb"),)


def test_links_are_followed_and_two_paths_to_one_disk_are_told(tmp_path: Path) -> None:
    link = "/dev/disk/by-id/virtio-SN1"
    pool = observe("trixie-whole", tmp_path, (link, *FOUR))

    assert disk(pool, "/dev/vdb").path == link
    assert pool.twins == ((link, "/dev/vdb"),)
    assert dict(pool.resolved)[link] == "/dev/vdb"


def test_one_disk_behind_two_nodes_is_told(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    for name in ("vdb", "vdd"):
        number = host.text(f"/sys/block/{name}/dev")
        (tmp_path / f"run/udev/data/b{number}").write_text("E:ID_SERIAL=same\n")

    pool = observe_pool(Wanted("data", FOUR), runner, host)

    assert pool.twins == (("/dev/vdb", "/dev/vdd"),)


def test_one_serial_with_two_world_wide_names_is_two_disks(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    for name in ("vdb", "vdd"):
        number = host.text(f"/sys/block/{name}/dev")
        (tmp_path / f"run/udev/data/b{number}").write_text(f"E:ID_SERIAL_SHORT=same\nE:ID_WWN=0x5000{name}\n")

    pool = observe_pool(Wanted("data", FOUR), runner, host)

    assert pool.twins == ()
    assert disk(pool, "/dev/vdb").wwn == "0x5000vdb"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/dev/vdb1", ("partition", "/dev/vdb")),
        ("/dev/md127", ("md array",)),
        ("/dev/dm-0", ("device-mapper",)),
        ("/etc", ("no block device",)),
    ],
)
def test_what_is_no_disk_is_foreign_and_cannot_be_wiped(path: str, words: tuple[str, ...], tmp_path: Path) -> None:
    pool = observe("trixie-whole", tmp_path, (path,))

    (odd,) = (each for each in pool.disks if each.path == path)
    assert said(odd.foreign, *words)
    assert odd.in_use == odd.foreign


def test_a_disk_that_cannot_be_read_is_never_taken_for_blank(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    node = tmp_path / "dev/vdb"
    node.unlink()
    node.mkdir()  # reading it fails, whoever runs the test

    pool = observe_pool(Wanted("data", FOUR), runner, host)

    assert said(disk(pool, "/dev/vdb").foreign, "cannot be read")
    assert disk(pool, "/dev/vdb").in_use
    assert not only_array(pool).missing


def test_a_read_only_disk(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    (tmp_path / "sys/block/vdb").resolve().joinpath("ro").write_text("1\n")

    assert disk(observe_pool(Wanted("data", FOUR), runner, host), "/dev/vdb").read_only


def test_a_partition_that_the_kernel_has_elsewhere_is_not_in_the_kernel(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    (tmp_path / "sys/block/vdb").resolve().joinpath("vdb1/start").write_text("4096\n")

    pool = observe_pool(Wanted("data", FOUR), runner, host)

    assert [each.partitions[0].in_kernel for each in pool.disks] == [False, True, True, True]
    assert disk(pool, "/dev/vdb").partitions[0].superblock is not None


def test_a_disk_that_grew_offers_no_more_until_the_backup_moves(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    os.truncate(tmp_path / "dev/vdb", 201 * MIB)
    (tmp_path / "sys/block/vdb").resolve().joinpath("size").write_text(f"{201 * 2048}\n")

    grown = disk(observe_pool(Wanted("data", FOUR), runner, host), "/dev/vdb")

    assert (grown.size, grown.gpt_end) == (201 * MIB, 206815 * 512)
    assert grown.usable_end > grown.gpt_end
    assert grown.foreign == ()


def test_a_table_for_a_larger_disk_is_foreign(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    os.truncate(tmp_path / "dev/vdb", 51 * MIB)
    (tmp_path / "sys/block/vdb").resolve().joinpath("size").write_text(f"{51 * 2048}\n")

    shrunk = disk(observe_pool(Wanted("data", FOUR), runner, host), "/dev/vdb")

    assert said(shrunk.foreign, "larger disk")


def test_a_damaged_table_is_foreign_also_when_its_backup_is_whole(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    with (tmp_path / "dev/vdb").open("r+b") as file:
        file.seek(512)
        file.write(b"?")

    damaged = disk(observe_pool(Wanted("data", FOUR), runner, host), "/dev/vdb")

    assert said(damaged.foreign, "damaged", "backup")
    assert damaged.partitions[0].superblock is not None
