# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The planner, on a simulated host: whatever is done to the disks, in whatever order, cut off wherever."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.growth import after_step, plan_pool
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    GIB,
    MIB,
    Activity,
    Disk,
    Member,
    Pool,
    Replacement,
    Superblock,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.refusals import findings
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.steps.arrays import (
    AwaitArray,
    CreateArray,
    PauseCheck,
    RebuildInitramfs,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.steps.disks import PartitionDisk
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.steps.members import AddMembers, ReplaceMember
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.steps.reshapes import (
    GrowArray,
)
from tests.unit.storage.simulated_host import (
    VOLUMES,
    SimulatedHost,
    change_disk,
    check_end,
    grow_disks,
    pool_of,
    with_first,
)

SIZES = st.integers(min_value=100, max_value=900).map(lambda mib: mib * MIB)
EVENTS = st.lists(st.tuples(st.sampled_from(["swap", "add", "replace"]), st.integers(0, 99), SIZES), max_size=6)
REDUNDANCY = st.sampled_from([1, 2])


def story(host: SimulatedHost, number: int, mib: int) -> None:
    host.pull(number)
    host.plug(mib * MIB)
    host.run()


def test_the_articles_story_ends_at_its_figures() -> None:
    host = pool_of(*[101 * MIB] * 4)
    assert (host.shapes, host.group_mib) == ([(5, 4, 292.5)], 288)
    figures = []
    for number, mib in ((0, 201), (1, 201), (2, 201), (3, 301)):
        story(host, number, mib)
        figures.append((host.group_mib, host.shapes[1:]))
    assert figures == [
        (288, []),
        (384, [(1, 2, 98.9375)]),
        (484, [(5, 3, 197.875)]),
        (580, [(5, 4, 296.8125)]),
    ]


def apply_event(host: SimulatedHost, kind: str, which: int, size: int) -> None:
    """Do to the disks what an operator does, never to a smaller disk, which is refused."""
    declared = [disk for disk in host.pool.disks if disk.declared]
    victim = declared[which % len(declared)]
    number = int(victim.serial[1:])
    if kind == "add":
        host.plug(size)
    elif kind == "swap":
        host.pull(number)
        host.plug(max(size, victim.size))
    else:
        new = host.plug(max(size, victim.size))
        path = f"/dev/disk/by-id/{new}"
        host.want = replace(
            host.want,
            disks=tuple(each for each in host.want.disks if each != victim.path),
            replace=(Replacement(victim.path, path),),
        )
        old = replace(victim, path="")
        host.pool = replace(
            host.pool, disks=tuple(old if each.node == victim.node else each for each in host.pool.disks)
        )


def finish_event(host: SimulatedHost, kind: str) -> None:
    """Take the replaced disk out, as an operator does once the run has ended."""
    if kind == "replace":
        number = int(host.pool.node_of(host.want.replace[0].old)[len("/dev/sd") : -1])
        host.want = replace(host.want, replace=())
        host.pull(number)


def check_steps(host: SimulatedHost) -> None:
    """Carry the plan out step by step and hold what must hold at each."""
    plan = plan_pool(host.pool, host.want)
    for step in plan:
        missing = {array.name: array.missing for array in host.pool.arrays}
        capacity = host.capacity_now
        extents = host.pool.group.extents if host.pool.group else 0
        host.pool = after_step(host.pool, step)
        for array in host.pool.arrays:
            assert array.missing <= missing.get(array.name, 0), step.title
        assert host.capacity_now >= capacity, step.title
        assert (host.pool.group.extents if host.pool.group else 0) >= extents, step.title


def shape_of_the_end(host: SimulatedHost) -> object:
    """What two ends must share: disks with their slices, arrays with their members."""
    return (
        [(d.node, [(p.number, p.start, p.size, p.label) for p in d.partitions]) for d in host.pool.disks],
        [(a.name, a.level, a.devices, a.component_size, {m.node for m in a.members}) for a in host.pool.arrays],
        [(v.name, v.extents) for v in host.pool.volumes],
        host.pool.group,
    )


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(SIZES, min_size=4, max_size=6), EVENTS, REDUNDANCY)
def test_no_step_from_a_settled_pool_lowers_redundancy_or_capacity(
    sizes: list[int], events: list[tuple[str, int, int]], redundancy: int
) -> None:
    host = pool_of(*sizes, redundancy=redundancy, volumes=VOLUMES)
    check_end(host)
    for kind, which, size in events:
        apply_event(host, kind, which, size)
        check_steps(host)
        finish_event(host, kind)
        check_end(host)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(SIZES, min_size=4, max_size=6), EVENTS, REDUNDANCY, st.data())
