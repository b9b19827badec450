# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What the modules return of a firewall. Pure."""

from __future__ import annotations

import typing as t

from .backends import BACKENDS
from .coverage import covered
from .docker_user import ENTRY
from .host import Host
from .model import Gap
from .ruleset import DOCKER, FAMILY, TABLE


def facts(host: Host) -> dict[str, t.Any]:
    """Return the firewall as modules return it."""
    return {
        "backend": next((each.name for each in BACKENDS if each.present(host)), None),
        "table": TABLE if host.table is not None else None,
        "left_tables": [f"{FAMILY} {name}" for name in sorted(host.passing)],
        "chain": ENTRY if host.chains else None,
        "bridges": sorted(host.around.get(DOCKER, ())),
        "docker": None if host.docker is None else _docker(host),
        "published": [] if host.docker is None else [_published(each) for each in _covered(host)],
        "gaps": [_gap(each) for each in _gaps(host)],
        "unconfirmed": _unconfirmed(host),
    }


def _covered(host: Host) -> t.Any:
    return covered(host.policy, host.docker.published if host.docker else ())


def _gaps(host: Host) -> tuple[Gap, ...]:
    return host.gaps if host.chains and host.table is None else ()


def _gap(gap: Gap) -> dict[str, t.Any]:
    return {"kind": gap.kind, "ip_version": gap.version or None, "ports": list(gap.ports)}


def _docker(host: Host) -> dict[str, t.Any]:
    daemon = host.docker
    if daemon is None:
        return {}
    return {
        "version": daemon.version,
        "firewall_backend": daemon.backend or "iptables",
        "swarm": daemon.swarm,
        "networks": [
            {"name": each.name, "driver": each.driver, "bridge": each.bridge or None} for each in daemon.networks
        ],
    }


def _published(each: t.Any) -> dict[str, t.Any]:
    port = each.published
    return {
        "container": port.container,
        "protocol": port.protocol,
        "host_address": port.host_address or None,
        "host_port": port.host_port,
        "container_port": port.container_port,
        "running": port.running,
        "policies": list(each.policies),
    }


def _unconfirmed(host: Host) -> dict[str, t.Any] | None:
    if host.undo is None:
        return None
    return {"token": host.undo.token, "since": host.undo.since or None, "undone": not host.undo.armed}
