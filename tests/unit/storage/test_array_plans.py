# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans for arrays that were interrupted, wait, or are about to be reshaped."""

from __future__ import annotations

import typing as t
from dataclasses import replace

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.growth import plan_pool
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    GIB,
    MIB,
    Activity,
    Refuge,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.steps.arrays import (
    AwaitArray,
    PauseCheck,
    StartArray,
    ThawArray,
    WakeArray,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.steps.reshapes import (
    ContinueReshape,
    EndGuard,
    GrowArray,
    LiftSuspension,
    RevertReshape,
)
from tests.unit.storage.simulated_host import (
    VOLUMES,
    check_end,
    grow_disks,
    pool_of,
    with_first,
)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"auto_read_only": True, "hidden_reshape": True}, WakeArray),
        ({"suspended": True, "hidden_reshape": True}, ContinueReshape),
        # Writable and idle in the middle of a reshape: mdadm --readwrite would refuse (rc 1).
        ({"hidden_reshape": True}, ContinueReshape),
        ({"active": False, "hidden_reshape": True}, StartArray),
    ],
)
def test_an_interrupted_reshape_is_taken_up_before_anything_else_and_finished(
    facts: dict[str, t.Any], expected: type
) -> None:
    host = pool_of(*[200 * MIB] * 4)
    group = host.pool.group
    assert group is not None
    extents = group.extents
    # The machine went down when the fourth disk was just being taken in: LVM knows three disks' worth.
    old_size = host.array(0).component_size * 2
    volumes = tuple(replace(v, extents=v.extents_of(old_size, group.extent_size)) for v in group.volumes)
    host.pool = replace(host.pool, group=replace(group, volumes=volumes))
    with_first(host, previous_devices=3, size_now=old_size, **facts)
    plan = plan_pool(host.pool, host.want)
    assert isinstance(plan[0], expected)
    for _run in range(2):  # a started array shows what stands on it only then
        host.run()
    check_end(host)
    assert host.pool.group is not None
    assert host.pool.group.extents == extents


def test_writes_go_on_when_a_reshape_has_ended_without_the_mdadm_that_held_them_back() -> None:
    host = pool_of(*[200 * MIB] * 4)
    with_first(host, suspended=True)
    assert [type(step) for step in plan_pool(host.pool, host.want)] == [LiftSuspension]
    host.run()
    check_end(host)


@pytest.mark.parametrize(("assembled", "stops"), [(True, [("mdadm", "--stop", "/dev/md127")]), (False, [])])
def test_a_reshape_that_is_not_started_is_assembled_anew_for_mdadm_to_put_back_what_it_moved(
    assembled: bool, stops: list[tuple[str, ...]]
) -> None:
    host = pool_of(*[200 * MIB] * 4)
    with_first(host, active=False, assembled=assembled, hidden_reshape=True, previous_devices=3, node="/dev/md127")
    (step,) = plan_pool(host.pool, host.want)
    members = [member.node for member in host.array(0).members]
    assert list(step.commands) == [*stops, ("mdadm", "--assemble", "--run", "/dev/md/data-0", *members)]


def test_an_array_that_is_assembled_of_some_members_only_is_assembled_anew_of_all() -> None:
    host = pool_of(*[200 * MIB] * 4)
    with_first(host, active=False, scattered=True, node="/dev/md127")
    (step,) = plan_pool(host.pool, host.want)
    members = [member.node for member in host.array(0).members]
    stop = ("mdadm", "--stop", "/dev/md127")
    assert list(step.commands) == [stop, ("mdadm", "--assemble", "--run", "/dev/md/data-0", *members)]
    assert step.reason == "only some of its members are assembled"


def test_a_reshape_that_has_moved_nothing_is_taken_back_and_begun_anew() -> None:
    host = pool_of(*[200 * MIB] * 4)
    whole = host.capacity_now
    with_first(host, active=False, hidden_reshape=True, reshape_unbegun=True, previous_devices=3, node="/dev/md127")
    (step,) = plan_pool(host.pool, host.want)
    assert isinstance(step, RevertReshape)
    members = [member.node for member in host.array(0).members]
    revert = ("mdadm", "--assemble", "--run", "--update=revert-reshape", "--invalid-backup", "/dev/md/data-0")
    assert list(step.commands) == [("mdadm", "--stop", "/dev/md127"), (*revert, *members)]
    host.run()
    assert (host.array(0).devices, host.array(0).missing) == (3, 0)
    assert [type(each) for each in plan_pool(host.pool, host.want)][:2] == [GrowArray, AwaitArray]
    host.run()
    check_end(host)
    assert host.capacity_now == whole