def test_a_run_cut_after_any_step_is_continued_to_the_same_end(
    sizes: list[int], events: list[tuple[str, int, int]], redundancy: int, data: st.DataObject
) -> None:
    whole, cut = (pool_of(*sizes, redundancy=redundancy, volumes=VOLUMES) for _host in range(2))
    for kind, which, size in events:
        for host in (whole, cut):
            apply_event(host, kind, which, size)
        whole.run()
        for _run in range(200):
            if not cut.run(most_steps=data.draw(st.integers(1, 4))):
                break
        assert shape_of_the_end(cut) == shape_of_the_end(whole)
        for host in (whole, cut):
            finish_event(host, kind)


@settings(max_examples=60)
@given(st.lists(SIZES, min_size=2, max_size=9))
def test_a_new_pool_of_one_redundant_disk_uses_all_but_the_largest_disk(sizes: list[int]) -> None:
    host = pool_of(*sizes)
    slices = sum(part.size for disk in host.pool.disks for part in disk.partitions)
    parity = sum(array.slice_size for array in host.pool.arrays)
    # What is lost: alignment, and per disk at most one remainder below the smallest slice.
    assert sum(sizes) - max(sizes) - (slices - parity) <= len(sizes) * 34 * MIB


def test_the_table_of_a_new_disk_is_written_once() -> None:
    host = pool_of(*[200 * MIB] * 2, 300 * MIB, 300 * MIB)
    host.pull(0)
    host.plug(300 * MIB)
    cuts = [step for step in plan_pool(host.pool, host.want) if isinstance(step, PartitionDisk)]
    assert [(step.disk, len(step.slices)) for step in cuts] == [("/dev/sd4x", 2)]
    assert cuts[0].reason == "it is blank, needed to repair and to grow"
    check_steps(host)
    check_end(host)


def test_several_disks_swapped_at_once_are_repaired_at_once_where_redundancy_allows() -> None:
    host = pool_of(*[200 * MIB] * 5, redundancy=2)
    for number in (0, 1):
        host.pull(number)
    for _disk in range(2):
        host.plug(300 * MIB)
    check_steps(host)
    check_end(host)


def test_a_leftover_spare_widens_a_whole_array() -> None:
    host = pool_of(*[200 * MIB] * 3)
    number = host.plug(200 * MIB)
    plan = plan_pool(host.pool, host.want)
    host.run(most_steps=1)
    node = f"/dev/sd{number}x1"
    with_first(host, members=(*host.array(0).members, Member(node, f"/dev/sd{number}x", None, in_sync=False)))
    (grow,) = [step for step in plan_pool(host.pool, host.want) if isinstance(step, GrowArray)]
    assert (grow.devices, grow.add) == (4, ())
    assert len(plan) >= 3


def test_a_raid5_of_two_with_a_spare_is_widened() -> None:
    host = pool_of(*[200 * MIB] * 2)
    host.plug(200 * MIB)
    host.run(most_steps=1)
    with_first(host, level=5, chunk=65536)
    host.run()
    assert host.shapes[0][:2] == (5, 3)
    check_end(host)


def test_a_returning_member_is_taken_back() -> None:
    host = pool_of(*[200 * MIB] * 3)
    first, *others = host.array(0).members
    with_first(host, members=tuple(others), strays=(first.node,))
    plan = plan_pool(host.pool, host.want)
    assert [step.title for step in plan] == [
        "Take back /dev/sd0x1 into array data-0",
        "Wait for the recovery of array data-0",
    ]
    host.run()
    check_end(host)


@pytest.mark.parametrize("role", [None, 3], ids=["spare", "beyond-the-members"])
def test_a_slice_that_an_array_was_started_without_is_used_after_all(role: int | None) -> None:
    host = pool_of(*[200 * MIB] * 3)
    array = host.array(0)
    number = host.plug(200 * MIB)
    host.run(most_steps=1)
    left_behind(host, number, Superblock("", "", "data-0", "any", 5, 4, 9, role, False, 0, 0, 0, True, False, True))
    assert "outdated" not in "".join(findings(host.pool, host.want))
    assert [step.title for step in plan_pool(host.pool, host.want)][:2] == [
        f"Clear the superblock of /dev/sd{number}x1, which holds no data",
        "Reshape array data-0 to raid5 of 4",
    ]
    host.run()
    assert host.array(0).devices == array.devices + 1
    check_end(host)


