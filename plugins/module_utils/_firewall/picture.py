# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Draws a firewall as a person would: who may reach what. Pure."""

from __future__ import annotations

import typing as t

from .coverage import decisions
from .host import Host
from .model import PROTOCOLS, Table
from .ruleset import DOCKER, FAMILY, source_set

#: More sources than these are counted.
_MOST_SOURCES = 12


def draw(host: Host) -> str:
    """Return the firewall in a few lines: a policy for each, then what holds for the rest."""
    lines = []
    policy = host.policy
    if policy is None:
        lines.append("no policy: every published port is open to everybody")
    else:
        lines += [f"Docker's bridges: {_listed(host.around.get(DOCKER, frozenset())) or 'none'}"]
        lines += _policies(policy)
        lines += _rest(policy)
    lines += [f"left over: table {FAMILY} {name}" for name in sorted(host.passing)]
    if host.undo is not None and host.undo.armed:
        lines.append("not confirmed: undone when its time is up, or at the next boot")
    if host.program:
        lines.append("watcher installed")
    lines += [f"file {path}" for path in sorted(host.files)]
    return "\n".join(lines)


def _policies(table: Table) -> t.Iterator[str]:
    ports: dict[str, list[str]] = {}
    for protocol in PROTOCOLS:
        for version in (0, 4, 6):
            for address, found, policy in decisions(table, protocol, version):
                host = f"[{address}]" if ":" in address else address
                ports.setdefault(policy, []).append(f"{protocol} {host + ':' if host else ''}{found}")
    for policy in sorted(ports):
        sets = [table.sets.get(source_set(policy, version)) for version in (4, 6)]
        sources = [element for each in sets if each is not None for element in each.elements]
        who = _listed(sources) or "nobody"
        yield f"{policy}: {', '.join(ports[policy])} from {who}{_logs(table, policy)}"


def _logs(table: Table, policy: str) -> str:
    chain = table.chains.get(f"policy_{policy}")
    logged = chain is not None and any("logged" in rule for rule in chain.rules)
    return ", denied ones are logged" if logged else ""


def _rest(table: Table) -> t.Iterator[str]:
    if "forward" not in table.chains or "into" not in table.chains or "published" not in table.chains:
        yield "the table is damaged: a chain is missing"
        return
    drops = any("no policy names" in rule for rule in table.chains["published"].rules)
    yield f"other published ports: {'from nobody' if drops else 'from everybody'}"
    direct = any("straight" in rule for rule in table.chains["into"].rules)
    yield f"straight to containers: {'from nobody' if direct else 'from everybody'}"
    cuts = not any("were there before" in rule for rule in table.chains["forward"].rules)
    yield f"connections that were there before: {'cut' if cuts else 'kept'}"


def _listed(names: t.Iterable[str]) -> str:
    found = sorted(names)
    if len(found) > _MOST_SOURCES:
        return f"{', '.join(found[:_MOST_SOURCES])} and {len(found) - _MOST_SOURCES} more"
    return ", ".join(found)