def test_a_beginning_that_was_kept_is_put_back_before_anything_else_is_tried() -> None:
    host = pool_of(*[200 * MIB] * 5)
    facts = {"hidden_reshape": True, "reshape_unbegun": True, "restorable": True, "kept": True}
    with_first(host, active=False, previous_devices=4, node="/dev/md127", **facts)
    (step,) = plan_pool(host.pool, host.want)
    assert isinstance(step, RevertReshape)
    assert step.kept
    assert "/var/lib/baremetal.fabric/storage/data-0.critical" in step.title
    assert [argv[:2] for argv in step.commands] == [("mdadm", "--stop"), ("mdadm", "--assemble")]
    host.run()
    assert (host.array(0).devices, host.array(0).kept) == (4, False)
    grow, *_rest = plan_pool(host.pool, host.want)
    assert isinstance(grow, GrowArray)
    assert grow.guard is not None
    host.run()
    check_end(host)


def test_a_reshape_that_md_takes_up_by_itself_only_loses_its_file() -> None:
    host = pool_of(*[200 * MIB] * 5)
    with_first(host, active=False, previous_devices=4, hidden_reshape=True, kept=True)
    assert [type(step) for step in plan_pool(host.pool, host.want)] == [StartArray]
    host.run()
    first, *others = plan_pool(host.pool, host.want)
    assert isinstance(first, EndGuard)
    assert first.title == "Remove /var/lib/baremetal.fabric/storage/data-0.critical"
    assert AwaitArray in map(type, others)
    host.run()
    check_end(host)


def test_what_a_killed_run_holds_is_let_go_first() -> None:
    host = pool_of(*[200 * MIB] * 5)
    with_first(host, kept=True, held=("data-rest",), mapped=("data-rest",))
    (step,) = plan_pool(host.pool, host.want)
    assert isinstance(step, EndGuard)
    assert (step.commands, step.safe_position) == ((("dmsetup", "resume", "--noudevsync", "data-rest"),), 0)
    with_first(host, activity=Activity("reshape", 0, 10), previous_devices=4)
    first, *_others = plan_pool(host.pool, host.want)
    assert isinstance(first, EndGuard)
    assert first.safe_position == 12 * MIB


def test_a_reshape_that_overwrites_what_it_moves_is_guarded_and_waits_for_nobody() -> None:
    host = pool_of(*[200 * MIB] * 4)
    with_first(host, mapped=("data-bits", "data-rest"), speed_limits=("system", "5000"))
    host.plug(200 * MIB)
    grow = next(step for step in plan_pool(host.pool, host.want) if isinstance(step, GrowArray))
    assert grow.guard is not None
    assert (grow.guard.length, grow.guard.safe_position) == (9 * 512 * 1024, 12 * MIB)
    arm, hold, change, resume, disarm = grow.commands
    assert arm[0] == "systemd-run"
    script = arm[-1]
    # What is kept is out of date as soon as anybody can write.
    assert script.index("rm -f") < script.index("sync ") < script.index("dmsetup resume")
    assert "echo system > /sys/block/data-0/md/sync_speed_min; echo 5000 > " in script
    assert hold == ("dmsetup", "suspend", "data-bits", "data-rest")
    assert change[:2] == ("mdadm", "--grow")
    assert resume[-2:] == ("data-bits", "data-rest")
    assert disarm[:2] == ("systemctl", "stop")


def test_guarded_reshapes_begin_one_by_one_while_md_is_idle() -> None:
    host = pool_of(*[200 * MIB] * 4)
    grow_disks(host, 0, 1, 2, 3)
    host.run()
    assert [array.level for array in host.pool.arrays] == [5, 5]
    host.plug(500 * MIB)
    kinds = [type(step) for step in plan_pool(host.pool, host.want) if isinstance(step, (GrowArray, AwaitArray))]
    assert kinds == [GrowArray, AwaitArray, GrowArray, AwaitArray]