def test_a_slice_that_an_array_was_started_without_repairs_it_where_a_new_disk_is_too_small() -> None:
    host = pool_of(*[200 * MIB] * 4)
    number = host.plug(200 * MIB)
    host.run(most_steps=1)
    left_behind(host, number, Superblock("", "", "data-0", "any", 5, 4, 9, 4, False, 0, 0, 0, True, False, False))
    host.pull(1)
    host.plug(150 * MIB)
    assert [step.title for step in plan_pool(host.pool, host.want)][:2] == [
        f"Clear the superblock of /dev/sd{number}x1, which holds no data",
        f"Add /dev/sd{number}x1 to array data-0",
    ]
    host.run()
    assert host.array(0).whole


def test_a_member_that_a_whole_array_went_on_without_is_not_overwritten() -> None:
    host = pool_of(*[200 * MIB] * 3)
    number = host.plug(200 * MIB)
    host.run(most_steps=1)
    left_behind(host, number, Superblock("", "", "data-0", "any", 5, 3, 9, 2, False, 0, 0, 0, True, False, False))
    assert not plan_pool(host.pool, host.want)
    assert "holds an outdated copy" in "".join(findings(host.pool, host.want))


def left_behind(host: SimulatedHost, number: int, block: Superblock) -> None:
    """Have the first array run without a slice of disk ``number`` that bears its superblock."""
    node = f"/dev/sd{number}x"
    disk = host.pool.disk(node)
    assert disk is not None
    named = replace(block, array_uuid=host.array(0).uuid)
    change_disk(host, number, partitions=tuple(replace(part, superblock=named) for part in disk.partitions))
    with_first(host, strays=(f"{node}1",))


def test_a_replacement_never_lowers_redundancy_and_releases_the_old_disk() -> None:
    host = pool_of(*[200 * MIB] * 3, volumes=VOLUMES)
    apply_event(host, "replace", 1, 400 * MIB)
    plan = plan_pool(host.pool, host.want)
    assert any(isinstance(step, ReplaceMember) for step in plan)
    assert plan[-1].title.startswith("Release") or any(step.title.startswith("Release") for step in plan)
    check_steps(host)
    check_end(host)


def test_a_spare_for_a_declared_replacement_is_not_used_to_widen() -> None:
    host = pool_of(*[200 * MIB] * 3)
    apply_event(host, "replace", 1, 200 * MIB)
    host.run(most_steps=1)
    new = f"/dev/sd{host.plugged - 1}x"
    with_first(host, members=(*host.array(0).members, Member(new + "1", new, None, in_sync=False)))
    kinds = [type(step) for step in plan_pool(host.pool, host.want)]
    assert GrowArray not in kinds
    assert ReplaceMember in kinds


def test_a_leftover_wish_for_replacement_is_taken_back() -> None:
    host = pool_of(*[200 * MIB] * 3)
    first, *others = host.array(0).members
    with_first(host, members=(replace(first, want_replacement=True), *others))
    assert [step.title for step in plan_pool(host.pool, host.want)] == [
        "Keep /dev/sd0x1 in array data-0 (write '-want_replacement' to its state)"
    ]


def test_a_disk_that_grew_gets_its_backup_table_moved_and_its_room_used() -> None:
    host = pool_of(*[200 * MIB] * 3)
    for disk in host.pool.disks:
        grown = replace(disk, size=disk.size + 100 * MIB)
        host.pool = replace(host.pool, disks=tuple(grown if d.node == disk.node else d for d in host.pool.disks))
    before = host.capacity
    host.run()
    check_end(host)
    assert host.capacity > before + 150 * MIB


def test_four_disks_are_needed_before_two_redundant_ones_make_a_pool() -> None:
    host = SimulatedHost()
    host.want = replace(host.want, redundancy=2)
    for _disk in range(3):
        host.plug(200 * MIB)
    with pytest.raises(Refusal, match="at least four disks"):
        host.run()


def test_the_initramfs_is_rebuilt_once_per_run() -> None:
    host = SimulatedHost()
    for size in (100, 200, 300, 400):
        host.plug(size * MIB)
    plan = plan_pool(host.pool, host.want)
    assert sum(isinstance(step, CreateArray) for step in plan) == 3
    assert sum(isinstance(step, RebuildInitramfs) for step in plan) == 1


