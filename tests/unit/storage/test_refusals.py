# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is refused, in which words, and what becomes of each disk."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.growth import after_plan, plan_pool
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    MIB,
    Group,
    Replacement,
    Size,
    Superblock,
    WantedVolume,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.refusals import findings
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.steps.disks import WipeDisk
from tests.unit.storage.simulated_host import SimulatedHost, pool_of


def refused(host: SimulatedHost) -> str:
    with pytest.raises(Refusal) as caught:
        plan_pool(host.pool, host.want)
    words = str(caught.value)
    assert words.endswith("Nothing was changed.")
    return words


def titles(host: SimulatedHost) -> list[str]:
    return [step.title for step in plan_pool(host.pool, host.want)]


def said(host: SimulatedHost) -> str:
    return " ".join(findings(host.pool, host.want))


def change_disk(host: SimulatedHost, number: int, **facts: t.Any) -> None:
    node = f"/dev/sd{number}x"
    disks = tuple(replace(disk, **facts) if disk.node == node else disk for disk in host.pool.disks)
    host.pool = replace(host.pool, disks=disks)


def undeclare(host: SimulatedHost, number: int) -> None:
    path = f"/dev/disk/by-id/{number}"
    change_disk(host, number, path="")
    host.want = replace(host.want, disks=tuple(each for each in host.want.disks if each != path))


def fail_member(host: SimulatedHost, number: int) -> None:
    node = f"/dev/sd{number}x"
    arrays = tuple(
        replace(
            array,
            members=tuple(
                replace(m, faulty=True, in_sync=False, slot=None) if m.disk == node else m for m in array.members
            ),
        )
        for array in host.pool.arrays
    )
    host.pool = replace(host.pool, arrays=arrays)


def return_member(host: SimulatedHost, number: int) -> None:
    """Pull a member and plug it again: its superblocks are there, and the arrays go on without it."""
    node = f"/dev/sd{number}x"
    arrays = tuple(
        replace(
            array,
            members=tuple(member for member in array.members if member.disk != node),
            strays=tuple(member.node for member in array.members if member.disk == node),
        )
        for array in host.pool.arrays
    )
    host.pool = replace(host.pool, arrays=arrays)


@pytest.fixture
def host() -> SimulatedHost:
    return pool_of(*[200 * MIB] * 4)


class TestWhatHappensToEachDisk:
    """The rows of the table in the documentation of raid_pool."""

    def test_declared_present_active_nothing(self, host: SimulatedHost) -> None:
        assert titles(host) == []
        assert said(host) == ""

    def test_declared_absent_stays_degraded_and_is_said(self, host: SimulatedHost) -> None:
        host.pull(2, forget=False)
        assert titles(host) == []
        assert "Array data-0 lacks 1 of 4 members: no further disk may fail." in said(host)
        assert "Declared disk /dev/disk/by-id/2 is not there." in said(host)

    def test_declared_present_failed_stays_out_and_is_said(self, host: SimulatedHost) -> None:
        fail_member(host, 2)
        assert titles(host) == []
        assert "/dev/sd2x1 failed in array data-0." in said(host)

    def test_declared_present_returning_is_taken_back(self, host: SimulatedHost) -> None:
        return_member(host, 2)
        assert titles(host)[0] == "Take back /dev/sd2x1 into array data-0"

    def test_declared_present_blank_beside_an_empty_slot_repairs(self, host: SimulatedHost) -> None:
        host.pull(2)
        host.plug(200 * MIB)
        assert titles(host)[1] == "Add /dev/sd4x1 to array data-0"

    def test_declared_present_blank_in_a_whole_pool_widens(self, host: SimulatedHost) -> None:
        host.plug(200 * MIB)
        assert any(title.startswith("Reshape array data-0 to raid5 of 5") for title in titles(host))

    def test_declared_present_foreign_is_refused_by_name_and_hint(self, host: SimulatedHost) -> None:
        host.plug(200 * MIB, foreign=("ext4 file system 'home'",))
        words = refused(host)
        assert "/dev/disk/by-id/4 holds something that is not the pool's: ext4 file system 'home'." in words
        assert "add its serial 'S4' to 'wipe'" in words

    def test_declared_present_wrong_size_is_refused_where_it_should_repair(self, host: SimulatedHost) -> None:
        host.pull(2)
        host.plug(150 * MIB)
        assert "/dev/disk/by-id/4 is too small to repair array data-0" in refused(host)

    def test_undeclared_present_active_is_left_alone_and_said(self, host: SimulatedHost) -> None:
        undeclare(host, 2)
        assert titles(host) == []
        assert "/dev/sd2x is a member of the pool and not declared." in said(host)

    def test_undeclared_present_failed_gives_way_to_a_blank_disk(self, host: SimulatedHost) -> None:
        fail_member(host, 2)
        undeclare(host, 2)
        host.plug(200 * MIB)
        assert titles(host)[1:3] == ["Remove /dev/sd2x1 from array data-0", "Add /dev/sd4x1 to array data-0"]

    def test_undeclared_present_returning_is_not_taken_back(self, host: SimulatedHost) -> None:
        return_member(host, 2)
        undeclare(host, 2)
        assert titles(host) == []

    def test_undeclared_present_blank_or_foreign_is_never_touched(self, host: SimulatedHost) -> None:
        host.plug(900 * MIB)
        host.plug(900 * MIB, foreign=("ext4 file system",))
        undeclare(host, 4)
        undeclare(host, 5)
        assert titles(host) == []

    def test_undeclared_absent_is_said_as_the_arrays_that_lack_it(self, host: SimulatedHost) -> None:
        host.pull(2)
        assert titles(host) == []
        assert "lacks 1 of 4" in said(host)

    def test_a_healthy_undeclared_member_beside_a_new_disk_points_to_replace(self, host: SimulatedHost) -> None:
        undeclare(host, 2)
        host.plug(200 * MIB)
        words = refused(host)
        assert "list them under 'replace' (old: /dev/sd2x, new: /dev/disk/by-id/4)" in words

    def test_an_outdated_copy_that_nobody_needs_is_left_alone_and_said(self, host: SimulatedHost) -> None:
        return_member(host, 2)
        host.plug(200 * MIB)
        undeclare(host, 2)
        host.run()
        change_disk(host, 2, path="/dev/disk/by-id/2")
        host.want = replace(host.want, disks=(*host.want.disks, "/dev/disk/by-id/2"))
        assert titles(host) == []
        assert "/dev/disk/by-id/2 holds an outdated copy" in said(host)


