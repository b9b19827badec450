# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The table that closes what policies name while everything is flushed and loaded anew. Pure.

At the end of a transaction the kernel takes the new rules into force at once, but a lookup in a set or a map may miss
an element for a moment (Linux, "netfilter: nf_tables: restart set lookup on base_seq change"), and a packet may come
to a chain of the old rules when these are off, and to one of the new rules when they are not on yet. A table that only
drops what it finds lets such a packet pass. Where one table stays while the other is replaced that does no harm; where
all are flushed, none can stay. So this one has no sets, and its chains are there twice, one after the other.

It cannot tell who may come in, and drops every new connection to what not everybody may reach.
"""

from __future__ import annotations

import typing as t

from .formats.nft_text import Line, opened
from .model import PROTOCOLS, Policy, Rule, Wanted, joined
from .ruleset import GUARD, NAME, opening, port_key, served_rules, tracked_rules

SIGN = f"Closes ports while {NAME} is loaded; left over if it stays"
#: Before those of the table, which are one before filter.
_PRIORITIES = (3, 2)
_INPUT = "input"
_EVERYBODY = (("0.0.0.0/0",), ("::/0",))


def guard_lines(want: Wanted) -> list[Line]:
    """Return the lines that put the table in place, whether it is there or not."""
    closed = tuple(f"{match} drop" for match in _ports(want, everybody=False))
    tracked = tuple(rule.text for rule in tracked_rules(want))
    unnamed = (*(f"{match} return" for match in _ports(want, everybody=True)), "drop") if want.drop_unnamed else ()
    chains = {
        "published": (*closed, *unnamed),
        "into": ("ct status dnat goto published", *((f"{opening(want)} drop",) if want.drop_direct else ())),
        # Which bridges are Docker's takes a set to tell.
        "forward": (*tracked, 'meta oifkind "bridge" goto into'),
        _INPUT: ('iifname "lo" return', *tracked, *closed),
    }
    lines = opened(GUARD, SIGN)
    for name, rules in chains.items():
        lines += _chain(name, rules)
    for hook in ("forward", _INPUT):
        for before in _PRIORITIES:
            base = f"type filter hook {hook} priority filter - {before}; policy accept;"
            lines += _chain(f"{hook}_{before}", (base, f"jump {hook}"))
    return [*lines, Line("}")]


def served_guard(want: Wanted, group_path: str) -> list[Rule]:
    """Return the rules of the same for what Docker serves, to be loaded when its control group is there."""
    return list(served_rules(group_path)) if want.drop_unnamed else []


#: Where these go.
SERVED_CHAIN = f"{GUARD} {_INPUT}"


def _chain(name: str, rules: t.Iterable[str]) -> list[Line]:
    return [Line(f"\tchain {name} {{"), *(Line(f"\t\t{rule}") for rule in rules), Line("\t}")]


def _ports(want: Wanted, everybody: bool) -> t.Iterator[str]:
    """Yield what matches the ports that everybody may reach, or those that not everybody may, as few as possible."""
    for protocol in PROTOCOLS:
        for address in sorted({policy.host_address for policy in want.policies if policy.protocol == protocol}):
            chosen = [
                each
                for each in want.policies
                if (each.protocol, each.host_address, _is_open(each)) == (protocol, address, everybody)
            ]
            for ports in joined(each for policy in chosen for each in policy.ports):
                yield f"meta l4proto {protocol} {_key(address)} {ports}"


def _is_open(policy: Policy) -> bool:
    """Whether nobody is denied."""
    return all(
        sources == everybody or policy.version not in (0, version)
        for version, sources, everybody in zip((4, 6), (policy.sources_4, policy.sources_6), _EVERYBODY)
    )


def _key(address: str) -> str:
    version = 0 if not address else 6 if ":" in address else 4
    return port_key(version).replace(" . ", f" {address} ")