def test_volumes_follow_the_growth_of_the_pool() -> None:
    host = pool_of(*[200 * MIB] * 3, volumes=VOLUMES)
    share = next(volume for volume in host.pool.volumes if volume.name == "share").extents
    host.plug(200 * MIB)
    host.run()
    assert host.pool.group is not None
    sizes = {volume.name: volume.extents for volume in host.pool.volumes}
    assert sizes["share"] == host.pool.group.extents * 30 // 100 > share
    assert sum(sizes.values()) == host.pool.group.extents
    assert all(v.filesystem_size == v.extents * host.pool.group.extent_size for v in host.pool.volumes)


def test_a_pool_that_lacks_redundancy_does_not_grow() -> None:
    host = pool_of(*[200 * MIB] * 4)
    grow_disks(host, 0, 1, 2)
    host.pull(3, forget=False)
    assert not plan_pool(host.pool, host.want)


def test_a_new_slice_waits_until_redundancy_is_back() -> None:
    host = pool_of(*[200 * MIB] * 3)
    grow_disks(host, 0, 1)
    first, *others = host.array(0).members
    recovering = (replace(first, in_sync=False), *others)
    with_first(host, activity=Activity("recover", 1, 10), members=recovering)
    kinds = [type(step) for step in plan_pool(host.pool, host.want)]
    assert kinds.index(AwaitArray) < kinds.index(CreateArray)


def test_no_slice_gets_more_members_than_the_cap() -> None:
    host = pool_of(*[200 * MIB] * 4, most_members=4)
    host.plug(200 * MIB)
    assert not plan_pool(host.pool, host.want)
    host.plug(200 * MIB)
    host.run()
    assert [shape[:2] for shape in host.shapes] == [(5, 4), (1, 2)]
    check_end(host)


def test_a_slice_prepared_beyond_the_cap_is_left_alone() -> None:
    host = pool_of(*[200 * MIB] * 3)
    host.plug(200 * MIB)
    host.run(most_steps=1)
    host.want = replace(host.want, most_members=3)
    assert not plan_pool(host.pool, host.want)


def test_a_check_gives_way_to_a_replacement() -> None:
    host = pool_of(*[200 * MIB] * 3)
    apply_event(host, "replace", 1, 200 * MIB)
    with_first(host, activity=Activity("check", 1, 10))
    kinds = [type(step) for step in plan_pool(host.pool, host.want)]
    assert kinds.index(PauseCheck) < kinds.index(ReplaceMember)


def test_a_replaced_disk_keeps_its_copy_while_an_array_lacks_a_member() -> None:
    host = pool_of(*[200 * MIB] * 3)
    apply_event(host, "replace", 1, 200 * MIB)
    plan = plan_pool(host.pool, host.want)
    host.run(most_steps=len(plan) - 1)
    assert plan[-1].title.startswith("Release")
    host.pull(0, forget=False)
    assert not plan_pool(host.pool, host.want)


def test_a_failed_disk_is_not_used_again_though_it_has_room() -> None:
    host = pool_of(*[200 * MIB] * 3, 500 * MIB)
    *others, last = host.array(0).members
    with_first(host, members=(*others, replace(last, faulty=True, in_sync=False, slot=None)))
    assert not plan_pool(host.pool, host.want)


def test_a_disk_reserved_for_a_replacement_does_not_repair_another_slice_first() -> None:
    host = pool_of(200 * MIB, 400 * MIB, 400 * MIB, 400 * MIB)
    *others, last = host.array(1).members
    apply_event(host, "replace", 0, 300 * MIB)
    first, second = host.pool.arrays
    lacking = replace(second, members=(*others, replace(last, faulty=True, in_sync=False, slot=None)))
    host.pool = replace(host.pool, arrays=(first, lacking))
    plan = plan_pool(host.pool, host.want)
    assert [step.array for step in plan if isinstance(step, ReplaceMember)] == ["data-0"]
    assert not any(isinstance(step, AddMembers) for step in plan)


def test_a_plan_for_a_thousand_disks_takes_under_a_second() -> None:
    host = SimulatedHost()
    kinds = (4000, 8000, 12000, 16000)
    disks = []
    for number in range(1000):
        host.plugged = number
        path = f"/dev/disk/by-id/{number}"
        disks.append((path, f"/dev/sd{number}x", kinds[number % 4] * GIB))
    host.pool = Pool(
        name="data",
        disks=tuple(Disk(node, size, path=path) for path, node, size in disks),
        resolved=tuple((path, node) for path, node, size in disks),
    )
    host.want = replace(host.want, disks=tuple(path for path, node, size in disks))
    start = time.process_time()
    plan = plan_pool(host.pool, host.want)
    took = time.process_time() - start
    assert len(plan) > 1000
    # The bound is the issue's; a slow or busy machine gets four times as much before this counts as a defect.
    assert took < 4
