# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What somebody should know of a host's published ports, in sentences. Pure."""

from __future__ import annotations

import typing as t

from . import places
from .coverage import covered
from .gaps import sentences
from .host import Host
from .ruleset import FAMILY, GUARD, NEXT


def findings(host: Host) -> tuple[str, ...]:
    """Return what is worth knowing, the worst first."""
    found = (*_undone(host), *_passing(host), *_table(host), *_ports(host), *_units(host), *_docker(host))
    return tuple(dict.fromkeys(found))  # a port that is published in both families is one


def _undone(host: Host) -> t.Iterator[str]:
    if host.undo is None:
        return
    if host.undo.armed:
        yield f"The change of {host.undo.since} waits for its confirmation, and is undone without one."
    else:
        yield f"The change of {host.undo.since} was undone: nobody confirmed it in time, or the host was started anew."


def _passing(host: Host) -> t.Iterator[str]:
    if GUARD in host.passing:
        yield (
            f"The table {FAMILY} {GUARD} was left by a load that was killed: nobody can open connections to the ports "
            "that policies name. Run docker_firewall."
        )
    if NEXT in host.passing:
        yield (
            f"The table {FAMILY} {NEXT} was left by a run that was killed: what the policy of that run denies is "
            "denied as well. Run docker_firewall."
        )


def _table(host: Host) -> t.Iterator[str]:
    if host.policy is None:
        yield "No policy is loaded: every published port is open to everybody, and so are containers to a route."
        return
    if host.table is None:
        yield from sentences(host.chains, host.gaps)
        return
    for chain in ("forward", "input"):
        found = host.table.chains.get(chain)
        if found is None or not found.hook:
            yield f"The table has lost its chain '{chain}': what comes that way meets no policy. Run docker_firewall."


def _ports(host: Host) -> t.Iterator[str]:
    if host.docker is None:
        yield "Docker does not answer, so its published ports are not known."
        return
    published = host.policy.chains.get("published") if host.policy else None
    if host.policy is None or any("no policy names" in rule for rule in (published.rules if published else ())):
        return
    for each in covered(host.policy, host.docker.published):
        if each.reachable and not each.policies:
            port = each.published
            yield (
                f"Port {port.host_port}/{port.protocol} of container '{port.container}' is named by no policy, "
                "and open to everybody."
            )


def _units(host: Host) -> t.Iterator[str]:
    if host.policy is None:
        return
    if places.LOADER not in host.enabled:
        yield f"{places.LOADER} is not enabled: after a boot there is no policy."
    if places.WATCHER not in host.active:
        yield f"{places.WATCHER} does not run: networks that Docker makes from now on are not followed."


def _docker(host: Host) -> t.Iterator[str]:
    if host.docker is not None and host.docker.swarm:
        yield "Swarm is active: ports of its services are published on every node, also where none of their tasks runs."
