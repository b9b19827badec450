# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What lookups return, by name."""

from __future__ import annotations

import errno
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
#: What fib_lookup() and ip6_route_output() say of routes of these types (fib_props and fib6_prop of the kernel), in the
#: same words where bpf_fib_lookup() has one. It has none of its own for no route at all.
_ERRORS = {
    0: "SUCCESS",
    errno.EINVAL: "BLACKHOLE",
    errno.EHOSTUNREACH: "UNREACHABLE",
    errno.EACCES: "PROHIBIT",
    errno.ENETUNREACH: "NO_ROUTE",
}


def by_name(counts: t.Sequence[int]) -> dict[str, int]:
    """Return the counts that are not zero by the codes' names; a code without a name keeps its number."""
    return {NAMES[code] if code < len(NAMES) else str(code): count for code, count in enumerate(counts) if count}


def by_error_number(counts: t.Mapping[int, int]) -> dict[str, int]:
    """Return the counts of negative error numbers, or 0, by name; one that no type of route has is called as in C."""
    names: dict[int, str] = {**errno.errorcode, **_ERRORS}
    return {names.get(-code, str(code)): count for code, count in counts.items()}


def looked_up(counts: t.Mapping[str, int]) -> int:
    """Return how many calls reached the routing tables, whatever they found there."""
    return sum(count for name, count in counts.items() if name != FORWARDING_DISABLED)
