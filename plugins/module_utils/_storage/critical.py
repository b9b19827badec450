# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""How much of an array md cannot reshape safely by itself, and where that is kept meanwhile. Pure arithmetic.

A reshape over more members writes each row of chunks where older rows stood. At its beginning these are what is just
being moved, and after a crash no position tells how to go on. Where there is room md moves the data towards the start,
and overwrites nothing. Elsewhere mdadm makes a backup; but since 2021 its start_reshape() lets the kernel begin
(sync_max) before it has made that. What it then saves may be moved already, and comes back to the wrong place.
"""

from __future__ import annotations

import math

from .model import KIB, redundancy_of

#: Where the beginnings of arrays are kept.
DIRECTORY = "/var/lib/baremetal.fabric/storage"
#: Seconds after which volumes are let go that are held for a reshape, whatever became of the run.
LONGEST_GUARD = 30
#: Superblock, bitmap and bad block log at the start of a member take no more (mdadm's super1.c, choose_bm_space).
METADATA = 256 * KIB


def kept_path(array: str) -> str:
    """Return the file in which the beginning of array POOL-N is kept."""
    return f"{DIRECTORY}/{array}.critical"


def data_members(level: int, devices: int) -> int:
    """Return how many members' worth of data an array of raid5 or raid6 has; a mirror becomes a raid5 of two."""
    return devices - redundancy_of(max(5, level), devices)


def backup_length(old: int, new: int, chunk: int) -> int:
    """Return the bytes of the array that mdadm backs up at least when ``old`` data members become ``new``.

    It is what mdadm prints as "Need to backup": whole rows of both layouts (its Grow.c, compute_backup_blocks).
    """
    return old * new // math.gcd(old, new) * chunk


def needs_backup(data_offset: int, old: int, new: int, chunk: int) -> bool:
    """Whether mdadm may find too little room before the data to move them (Grow.c, set_new_data_offset)."""
    return data_offset - METADATA < backup_length(old, new, chunk) // old


def rows_at_risk(old: int, new: int) -> int:
    """Return how many rows of chunks on each member a crash may find overwritten, and not recorded as moved.

    The kernel records its position before it goes on as soon as it reads more than a row beyond what it writes, with a
    row more on either side (raid5.c, reshape_request); that is after 2 * old / (new - old) rows. Two more are a margin.
    """
    return 2 * old // (new - old) + 3


def safe_position(old: int, new: int, chunk: int) -> int:
    """Return the position in the array, in bytes, beyond which md itself can always take up the reshape again."""
    return -(-2 * old * new * chunk // (new - old))


__all__ = (
    "DIRECTORY",
    "LONGEST_GUARD",
    "backup_length",
    "data_members",
    "kept_path",
    "needs_backup",
    "rows_at_risk",
    "safe_position",
)