def test_a_reshape_with_room_before_the_data_needs_no_guard() -> None:
    host = pool_of(*[200 * GIB] * 4)
    host.plug(200 * GIB)
    (grow,) = (step for step in plan_pool(host.pool, host.want) if isinstance(step, GrowArray))
    assert grow.guard is None
    assert grow.commands == (grow.change,)


@pytest.mark.parametrize(
    ("refuge", "words"),
    [
        (Refuge(array="data-0"), "which is on array data-0 itself"),
        (Refuge(free=18 * MIB), "19 MiB of it are kept .* has 18 MiB free"),
    ],
)
def test_without_a_place_for_its_beginning_an_array_does_not_grow(refuge: Refuge, words: str) -> None:
    host = pool_of(*[200 * MIB] * 4)
    host.plug(200 * MIB)
    host.pool = replace(host.pool, refuge=refuge)
    with pytest.raises(Refusal, match=words):
        host.run()
    assert not host.pool.disks[-1].partitions


def test_an_array_that_a_killed_mdadm_left_frozen_is_thawed_and_its_spare_awaited() -> None:
    host = pool_of(*[200 * MIB] * 4)
    with_first(host, frozen=True)
    assert not host.array(0).settled
    assert [type(step) for step in plan_pool(host.pool, host.want)] == [ThawArray]
    # A spare that was added meanwhile: md takes it up only when the array is thawed.
    *members, last = host.array(0).members
    with_first(host, members=(*members, replace(last, slot=None, in_sync=False)))
    assert [type(step) for step in plan_pool(host.pool, host.want)] == [ThawArray, AwaitArray]
    host.run()
    check_end(host)
    assert host.array(0).whole


def test_a_plan_ends_where_an_array_is_started_because_nobody_knows_what_stands_on_it() -> None:
    host = pool_of(*[200 * MIB] * 3, volumes=VOLUMES)
    host.pool = replace(host.pool, group=None, volumes=())  # LVM sees nothing of it before
    with_first(host, active=False)
    plan = plan_pool(host.pool, host.want)
    assert [type(step) for step in plan] == [StartArray]
    assert plan[-1].reveals


def test_volumes_that_the_boot_left_inactive_are_activated_before_anything_is_done_to_them() -> None:
    host = pool_of(*[200 * MIB] * 3, volumes=VOLUMES)
    dark = tuple(replace(volume, active=False, filesystem="", filesystem_size=0) for volume in host.pool.volumes)
    host.pool = replace(host.pool, volumes=dark)
    assert [step.title for step in plan_pool(host.pool, host.want)] == [
        "Activate bits, share, rest of volume group data"
    ]


def test_a_resync_that_waits_for_the_first_write_is_woken_and_not_waited_for_in_vain() -> None:
    host = pool_of(*[200 * MIB] * 3)
    with_first(host, auto_read_only=True, activity=Activity("resync", 0, 10, delayed=True))
    assert [type(step) for step in plan_pool(host.pool, host.want)] == [WakeArray, AwaitArray]


def test_a_running_check_is_stopped_only_when_the_array_has_to_change() -> None:
    host = pool_of(*[200 * MIB] * 3)
    with_first(host, activity=Activity("check", 1, 10))
    assert not plan_pool(host.pool, host.want)
    host.plug(200 * MIB)
    plan = plan_pool(host.pool, host.want)
    kinds = [type(step) for step in plan]
    assert kinds.index(PauseCheck) < kinds.index(GrowArray)


def test_a_running_recovery_is_waited_for_and_never_raced() -> None:
    host = pool_of(*[200 * MIB] * 3)
    first = host.array(0).members[0]
    others = host.array(0).members[1:]
    with_first(host, activity=Activity("recover", 1, 10), members=(replace(first, in_sync=False), *others))
    host.plug(200 * MIB)
    plan = plan_pool(host.pool, host.want)
    assert isinstance(plan[0], AwaitArray)