def test_wipe_takes_a_foreign_disk_by_serial_or_wwn_and_nothing_else(host: SimulatedHost) -> None:
    host.plug(200 * MIB, foreign=("ext4 file system",), wwn="0x5000")
    for name in ("S4", "0x5000"):
        host.want = replace(host.want, wipe=frozenset({name}))
        plan = plan_pool(host.pool, host.want)
        assert isinstance(plan[0], WipeDisk)
        assert [step for step in plan if step.destructive] == [plan[0]]
    host.want = replace(host.want, wipe=frozenset({"S3", ""}))
    assert "holds something" in refused(host)


def test_wipe_never_touches_a_member(host: SimulatedHost) -> None:
    host.want = replace(host.want, wipe=frozenset({"S0", "S1", "S2", "S3"}))
    assert titles(host) == []


def test_wipe_does_not_overrule_use(host: SimulatedHost) -> None:
    host.plug(200 * MIB, foreign=("mounted on /home",), in_use=("mounted on /home",))
    host.want = replace(host.want, wipe=frozenset({"S4"}))
    assert "is named in 'wipe' but is in use: mounted on /home" in refused(host)


def test_a_wiped_disk_is_used(host: SimulatedHost) -> None:
    host.plug(200 * MIB, foreign=("ext4 file system",))
    host.want = replace(host.want, wipe=frozenset({"S4"}))
    host.pool = after_plan(host.pool, plan_pool(host.pool, host.want))
    assert host.array(0).devices == 5


def test_one_disk_by_two_paths(host: SimulatedHost) -> None:
    host.pool = replace(host.pool, twins=(("/dev/a", "/dev/b"),))
    assert "/dev/a and /dev/b are the same disk" in refused(host)


def test_mixed_sector_sizes(host: SimulatedHost) -> None:
    host.plug(200 * MIB, sector=4096)
    words = refused(host)
    assert "512 bytes" in words
    assert "/dev/disk/by-id/4 has 4096 bytes" in words


def test_a_volume_group_of_somebody_else() -> None:
    host = SimulatedHost()
    for _disk in range(2):
        host.plug(200 * MIB)
    host.pool = replace(host.pool, group=Group("data", 4 * MIB, foreign=("/dev/sdz",)))
    assert "A volume group data exists that is not this pool's (it is on /dev/sdz)" in refused(host)


def test_a_group_that_also_stands_on_a_strange_disk(host: SimulatedHost) -> None:
    group = host.pool.group
    assert group is not None
    host.pool = replace(host.pool, group=replace(group, foreign=("/dev/sdz",)))
    assert "it is on /dev/sdz" in refused(host)


