from __future__ import annotations

from dataclasses import replace

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.growth import after_plan, plan_pool
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import MIB, Disk, Pool, Wanted
from tests.demo.story import BAYS, EXCHANGES, FIRST_CAPACITY_MIB, FIRST_SIZE, Declaration


def _disk(bay: str, size: str) -> Disk:
    return Disk(node=f"/dev/{bay}x{size}x", size=int(size[:-1]) * MIB, path=f"/dev/disk/by-id/{bay}", serial=bay + size)


def _planned(pool: Pool) -> Pool:
    want = Wanted(name="data", disks=tuple(disk.path for disk in pool.disks))
    pool = replace(pool, resolved=tuple((disk.path, disk.node) for disk in pool.disks))
    return after_plan(pool, plan_pool(pool, want))


def _mib(pool: Pool) -> float:
    return pool.group.size / MIB if pool.group else 0


def test_the_planner_foresees_the_capacities_that_the_demonstration_insists_on() -> None:
    pool = _planned(Pool(name="data", disks=tuple(_disk(bay, FIRST_SIZE) for bay in BAYS)))
    assert _mib(pool) == FIRST_CAPACITY_MIB
    for exchange in EXCHANGES:
        old = next(disk for disk in pool.disks if disk.serial.startswith(exchange.bay))
        disks = tuple(_disk(exchange.bay, exchange.size) if disk is old else disk for disk in pool.disks)
        arrays = tuple(
            replace(array, members=tuple(member for member in array.members if member.disk != old.node))
            for array in pool.arrays
        )
        pool = _planned(replace(pool, disks=disks, arrays=arrays))
        assert _mib(pool) == exchange.capacity_mib


def test_an_exchanged_disk_keeps_its_place_in_the_declaration() -> None:
    assert Declaration(("a", "b", "c")).exchanged("b", "x").disks == ("a", "x", "c")
