# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Look at Docker and at the host's bridges."""

from __future__ import annotations

import os
import typing as t

from .. import docker_facts
from ..model import Around, Docker, Published
from . import docker_api

INTERFACES = "/sys/class/net"


def look_at_docker(socket: str) -> Docker:
    """Return what Docker has. Raises :class:`docker_api.DockerSilent`."""
    info = docker_api.get(socket, "/info")
    networks = docker_api.get(socket, "/networks")
    return docker_facts.docker(info, networks, _published(socket))


def _published(socket: str) -> t.Iterator[Published]:
    for container in docker_api.get(socket, "/containers/json?all=1"):
        ports = list(docker_facts.running_ports(container))
        yield from ports
        if not ports and container.get("State") != "running":
            try:
                yield from docker_facts.bound_ports(docker_api.get(socket, f"/containers/{container['Id']}/json"))
            except docker_api.DockerSilent:
                continue  # it was removed meanwhile


def bridges() -> frozenset[str]:
    """Return all bridges of the host."""
    return frozenset(name for name in os.listdir(INTERFACES) if os.path.isdir(f"{INTERFACES}/{name}/bridge"))


def bridges_of_docker(socket: str) -> frozenset[str]:
    """Return those of Docker. Raises :class:`docker_api.DockerSilent`."""
    networks = map(docker_facts.network, docker_api.get(socket, "/networks"))
    return frozenset(network.bridge for network in networks if network.bridge)


def around(docker_bridges: t.Iterable[str]) -> Around:
    """Return what the rules bind to."""
    return docker_facts.around(docker_bridges, bridges())
