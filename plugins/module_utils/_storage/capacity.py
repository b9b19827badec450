# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What disks of given sizes make together, for somebody who buys disks. Pure.

Metadata and alignment do not count here; :mod:`growth` and its simulation give exact bytes for a real pool.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .layout import Cut, cut_rooms, level_for
from .model import capacity_of


@dataclass(frozen=True)
class Capacity:
    """Bytes that can be used, bytes that wait for a partner, and the slices."""

    usable: int
    waiting: int
    slices: tuple[Cut, ...]


def capacity(sizes: t.Sequence[int], redundancy: int = 1, most_members: int = 16) -> Capacity:
    """Return what disks of ``sizes`` bytes make with ``redundancy`` 1 or 2."""
    cuts = cut_rooms(sizes, redundancy, smallest=1, most=most_members)
    usable = sum(slice_capacity(cut, redundancy) for cut in cuts)
    waiting = sum(sizes) - sum(cut.size * len(cut.members) for cut in cuts)
    return Capacity(usable, waiting, cuts)


def slice_capacity(cut: Cut, redundancy: int) -> int:
    """Return the bytes that one slice offers."""
    members = len(cut.members)
    return capacity_of(level_for(members, redundancy), members, cut.size)


@dataclass(frozen=True)
class BestReplacement:
    """The disk to replace, as an index into the sizes given, and what can be used afterwards."""

    index: int
    usable: int


def best_replacement(
    sizes: t.Sequence[int], replacement: int, redundancy: int = 1, most_members: int = 16
) -> BestReplacement | None:
    """Return which one disk a disk of ``replacement`` bytes should replace; None without disks.

    Where several gain the same, the smallest disk, since its room is lost least; then the first.
    """
    best: tuple[int, int, int] | None = None
    tried: set[int] = set()
    for index, size in enumerate(sizes):
        if size in tried:  # disks of one size are interchangeable
            continue
        tried.add(size)
        changed = [*sizes[:index], replacement, *sizes[index + 1 :]]
        rank = (-capacity(changed, redundancy, most_members).usable, size, index)
        best = rank if best is None or rank < best else best
    return None if best is None else BestReplacement(index=best[2], usable=-best[0])