def test_a_read_only_disk(host: SimulatedHost) -> None:
    host.plug(200 * MIB, read_only=True)
    assert "/dev/disk/by-id/4 is read-only" in refused(host)


def test_a_disk_with_bad_blocks_on_record(host: SimulatedHost) -> None:
    return_member(host, 2)
    block = Superblock("u", "d", "data-0", "any", 5, 4, 1, 2, False, 0, 0, 0, True, True, False)
    disk = host.pool.disk("/dev/sd2x")
    assert disk is not None
    change_disk(host, 2, partitions=tuple(replace(part, superblock=block) for part in disk.partitions))
    assert "/dev/disk/by-id/2 has blocks that md has listed as bad" in refused(host)


@pytest.mark.parametrize(("made", "declared"), [(1, 2), (2, 1)])
def test_another_redundancy(made: int, declared: int) -> None:
    host = pool_of(*[200 * MIB] * 4, redundancy=made)
    host.want = replace(host.want, redundancy=declared)
    assert f"made for redundancy {made}, but {declared} is declared" in refused(host)


def test_a_new_pool_with_a_disk_that_is_not_there() -> None:
    host = SimulatedHost()
    for _disk in range(3):
        host.plug(200 * MIB)
    host.pull(1, forget=False)
    assert "/dev/disk/by-id/1 is not there; a new pool needs every disk declared" in refused(host)


def test_a_disk_smaller_than_the_smallest_slice(host: SimulatedHost) -> None:
    host.plug(20 * MIB)
    assert "/dev/disk/by-id/4 is too small: it offers" in refused(host)


def test_an_array_with_too_few_members_to_start(host: SimulatedHost) -> None:
    for number in (1, 2):
        host.pull(number, forget=False)
    host.pool = replace(host.pool, arrays=(replace(host.array(0), active=False),))
    assert "is not running and has 2 of its 4 members, it needs 3" in refused(host)


class TestReplacements:
    def declare(self, host: SimulatedHost, old: int, new: str) -> None:
        self.old = f"/dev/disk/by-id/{old}"
        host.want = replace(host.want, replace=(Replacement(self.old, new),))

    def test_the_old_disk_must_leave_the_list(self, host: SimulatedHost) -> None:
        self.declare(host, 1, f"/dev/disk/by-id/{host.plug(200 * MIB)}")
        assert "is also listed in 'disks'; take it out" in refused(host)

    def test_the_new_disk_must_be_on_the_list(self, host: SimulatedHost) -> None:
        self.declare(host, 1, "/dev/disk/by-id/9")
        undeclare(host, 1)
        assert "/dev/disk/by-id/9 is to replace /dev/disk/by-id/1 and is not listed" in refused(host)

    def test_the_new_disk_must_be_there(self, host: SimulatedHost) -> None:
        self.declare(host, 1, "/dev/disk/by-id/9")
        undeclare(host, 1)
        host.want = replace(host.want, disks=(*host.want.disks, "/dev/disk/by-id/9"))
        assert "/dev/disk/by-id/9 is to replace /dev/disk/by-id/1 and is not there" in refused(host)

    def test_the_new_disk_must_be_large_enough(self, host: SimulatedHost) -> None:
        self.declare(host, 1, f"/dev/disk/by-id/{host.plug(150 * MIB)}")
        undeclare(host, 1)
        assert "use a larger disk" in refused(host)

    def test_redundancy_is_repaired_first(self, host: SimulatedHost) -> None:
        host.pull(0, forget=False)
        self.declare(host, 1, f"/dev/disk/by-id/{host.plug(200 * MIB)}")
        undeclare(host, 1)
        assert "Array data-0 lacks 1 of its members; repair it with a blank disk before" in refused(host)

    def test_an_old_disk_that_is_gone_is_repaired_like_any_other(self, host: SimulatedHost) -> None:
        self.declare(host, 1, f"/dev/disk/by-id/{host.plug(200 * MIB)}")
        host.pull(1)
        assert titles(host)[1] == "Add /dev/sd4x1 to array data-0"

    def test_a_finished_replacement_may_stay_declared(self, host: SimulatedHost) -> None:
        self.declare(host, 1, f"/dev/disk/by-id/{host.plug(200 * MIB)}")
        undeclare(host, 1)
        host.run()
        assert titles(host) == []


