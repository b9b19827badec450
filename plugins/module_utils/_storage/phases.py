# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What the phases of a plan share: their type, and the steps that more than one of them takes. Pure."""

from __future__ import annotations

import typing as t

from .layout import Placement
from .model import Array, Disk, Partition, Pool, Wanted
from .steps.arrays import AwaitArray, PauseCheck
from .steps.disks import PartitionDisk, PoolStep

Steps = t.List[PoolStep]
#: A phase looks at the state alone and returns the steps that it sees, or none.
Phase = t.Callable[[Pool, Wanted], Steps]


def partition_steps(disks: t.Mapping[str, Disk], cuts: t.Iterable[Placement], purpose: str) -> Steps:
    """Return one step for each disk that is to be cut. ``disks`` are the disks before the cuts."""
    by_disk: dict[str, list[Partition]] = {}
    for placement in cuts:
        by_disk.setdefault(placement.disk, []).append(placement.partition)
    steps: Steps = []
    for node, parts in by_disk.items():
        disk = disks[node]
        what = "it is blank" if not disk.partitions else "it has free room"
        why = f"{what}, needed {purpose}"
        steps.append(PartitionDisk(node, disk.display, disk.sector, not disk.has_gpt, tuple(parts), purpose, why))
    return steps


def cut_once(steps: t.Sequence[PoolStep]) -> Steps:
    """Return ``steps`` with all that is cut from one disk cut by the first of them: its table is written once.

    A slice may well wait for its turn, as it does when a run is killed after it was cut.
    """
    cuts: dict[str, PartitionDisk] = {}
    for step in steps:
        if isinstance(step, PartitionDisk):
            cuts[step.disk] = cuts[step.disk].joined(step) if step.disk in cuts else step
    merged: Steps = []
    for step in steps:
        if not isinstance(step, PartitionDisk):
            merged.append(step)
        elif step.disk in cuts:
            merged.append(cuts.pop(step.disk))
    return merged


def settle(array: Array, why: str) -> PoolStep:
    action = array.activity.action if array.activity is not None else "reshape"
    if action in ("check", "repair"):
        return PauseCheck(array.name, array.node, why)
    return AwaitArray(array.name, action, why)
