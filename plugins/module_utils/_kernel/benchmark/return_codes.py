# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What bpf_fib_lookup() returns, by name."""

from __future__ import annotations

import typing as t

#: BPF_FIB_LKUP_RET_* of include/uapi/linux/bpf.h, by number.
NAMES = (
    "SUCCESS",
    "BLACKHOLE",
    "UNREACHABLE",
    "PROHIBIT",
    "NOT_FWDED",
    "FWD_DISABLED",
    "UNSUPP_LWT",
    "NO_NEIGH",
    "FRAG_NEEDED",
    "NO_SRC_ADDR",
)
FORWARDING_DISABLED = "FWD_DISABLED"


def by_name(counts: t.Sequence[int]) -> dict[str, int]:
    """Return the counts that are not zero by the codes' names; a code without a name keeps its number."""
    return {NAMES[code] if code < len(NAMES) else str(code): count for code, count in enumerate(counts) if count}


def looked_up(counts: t.Mapping[str, int]) -> int:
    """Return how many calls reached the routing tables, whatever they found there."""
    return sum(count for name, count in counts.items() if name != FORWARDING_DISABLED)
