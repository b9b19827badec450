"""The observer on captured hosts: what is somebody else's, and what old owners left."""

from __future__ import annotations

import os
from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    Wanted,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.observe import (
    observe_pool,
    probe_regions,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.signatures import scan_command

from .host_capture import CapturedHost, CapturedRunner, lay_out, observe
from .observed import FOUR, MIB, RELEASES, SIX, disk, only_array, said


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


class Answers(CapturedRunner):
    """Answers every probe with one text."""

    def __init__(self, text: str) -> None:
        super().__init__([])
        self.text = text

    def run(
        self,
        argv: Sequence[str],
        accept: Container[int] = (0,),
        data: bytes | None = None,
        timeout: float | None = None,
        tied: bool = False,
    ) -> str:
        self.answers[tuple(argv)] = (0, self.text, "")
        return super().run(argv, accept, data, timeout, tied)


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
