"""The observer on captured hosts: files that outlive a boot."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    Replacement,
    Size,
    Wanted,
    WantedVolume,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.observe import (
    observe_pool,
)

from .host_capture import CapturedHost, CapturedRunner, lay_out, observe
from .observed import FOUR, disk, only_array


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
