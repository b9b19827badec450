# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The memory that the program and user space share: struct shared_memory of bpf/route_lookup.c."""

from __future__ import annotations

import struct
import typing as t

from .model import Loop, Sample
from .return_codes import by_name
from .walk import walk_over

#: state, mask, base_high, base_low, high_mask, low_mask, high_shift, low_shift, source, family, interface, batch,
#: look_up
_TO_DO = struct.Struct("<QQQQQQII16sIIII")
#: batches, total, minimum, maximum, return_codes, errors, last_error
_FOUND = struct.Struct("<QQQQ16QQq")
BUCKETS = 65536
SIZE = _TO_DO.size + _FOUND.size + 4 * BUCKETS
#: The last bucket also has what took longer.
OVERFLOW = BUCKETS - 1
MOST_PER_BATCH = 64

_FAMILIES = {4: 2, 6: 10}  # AF_INET, AF_INET6
_NOTHING_YET = (1 << 64) - 1


def packed(loop: Loop) -> bytes:
    """Return the whole memory as the program is to meet it."""
    walk = walk_over(loop.network)
    source = loop.source.packed.ljust(16, b"\0")
    to_do = _TO_DO.pack(
        loop.state & walk.mask,
        walk.mask,
        walk.base_high,
        walk.base_low,
        walk.high_mask,
        walk.low_mask,
        walk.high_shift,
        walk.low_shift,
        source,
        _FAMILIES[loop.source.version],
        loop.interface_index,
        loop.batch,
        int(loop.look_up),
    )
    found = _FOUND.pack(0, 0, _NOTHING_YET, *[0] * 19)
    return to_do + found + bytes(4 * BUCKETS)


def state_of(memory: bytes) -> int:
    """Return how far the walk has come."""
    return int(_TO_DO.unpack_from(memory)[0])


def sample_of(memory: bytes, batch: int) -> Sample:
    """Return what the program has found."""
    batches, total, minimum, maximum, *rest = _FOUND.unpack_from(memory, _TO_DO.size)
    counts: t.Sequence[int] = struct.unpack_from(f"<{BUCKETS}I", memory, _TO_DO.size + _FOUND.size)
    return Sample(
        batch=batch,
        batches=batches,
        total=total,
        minimum=minimum,
        maximum=maximum,
        histogram={took: count for took, count in enumerate(counts) if count},
        return_codes=by_name(rest[:16]),
        errors=rest[16],
        last_error=rest[17],
    )
