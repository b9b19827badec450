# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A storage pool as the engine sees it: observe, plan, simulate, carry out, draw."""

from __future__ import annotations

import typing as t

from .._converge.converge import Pending, Refusal, Resource
from .._converge.plan import Plan, Step
from .applying.apply import carry_out
from .applying.execution import Execution
from .growth import after_step, plan_pool
from .model import Pool, Wanted, slice_index
from .observing.observe import observe_pool, probe_regions
from .picture import draw
from .steps.arrays import noun
from .steps.disks import PartitionDisk, PoolStep


def new_regions(pool: Pool, plan: Plan) -> tuple[tuple[str, int, int], ...]:
    """Return where ``plan`` cuts slices into disks that are not the pool's yet, as (node, offset, size) in bytes."""
    members = {
        disk.node
        for disk in pool.disks
        if any(slice_index(pool.name, part.label) is not None for part in disk.partitions)
    }
    return tuple(
        (step.disk, part.start, part.size)
        for step in plan
        if isinstance(step, PartitionDisk) and step.disk not in members
        for part in step.slices
    )


def pending_work(pool: Pool) -> tuple[Pending, ...]:
    """Return what md has under way in the arrays of ``pool``."""
    found = []
    for array in pool.arrays:
        activity = array.activity
        if activity is not None:
            what = f"{noun(activity.action)} of array {array.name}"
            what = what[0].upper() + what[1:] + (", waiting its turn" if activity.delayed else "")
            found.append(Pending(what, activity.percent, activity.seconds_left))
        elif array.hidden_reshape:
            found.append(Pending(f"Interrupted reshape of array {array.name}"))
    return tuple(found)


class PoolResource(Resource[Pool]):
    """A pool that shall become what ``want`` says."""

    def __init__(self, want: Wanted, execution: Execution) -> None:
        self.want = want
        self.execution = execution

    def observe(self) -> Pool:
        """Read the host; where new slices would be cut, also look for what old ones left there."""
        pool = observe_pool(self.want, self.execution.runner, self.execution.host)
        try:
            regions = new_regions(pool, plan_pool(pool, self.want))
        except Refusal:
            return pool  # the engine plans again and meets it there
        return probe_regions(pool, regions, self.execution.runner, self.execution.host) if regions else pool

    def plan(self, state: Pool) -> Plan:
        """Return the steps that are left."""
        return plan_pool(state, self.want)

    def simulate(self, state: Pool, step: Step) -> Pool:
        """Return the pool as it is once ``step`` is done."""
        return after_step(state, step)

    def apply(self, step: Step) -> None:
        """Carry out one step."""
        if not isinstance(step, PoolStep):
            raise TypeError(f"{step!r} is no step on a storage pool")
        carry_out(step, self.execution)

    def pending(self, state: Pool) -> tuple[Pending, ...]:
        """Return what md has under way."""
        return pending_work(state)

    def picture(self, state: Pool) -> str:
        """Draw the pool."""
        return draw(state)


__all__: t.Sequence[str] = ("PoolResource", "new_regions", "pending_work")
