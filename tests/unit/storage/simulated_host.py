# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host whose disks can be pulled and plugged, and that carries out a plan exactly as the steps say."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.eligible import usable_disks
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.growth import after_step, plan_pool
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.layout import allocate, usable_capacity
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    MIB,
    Array,
    Disk,
    Pool,
    Size,
    Wanted,
    WantedVolume,
)


@dataclass
class SimulatedHost:
    """Disks are named by a number that is never used again; the declared path of disk 3 is /dev/disk/by-id/3."""

    want: Wanted = field(default_factory=lambda: Wanted(name="data", disks=()))
    pool: Pool = field(default_factory=lambda: Pool(name="data"))
    plugged: int = 0

    def plug(self, size: int, **facts: object) -> int:
        """Plug a blank disk of ``size`` bytes and declare it."""
        number = self.plugged
        self.plugged += 1
        disk = Disk(node=f"/dev/sd{number}x", size=size, path=f"/dev/disk/by-id/{number}", serial=f"S{number}")
        disk = replace(disk, **facts)  # type: ignore[arg-type]  # the tests pass fields of Disk
        self.pool = replace(self.pool, disks=(*self.pool.disks, disk))
        self.pool = replace(self.pool, resolved=(*self.pool.resolved, (disk.path, disk.node)))
        self.want = replace(self.want, disks=(*self.want.disks, disk.path))
        return number

    def pull(self, number: int, forget: bool = True) -> None:
        """Pull a disk: the kernel drops its members. ``forget`` also takes it out of the declaration."""
        node, path = f"/dev/sd{number}x", f"/dev/disk/by-id/{number}"
        arrays = tuple(
            replace(array, members=tuple(member for member in array.members if member.disk != node))
            for array in self.pool.arrays
        )
        self.pool = replace(
            self.pool,
            arrays=arrays,
            disks=tuple(disk for disk in self.pool.disks if disk.node != node),
            resolved=tuple(pair for pair in self.pool.resolved if pair[0] != path),
            absent=self.pool.absent if forget else (*self.pool.absent, path),
        )
        if forget:
            self.want = replace(self.want, disks=tuple(each for each in self.want.disks if each != path))

    def run(self, most_steps: int | None = None) -> int:
        """Plan, carry out at most ``most_steps`` steps, and return how many steps the plan had."""
        plan = plan_pool(self.pool, self.want)
        for step in plan[:most_steps]:
            self.pool = after_step(self.pool, step)
        return len(plan)

    def array(self, index: int) -> Array:
        """Return the array of slice ``index``."""
        return next(array for array in self.pool.arrays if array.index == index)

    @property
    def capacity(self) -> int:
        """Bytes that the arrays offer in the shape they are in or getting."""
        return usable_capacity(self.pool.arrays)

    @property
    def capacity_now(self) -> int:
        """Bytes that the arrays offer at this moment."""
        return sum(array.size_now for array in self.pool.arrays)

    @property
    def shapes(self) -> list[tuple[int, int, float]]:
        """Level, members and MiB of each array."""
        return [(array.level, array.devices, array.size_now / MIB) for array in self.pool.arrays]

    @property
    def group_mib(self) -> float:
        """MiB of the volume group."""
        return self.pool.group.size / MIB if self.pool.group else 0


def pool_of(*sizes: int, **want: object) -> SimulatedHost:
    """Return a host with a settled pool over blank disks of these sizes."""
    host = SimulatedHost()
    host.want = replace(host.want, **want)  # type: ignore[arg-type]  # the tests pass fields of Wanted
    for size in sizes:
        host.plug(size)
    host.run()
    return host


def check_end(host: SimulatedHost) -> None:
    assert not plan_pool(host.pool, host.want)
    growth = allocate(host.pool, host.want, usable_disks(host.pool, host.want))
    assert not growth.joins
    assert not growth.new
    assert all(array.settled and array.whole for array in host.pool.arrays)
    group = host.pool.group
    assert group is not None
    assert {volume.array for volume in group.volumes} == {array.name for array in host.pool.arrays}
    for array in host.pool.arrays:
        assert len({member.disk for member in array.members}) == len(array.members) == array.devices
    for disk in host.pool.disks:
        spans = sorted((part.start, part.end) for part in disk.partitions)
        assert all(end <= start for (_first, end), (start, _last) in pairwise(spans))
        assert all(start >= MIB and end <= disk.usable_end for start, end in spans)


VOLUMES = (
    WantedVolume("bits", Size(bytes=20 * MIB), "ext4", "/srv/bits"),
    WantedVolume("share", Size(percent=30), "ext4", "/srv/share"),
    WantedVolume("rest", Size(free=True), "ext4", "/srv/rest"),
)


def change_disk(host: SimulatedHost, number: int, **facts: t.Any) -> None:
    node = f"/dev/sd{number}x"
    disks = tuple(replace(disk, **facts) if disk.node == node else disk for disk in host.pool.disks)
    host.pool = replace(host.pool, disks=disks)


def grow_disks(host: SimulatedHost, *numbers: int) -> None:
    """Give disks 300 MiB more, as a hypervisor does."""
    for number in numbers:
        disk = host.pool.disk(f"/dev/sd{number}x")
        assert disk is not None
        grown = replace(disk, size=disk.size + 300 * MIB)
        change_disk(host, number, size=grown.size, gpt_end=grown.usable_end)


def with_first(host: SimulatedHost, **facts: t.Any) -> None:
    first, *rest = host.pool.arrays
    host.pool = replace(host.pool, arrays=(replace(first, **facts), *rest))
