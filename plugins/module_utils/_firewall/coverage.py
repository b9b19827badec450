# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Which policy decides on a published port, and by which way connections reach it. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from .docker_facts import is_loopback
from .model import Ports, Published, Table
from .ruleset import policy_chain, port_map

_GOTO = " : goto "
_PREFIX = policy_chain("")


@dataclass(frozen=True)
class Covered:
    """A published port. ``policies`` are those that decide on it; empty when it is left to the default."""

    published: Published
    policies: tuple[str, ...]

    @property
    def reachable(self) -> bool:
        """Whether anybody but the host itself can reach it."""
        return not is_loopback(self.published.host_address)


def decisions(table: Table, protocol: str, version: int) -> t.Iterator[tuple[str, Ports, str]]:
    """Yield (host address or nothing, ports, policy) for each element of a port map of the table."""
    found = table.sets.get(port_map(protocol, version))
    for element in sorted(found.elements) if found else ():
        key, arrow, chain = element.partition(_GOTO)
        if not arrow or not chain.startswith(_PREFIX):
            continue
        address, dot, ports = key.rpartition(" . ")
        first, dash, last = ports.partition("-")
        yield address if dot else "", Ports(int(first), int(last if dash else first)), chain[len(_PREFIX) :]


def covering(table: Table | None, published: Published) -> tuple[str, ...]:
    """Return the policies that decide on a published port, those of single addresses first."""
    if table is None:
        return ()
    found: list[str] = []
    versions = (4, 6) if published.everywhere else published.versions
    for version in (*versions, 0):
        for address, ports, policy in decisions(table, published.protocol, version):
            here = not address or published.everywhere or address == published.host_address
            if here and published.host_port in ports and policy not in found:
                found.append(policy)
    return tuple(found)


def covered(table: Table | None, published: t.Iterable[Published]) -> tuple[Covered, ...]:
    """Return all published ports with what decides on them."""
    return tuple(Covered(each, covering(table, each)) for each in published)
