"""The observer on captured hosts: each state of a pool that planners have to tell apart."""

from __future__ import annotations

import os
import shutil
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    Array,
    Disk,
    Pool,
    Replacement,
    Size,
    Wanted,
    WantedVolume,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.observe import (
    observe_pool,
    probe_regions,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.signatures import scan_command

from .host_capture import CapturedHost, CapturedRunner, lay_out, observe

MIB = 1024 * 1024
FOUR = ("/dev/vdb", "/dev/vdc", "/dev/vdd", "/dev/vde")
FIVE = (*FOUR, "/dev/vdf")
SIX = (*FIVE, "/dev/vdg")
RELEASES = pytest.mark.parametrize("release", ["trixie", "bookworm"])


def only_array(pool: Pool) -> Array:
    (array,) = pool.arrays
    return array


def disk(pool: Pool, node: str) -> Disk:
    found = pool.disk(node)
    assert found is not None
    return found


def slots(array: Array) -> dict[str, int | None]:
    return {member.node: member.slot for member in array.members}


def said(sentences: Iterable[str], *words: str) -> bool:
    """Whether one of the sentences has all the words."""
    return any(all(word in sentence for word in words) for sentence in sentences)


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


# What md is doing


def test_a_failed_member_is_faulty_and_a_removed_one_a_stray(tmp_path: Path) -> None:
    failed = only_array(observe("trixie-failed", tmp_path / "a", FOUR))
    removed = only_array(observe("trixie-stray", tmp_path / "b", FOUR))

    assert [member.node for member in failed.members if member.faulty] == ["/dev/vde1"]
    assert failed.strays == ()
    assert "/dev/vde1" not in slots(removed)
    assert removed.strays == ("/dev/vde1",)
    assert removed.missing == failed.missing == 1


def test_an_outdated_copy_is_not_foreign(tmp_path: Path) -> None:
    pool = observe("trixie-stray", tmp_path, FOUR)

    assert disk(pool, "/dev/vde").foreign == ()
    assert disk(pool, "/dev/vde").partitions[0].superblock is not None


def test_a_rebuild(tmp_path: Path) -> None:
    array = only_array(observe("trixie-recovering", tmp_path, FOUR))

    (member,) = (each for each in array.members if not each.in_sync)
    assert (member.node, member.slot) == ("/dev/vde1", 3)
    assert array.activity is not None
    assert array.activity.action == "recover"
    assert 0 < array.activity.done < array.activity.total == 94 * MIB
    assert array.activity.speed > 0
    assert array.missing == 1


def test_a_rebuild_that_waits_for_a_write_after_a_reset(tmp_path: Path) -> None:
    array = only_array(observe("trixie-recovery-pending", tmp_path, FOUR))

    assert array.auto_read_only
    assert array.activity is not None
    assert (array.activity.action, array.activity.delayed) == ("recover", True)
    assert not array.settled


def test_a_spare(tmp_path: Path) -> None:
    array = only_array(observe("trixie-spare", tmp_path, FIVE))

    assert [member.node for member in array.members if member.spare] == ["/dev/vdf1"]
    assert array.missing == 0
    assert array.settled


def test_a_wish_for_replacement_and_a_replacement_under_way(tmp_path: Path) -> None:
    wished = only_array(observe("trixie-want", tmp_path / "a", FIVE))
    replacing = only_array(observe("trixie-replacing", tmp_path / "b", FIVE))

    assert [member.node for member in wished.members if member.want_replacement] == ["/dev/vdb1"]
    assert wished.activity is None
    (new,) = (member for member in replacing.members if member.replacement)
    assert (new.node, new.slot, new.in_sync) == ("/dev/vdf1", 0, False)
    assert replacing.activity is not None
    assert replacing.activity.action == "recover"
    assert replacing.missing == 0


def test_a_check(tmp_path: Path) -> None:
    array = only_array(observe("trixie-check", tmp_path, FOUR))

    assert array.activity is not None
    assert array.activity.action == "check"
    assert not array.settled


def test_an_array_that_a_dead_mdadm_has_frozen(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-frozen", tmp_path)
    array = only_array(observe_pool(Wanted("data", FOUR), runner, host))
    assert (array.frozen, array.activity) == (True, None)

    lay_out_helper(tmp_path)
    assert not only_array(observe_pool(Wanted("data", FOUR), runner, host)).frozen


@RELEASES
def test_a_reshape_under_way(release: str, tmp_path: Path) -> None:
    array = only_array(observe(f"{release}-reshape", tmp_path, FIVE))

    assert (array.devices, array.previous_devices) == (5, 4)
    assert array.activity is not None
    assert (array.activity.action, array.activity.total) == ("reshape", 94 * MIB)
    assert not array.hidden_reshape
    assert array.size_now == 282 * MIB
    assert array.size == 376 * MIB


@RELEASES
def test_a_reshape_that_a_reset_has_hidden(release: str, tmp_path: Path) -> None:
    array = only_array(observe(f"{release}-hidden", tmp_path, FIVE))

    assert array.hidden_reshape
    assert array.auto_read_only
    assert array.activity is None
    assert (array.devices, array.previous_devices, array.size_now) == (5, 4, 282 * MIB)
    assert not array.settled


def lay_out_helper(root: Path) -> None:
    folder = root / "proc/700/fd"
    folder.mkdir(parents=True)
    (folder.parent / "comm").write_text("mdadm\n")
    (folder / "3").symlink_to("/sys/devices/virtual/block/md127/md/sync_action")


def test_a_suspended_range_counts_only_when_nobody_works_on_it(tmp_path: Path) -> None:
    host, runner = lay_out("bookworm-suspended", tmp_path)
    assert only_array(observe_pool(Wanted("data", FIVE), runner, host)).suspended

    lay_out_helper(tmp_path)
    assert not only_array(observe_pool(Wanted("data", FIVE), runner, host)).suspended


def test_an_array_inside_a_reshape_that_nobody_could_start(tmp_path: Path) -> None:
    pool = observe("trixie-inactive-reshape", tmp_path, FIVE)
    array = only_array(pool)

    assert (array.active, array.assembled, array.node) == (False, True, "/dev/md127")
    assert array.reshaping
    assert (array.level, array.devices, array.previous_devices) == (5, 5, 4)
    assert slots(array) == {"/dev/vdb1": 0, "/dev/vdc1": 1, "/dev/vdd1": 2, "/dev/vde1": 3, "/dev/vdf1": 4}
    assert pool.group is None


def test_arrays_that_are_not_assembled_are_told_by_their_superblocks(tmp_path: Path) -> None:
    pool = observe("trixie-at-rest", tmp_path, FOUR)
    array = only_array(pool)

    assert (array.active, array.assembled, array.node) == (False, False, "/dev/md/data-0")
    assert (array.level, array.devices, array.chunk, array.component_size) == (5, 4, 512 * 1024, 94 * MIB)
    assert slots(array) == {"/dev/vdb1": 0, "/dev/vdc1": 1, "/dev/vdd1": 2, "/dev/vde1": 3}
    assert array.missing == 0
    assert array.bitmap
    assert array.slice_size == (206814 - 2048 + 1) * 512


def test_an_array_that_waits_for_a_disk_swapped_while_the_host_was_off(tmp_path: Path) -> None:
    pool = observe("bookworm-swapped-off", tmp_path, FOUR)
    array = only_array(pool)

    assert (array.active, array.assembled, array.node) == (False, True, "/dev/md127")
    assert slots(array) == {"/dev/vdb1": 0, "/dev/vdd1": 2, "/dev/vde1": 3}
    assert (array.devices, array.missing) == (4, 1)
    assert (disk(pool, "/dev/vdc").has_gpt, disk(pool, "/dev/vdc").foreign) == (False, ())


@RELEASES
def test_a_disk_pulled_while_in_use(release: str, tmp_path: Path) -> None:
    pool = observe(f"{release}-unplugged", tmp_path, FOUR)

    assert pool.absent == ("/dev/vdc",)
    assert only_array(pool).missing == 1
    assert all(member.node != "/dev/vdc1" for member in only_array(pool).members)


@RELEASES
def test_a_blank_disk_in_the_place_of_the_pulled_one_is_no_member(release: str, tmp_path: Path) -> None:
    pool = observe(f"{release}-blank-in-its-place", tmp_path, FOUR)

    blank = disk(pool, "/dev/vdc")
    assert (blank.serial, blank.has_gpt, blank.partitions) == ("SN9", False, ())
    assert (blank.foreign, blank.in_use) == ((), ())
    assert all(member.disk != "/dev/vdc" for member in only_array(pool).members)
    assert only_array(pool).missing == 1


def test_the_name_of_a_member_that_is_gone_is_not_taken_from_its_successor(tmp_path: Path) -> None:
    """md keeps the entry dev-vdc1 of a disk that was pulled; the next disk in that place is vdc again."""
    host, runner = lay_out("trixie-whole", tmp_path)
    (tmp_path / "sys/block/vdc").resolve().joinpath("vdc1/holders/md127").unlink()
    (tmp_path / "sys/block/md127").resolve().joinpath("md/dev-vdc1/state").write_text("faulty\n")

    array = only_array(observe_pool(Wanted("data", FOUR), runner, host))

    (gone,) = (member for member in array.members if member.faulty)
    assert (gone.node, gone.disk) == ("", "")


# What is somebody else's


@RELEASES
def test_everything_of_others_is_named(release: str, tmp_path: Path) -> None:
    pool = observe(f"{release}-foreign", tmp_path, SIX)

    mixed, whole = disk(pool, "/dev/vdf"), disk(pool, "/dev/vdg")
    assert said(mixed.foreign, "partition 1 'home'", "ext4 file system 'home'")
    assert said(mixed.foreign, "partition 2 'swap'", "swap area 'sw'")
    assert said(mixed.foreign, "partition 3", "LVM physical volume")
    assert said(mixed.foreign, "partition 4 'data-0'", "ext4 file system 'inside'")
    assert said(mixed.in_use, "/dev/vdf1 is mounted on /mnt/h")
    assert said(mixed.in_use, "/dev/vdf2 is used as swap")
    assert set(mixed.in_use) <= set(mixed.foreign)
    assert mixed.partitions[3].signatures == ("ext4 file system 'inside'",)
    assert said(whole.foreign, "whole disk", "ext4 file system 'whole'")
    assert whole.in_use == ()


@RELEASES
def test_one_process_names_all_signatures(release: str, tmp_path: Path) -> None:
    host, runner = lay_out(f"{release}-foreign", tmp_path)

    observe_pool(Wanted("data", SIX), runner, host)

    assert [argv[0] for argv in runner.ran] == ["lvm", "wipefs"]


def test_another_array_of_the_same_name_is_foreign_and_the_one_below_the_group_is_meant(tmp_path: Path) -> None:
    pool = observe("trixie-conflict", tmp_path, SIX)

    array = only_array(pool)
    assert (array.node, array.level) == ("/dev/md127", 5)
    intruder = disk(pool, "/dev/vdf")
    assert said(intruder.foreign, "another array named data-0", array.uuid)
    assert intruder.foreign_arrays == ("/dev/md126",)
    assert intruder.in_use == ()


def test_a_foreign_array_that_something_uses_is_in_use(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-conflict", tmp_path)
    host.busy_nodes.add("/dev/md126")

    intruder = disk(observe_pool(Wanted("data", SIX), runner, host), "/dev/vdf")

    assert intruder.foreign_arrays == ()
    assert said(intruder.in_use, "/dev/md126", "in use")


def test_of_two_arrays_at_rest_the_one_with_more_members_is_meant(tmp_path: Path) -> None:
    pool = observe("trixie-at-rest", tmp_path, SIX)

    assert only_array(pool).devices == 4
    assert said(disk(pool, "/dev/vdg").foreign, "another array named data-0")


def test_a_group_on_something_else_than_the_pools_arrays_is_foreign(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    lvm = next(argv for argv in runner.answers if argv[0] == "lvm")
    rc, out, err = runner.answers[lvm]
    runner.answers[lvm] = (
        rc,
        out.replace('"pv_name":"/dev/md127", "pv_major":"9"', '"pv_name":"/dev/sda", "pv_major":"8"'),
        err,
    )

    group = observe_pool(Wanted("data", FOUR), runner, host).group

    assert group is not None
    assert (group.volumes, group.foreign) == ((), ("/dev/sda",))


def test_a_disk_below_a_device_mapper_device_is_in_use(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    (tmp_path / "sys/block/vdb").resolve().joinpath("holders/dm-0").mkdir()

    held = disk(observe_pool(Wanted("data", FOUR), runner, host), "/dev/vdb")

    assert said(held.in_use, "/dev/vdb is held by /dev/dm-0", "data-bits")


def test_a_disk_that_lost_its_table_below_a_running_array_is_in_use(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    with (tmp_path / "dev/vdb").open("r+b") as file:
        file.write(bytes(24 * 1024))
        file.seek(-17408, os.SEEK_END)
        file.write(bytes(17408))
    runner.answers[scan_command(["/dev/vdb"])] = (0, "", "")

    zapped = disk(observe_pool(Wanted("data", FOUR), runner, host), "/dev/vdb")

    assert not zapped.has_gpt
    assert said(zapped.in_use, "/dev/md127 runs on /dev/vdb1", "does not list")


def test_a_blank_disk_that_somebody_holds_is_in_use(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-blank-in-its-place", tmp_path)
    host.busy_nodes.add("/dev/vdc")

    assert disk(observe_pool(Wanted("data", FOUR), runner, host), "/dev/vdc").in_use


def test_a_disk_that_wipefs_cannot_read_is_foreign(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-foreign", tmp_path)
    command = next(argv for argv in runner.answers if argv[0] == "wipefs")
    nodes = [word for word in command if word.startswith("/dev/")]
    runner.answers[command] = (1, "", "wipefs: error: /dev/vdg: probing initialization failed: Input/output error")
    for node in nodes:
        runner.answers[scan_command([node])] = (0, "", "")
    runner.answers[scan_command(["/dev/vdg"])] = runner.answers[command]

    pool = observe_pool(Wanted("data", SIX), runner, host)

    assert said(disk(pool, "/dev/vdg").foreign, "cannot be read", "Input/output error")


# Files


def with_files(tmp_path: Path, **files: str) -> tuple[CapturedHost, CapturedRunner]:
    host, runner = lay_out("trixie-whole", tmp_path)
    for name, text in files.items():
        path = tmp_path / "etc" / {"fstab": "fstab", "mdadm": "mdadm/mdadm.conf"}[name]
        path.write_text(text)
    (tmp_path / "usr/sbin").mkdir(parents=True, exist_ok=True)
    (tmp_path / "usr/sbin/update-initramfs").touch()
    return host, runner


def test_fstab_is_read_for_the_pool_and_for_wanted_mount_points(tmp_path: Path) -> None:
    host, runner = with_files(tmp_path, fstab="/dev/mapper/data-bits /srv/bits ext4 noatime 0 2\ntmpfs /srv/p tmpfs\n")
    volumes = (
        WantedVolume("bits", Size(bytes=1), "ext4", "/srv/bits"),
        WantedVolume("pieces", Size(bytes=1), "ext4", "/srv/p"),
    )

    pool = observe_pool(Wanted("data", FOUR, volumes=volumes), runner, host)

    (mount,) = pool.mounts
    assert (mount.device, mount.mount_point, mount.options) == ("/dev/data/bits", "/srv/bits", "noatime")
    assert pool.taken_mount_points == (("/srv/p", "tmpfs"),)


LINE = "ARRAY /dev/md/data-0 metadata=1.2 name=any:data-0 UUID={}\n"


@pytest.mark.parametrize(("conf_age", "stale"), [(-1, False), (0, True), (1, True)])
def test_an_image_as_old_as_the_configuration_is_stale(conf_age: int, stale: bool, tmp_path: Path) -> None:
    host, runner = with_files(tmp_path, mdadm=LINE.format("1" * 8))
    (image,) = (tmp_path / "boot").glob("initrd.img-*")
    made = 1_700_000_000_000_000_000
    os.utime(image, ns=(made, made))
    os.utime(tmp_path / "etc/mdadm/mdadm.conf", ns=(made + conf_age, made + conf_age))

    pool = observe_pool(Wanted("data", FOUR), runner, host)

    assert pool.has_initramfs
    assert pool.initramfs_stale is stale


def test_a_configuration_without_the_pool_makes_no_image_stale(tmp_path: Path) -> None:
    host, runner = with_files(tmp_path, mdadm="MAILADDR root\n")

    pool = observe_pool(Wanted("data", FOUR), runner, host)

    assert (pool.recorded, pool.initramfs_stale) == ((), False)


def test_arrays_recorded_under_another_name_are_known_by_their_uuid(tmp_path: Path) -> None:
    uuid = only_array(observe("trixie-whole", tmp_path / "a", FOUR)).uuid
    host, runner = with_files(tmp_path / "b", mdadm=f"ARRAY /dev/md7 UUID={uuid}\n")

    assert observe_pool(Wanted("data", FOUR), runner, host).recorded == (("/dev/md7", uuid),)


def test_files_beside_the_configuration_are_read_as_mdadm_reads_them(tmp_path: Path) -> None:
    host, runner = with_files(tmp_path, mdadm=LINE.format("1" * 32))
    folder = tmp_path / "etc/mdadm/mdadm.conf.d"
    folder.mkdir()
    (folder / "old.conf").write_text("ARRAY /dev/md/data-0\n")
    (folder / ".hidden.conf").write_text("ARRAY /dev/md/data-7\n")
    (folder / "old.conf.orig").write_text("ARRAY /dev/md/data-8\n")
    (image,) = (tmp_path / "boot").glob("initrd.img-*")
    made = 1_700_000_000_000_000_000
    for path, age in ((image, 0), (tmp_path / "etc/mdadm/mdadm.conf", -9), (folder / "old.conf", 1)):
        os.utime(path, ns=(made + age, made + age))

    pool = observe_pool(Wanted("data", FOUR), runner, host)

    uuid = "11111111:11111111:11111111:11111111"
    assert pool.recorded == (("/dev/md/data-0", uuid), ("/dev/md/data-0", ""))
    assert pool.initramfs_stale
    os.utime(folder / "old.conf", ns=(made - 1, made - 1))
    assert not observe_pool(Wanted("data", FOUR), runner, host).initramfs_stale


def test_a_host_without_initramfs_tools_has_none(tmp_path: Path) -> None:
    host, runner = with_files(tmp_path)
    shutil.rmtree(tmp_path / "usr")

    assert not observe_pool(Wanted("data", FOUR), runner, host).has_initramfs


def test_an_inactive_volume_is_unknown_and_never_blank(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    lvm = next(argv for argv in runner.answers if argv[0] == "lvm")
    rc, out, err = runner.answers[lvm]
    runner.answers[lvm] = (rc, out.replace('"lv_kernel_major":"252"', '"lv_kernel_major":"-1"'), err)

    pool = observe_pool(Wanted("data", FOUR), runner, host)

    assert [(volume.filesystem, volume.active) for volume in pool.volumes] == [("unknown", False)] * 2


def test_the_disk_to_be_replaced_is_observed_although_it_is_not_declared(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-whole", tmp_path)
    want = Wanted("data", FOUR[1:], replace=(Replacement("/dev/disk/by-id/virtio-SN1", "/dev/vde"),))

    pool = observe_pool(want, runner, host)

    assert pool.node_of("/dev/disk/by-id/virtio-SN1") == "/dev/vdb"
    assert not disk(pool, "/dev/vdb").declared


# Old signatures in the places of slices to come


class Answers(CapturedRunner):
    """Answers every probe with one text."""

    def __init__(self, text: str) -> None:
        super().__init__([])
        self.text = text

    def run(self, argv: Sequence[str], accept: Container[int] = (0,), data: bytes | None = None) -> str:
        self.answers[tuple(argv)] = (0, self.text, "")
        return super().run(argv, accept, data)


def test_an_old_signature_in_the_place_of_a_slice_is_foreign(tmp_path: Path) -> None:
    pool = observe("trixie-whole", tmp_path, FOUR)
    runner = Answers("UUID=11111111-2222-3333-4444-555555555555\nLABEL=host:old\nUSAGE=raid\nTYPE=linux_raid_member\n")

    probed = probe_regions(pool, [("/dev/vdb", MIB, 10 * MIB)], runner, CapturedHost(tmp_path, {}))

    assert runner.ran == [
        ("blkid", "--probe", "--output", "export", "--offset", str(MIB), "--size", str(10 * MIB), "/dev/vdb")
    ]
    assert said(disk(probed, "/dev/vdb").foreign, "md member 'host:old'", "1 MiB")
    assert disk(probed, "/dev/vdc").foreign == ()


def test_an_old_copy_of_a_running_array_of_the_pool_may_be_overwritten(tmp_path: Path) -> None:
    pool = observe("trixie-whole", tmp_path, FOUR)
    runner = Answers(f"UUID={only_array(pool).uuid}\nUSAGE=raid\nTYPE=linux_raid_member\n")
    host = CapturedHost(tmp_path, {})
    region = [("/dev/vdb", MIB, 10 * MIB)]

    assert probe_regions(pool, region, runner, host) == pool
    asleep = replace(pool, arrays=(replace(only_array(pool), active=False),))
    assert disk(probe_regions(asleep, region, runner, host), "/dev/vdb").foreign


def test_nothing_found_in_a_region_changes_nothing(tmp_path: Path) -> None:
    pool = observe("trixie-whole", tmp_path, FOUR)

    assert probe_regions(pool, [("/dev/vdb", 0, MIB)], Answers(""), CapturedHost(tmp_path, {})) == pool
