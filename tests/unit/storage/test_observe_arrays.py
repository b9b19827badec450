"""The observer on captured hosts: what md is doing."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import ObservationFailed
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats import superblock
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    Pool,
    Wanted,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.observe import (
    observe_pool,
)

from .host_capture import CapturedRunner, lay_out, observe
from .observed import FIVE, FOUR, MIB, RELEASES, disk, only_array, slots


def test_a_failed_member_is_faulty_and_a_removed_one_a_stray(tmp_path: Path) -> None:
    failed = only_array(observe("trixie-failed", tmp_path / "a", FOUR))
    removed = only_array(observe("trixie-stray", tmp_path / "b", FOUR))

    assert [member.node for member in failed.members if member.faulty] == ["/dev/vde1"]
    assert failed.strays == ()
    assert "/dev/vde1" not in slots(removed)
    assert removed.strays == ("/dev/vde1",)
    assert removed.missing == failed.missing == 1


def test_a_journal_is_no_stray_for_it_holds_what_was_not_written_yet(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-stray", tmp_path)
    (stray,) = only_array(observe_pool(Wanted("data", FOUR), runner, host)).strays
    partition = (tmp_path / "sys/class/block" / stray.rpartition("/")[2]).resolve()
    start = int((partition / "start").read_text()) * 512
    for file, at in ((stray, superblock.OFFSET), (f"/dev/{partition.parent.name}", start + superblock.OFFSET)):
        with (tmp_path / file.lstrip("/")).open("r+b") as device:
            device.seek(at)
            block = bytearray(device.read(superblock.LENGTH))
            features, number, most = (struct.unpack_from("<I", block, offset)[0] for offset in (8, 160, 220))
            struct.pack_into("<I", block, 8, features | 512)  # MD_FEATURE_JOURNAL
            struct.pack_into("<H", block, 256 + 2 * number, 0xFFFD)  # MD_DISK_ROLE_JOURNAL
            struct.pack_into("<I", block, 216, superblock._checksum(bytes(block), most))
            device.seek(at)
            device.write(block)

    assert only_array(observe_pool(Wanted("data", FOUR), runner, host)).strays == ()


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


def test_members_that_wait_beside_an_array_that_is_not_started_count(tmp_path: Path) -> None:
    host, runner = lay_out("trixie-inactive-reshape", tmp_path)
    bound = tmp_path / "sys/block/md127/md/dev-vdc1"
    assert bound.is_dir()
    shutil.rmtree(bound)
    array = only_array(observe_pool(Wanted("data", FIVE), runner, host))

    assert array.scattered
    assert slots(array) == {"/dev/vdb1": 0, "/dev/vdc1": 1, "/dev/vdd1": 2, "/dev/vde1": 3, "/dev/vdf1": 4}


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


class BusyHost(CapturedRunner):
    """While LVM reports, somebody starts or stops the array."""

    def __init__(self, answers: CapturedRunner, state: Path, changes: int) -> None:
        super().__init__([])
        self.answers = answers.answers
        self.state = state
        self.changes = changes

    def run(self, argv: Sequence[str], *arguments: Any, **options: Any) -> str:
        output = super().run(argv, *arguments, **options)
        if self.changes:
            self.changes -= 1
            self.state.write_text("clean" if self.state.read_text().strip() == "inactive" else "inactive")
        return output


def look(tmp_path: Path, changes: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Pool, int]:
    """Observe a pool whose array is started when LVM has reported, and so on; return it and how often LVM reported."""
    monkeypatch.setattr(f"{observe_pool.__module__}._PAUSE", 0.001)
    host, answers = lay_out("trixie-whole", tmp_path)
    state = tmp_path / "sys/devices/virtual/block/md127/md/array_state"
    state.write_text("inactive")
    runner = BusyHost(answers, state, changes)
    return observe_pool(Wanted("data", FOUR), runner, host), len(runner.ran)


def test_an_array_that_udev_starts_meanwhile_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, reports = look(tmp_path, 1, monkeypatch)
    assert reports == 2
    assert only_array(pool).active
    assert pool.group is not None
    assert pool.group.foreign == ()


def test_arrays_that_never_come_to_rest_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ObservationFailed, match="start and stop while it is looked at"):
        look(tmp_path, 1000, monkeypatch)