class TestVolumes:
    def declare(self, host: SimulatedHost, *volumes: WantedVolume) -> None:
        host.want = replace(host.want, volumes=volumes)

    def test_a_size_to_shrink_to(self, host: SimulatedHost) -> None:
        self.declare(host, WantedVolume("bits", Size(bytes=100 * MIB), "ext4"))
        host.run()
        self.declare(host, WantedVolume("bits", Size(bytes=50 * MIB), "ext4"))
        assert "Volume bits has 100 MiB, but 52 MiB is declared; volumes are never shrunk" in refused(host)

    def test_a_smaller_percentage(self, host: SimulatedHost) -> None:
        self.declare(host, WantedVolume("bits", Size(percent=50), "ext4"))
        host.run()
        self.declare(host, WantedVolume("bits", Size(percent=20), "ext4"))
        assert "never shrunk" in refused(host)

    def test_nothing_is_done_to_volumes_while_a_physical_volume_is_missing(self, host: SimulatedHost) -> None:
        self.declare(host, WantedVolume("bits", Size(percent=50), "ext4"))
        host.run()
        group = host.pool.group
        assert group is not None
        half = tuple(replace(volume, extents=volume.extents // 2) for volume in group.volumes)
        host.pool = replace(host.pool, group=replace(group, volumes=half, missing=1))
        assert titles(host) == []
        assert "Volume group data lacks 1 physical volumes." in said(host)

    def test_more_than_the_pool_has(self, host: SimulatedHost) -> None:
        self.declare(host, WantedVolume("bits", Size(bytes=5000 * MIB), "ext4"))
        words = refused(host)
        assert "need 4.88 GiB, but the pool has" in words

    def test_another_file_system_is_never_overwritten(self, host: SimulatedHost) -> None:
        self.declare(host, WantedVolume("bits", Size(bytes=400 * MIB), "xfs"))
        host.run()
        self.declare(host, WantedVolume("bits", Size(bytes=400 * MIB), "ext4"))
        assert "Volume bits holds xfs, but ext4 is declared; nothing is ever reformatted" in refused(host)

    def test_a_volume_that_is_not_active_is_activated_before_anybody_says_what_is_on_it(
        self, host: SimulatedHost
    ) -> None:
        self.declare(host, WantedVolume("bits", Size(bytes=400 * MIB), "xfs"))
        host.run()
        [volume] = host.pool.volumes
        inactive = replace(volume, active=False, filesystem="unknown", filesystem_size=0)
        host.pool = replace(host.pool, volumes=(inactive,))
        assert titles(host) == ["Activate bits of volume group data"]

    def test_xfs_that_would_be_too_small(self, host: SimulatedHost) -> None:
        self.declare(host, WantedVolume("bits", Size(bytes=299 * MIB), "xfs"))
        host.want = replace(host.want, volumes=(WantedVolume("bits", Size(bytes=200 * MIB), "xfs"),))
        assert "an xfs file system needs 300 MiB" in refused(host)

    def test_a_mount_point_that_is_taken(self, host: SimulatedHost) -> None:
        host.pool = replace(host.pool, taken_mount_points=(("/srv", "/dev/sdz1"),))
        self.declare(host, WantedVolume("bits", Size(bytes=100 * MIB), "ext4", "/srv"))
        assert "fstab uses /srv for /dev/sdz1 already" in refused(host)

    def test_nothing_left_for_what_is_free(self, host: SimulatedHost) -> None:
        self.declare(host, WantedVolume("all", Size(free=True), "ext4"))
        host.run()
        self.declare(host, WantedVolume("all", Size(free=True), "ext4"), WantedVolume("bits", Size(bytes=MIB), "ext4"))
        assert "The volumes of pool data need" in refused(host)

    def test_other_options_of_a_mount_stay(self, host: SimulatedHost) -> None:
        wanted = WantedVolume("bits", Size(bytes=100 * MIB), "ext4", "/srv")
        self.declare(host, wanted)
        host.run()
        (mount,) = host.pool.mounts
        host.pool = replace(host.pool, mounts=(replace(mount, options="noatime,nofail"),))
        assert titles(host) == []
        self.declare(host, replace(wanted, nofail=False))
        host.run()
        assert [mount.options for mount in host.pool.mounts] == ["noatime"]


def test_room_without_a_partner_is_said() -> None:
    host = pool_of(200 * MIB, 200 * MIB, 300 * MIB)
    assert "/dev/disk/by-id/2 has 99.98 MiB that wait for a partner of the same size." in said(host)


def test_a_pool_needs_two_disks() -> None:
    host = SimulatedHost()
    host.plug(200 * MIB)
    assert "Pool data needs at least two disks" in refused(host)
