# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What Docker's answers say about networks and published ports. Pure."""

from __future__ import annotations

import ipaddress
import typing as t

from .model import LONGEST_INTERFACE, PROTOCOLS, Around, Docker, Network, Published
from .ruleset import DOCKER, FOREIGN

Answer = t.Mapping[str, t.Any]

_BRIDGE_NAME = "com.docker.network.bridge.name"


def network(answer: Answer) -> Network:
    """Return one network of ``GET /networks``."""
    driver = answer.get("Driver", "")
    bridge = ""
    if driver == "bridge":
        # libnetwork's default name (daemon/libnetwork/drivers/bridge).
        bridge = (answer.get("Options") or {}).get(_BRIDGE_NAME) or f"br-{answer['Id'][:12]}"
    return Network(answer["Name"], driver, bridge[:LONGEST_INTERFACE])


def running_ports(container: Answer) -> t.Iterator[Published]:
    """Yield what a running container of ``GET /containers/json`` publishes."""
    name = container_name(container.get("Names") or ())
    for port in container.get("Ports") or ():
        if port.get("PublicPort") and port.get("Type") in PROTOCOLS:
            address, versions = listening(port.get("IP", ""))
            yield Published(name, port["Type"], port["PublicPort"], address, versions, port["PrivatePort"])


def bound_ports(container: Answer) -> t.Iterator[Published]:
    """Yield what ``GET /containers/ID/json`` says that a container will publish.

    Ports that Docker chooses at its start are not known yet.
    """
    name = container["Name"].lstrip("/")
    for inner, bindings in ((container.get("HostConfig") or {}).get("PortBindings") or {}).items():
        port, slash, protocol = inner.partition("/")
        for binding in bindings or ():
            if str(binding.get("HostPort", "")).isdigit() and int(binding["HostPort"]):
                address, versions = listening(binding.get("HostIp", ""))
                kind = protocol if slash else "tcp"
                number = int(binding["HostPort"])
                yield Published(name, kind, number, address, versions, int(port), running=False)


def container_name(names: t.Sequence[str]) -> str:
    """Return a container's own name; those of old links have a second slash."""
    own = [name for name in names if name.count("/") == 1] or list(names)
    return own[0].lstrip("/") if own else ""


def listening(text: str) -> tuple[str, tuple[int, ...]]:
    """Return the host address that Docker writes, empty for all of them, and the IP versions that reach it."""
    if not text:
        return "", (4, 6)
    address = ipaddress.ip_address(text.strip("[]"))
    return "" if address.is_unspecified else str(address), (address.version,)


def docker(info: Answer, networks: t.Iterable[Answer], published: t.Iterable[Published]) -> Docker:
    """Return the daemon, from ``GET /info``, ``GET /networks`` and the ports of its containers."""
    return Docker(
        version=info.get("ServerVersion", ""),
        networks=tuple(sorted(map(network, networks), key=lambda each: each.name)),
        published=tuple(sorted(set(published))),
        backend=((info.get("FirewallBackend") or {}).get("Driver") or ""),
        swarm=((info.get("Swarm") or {}).get("LocalNodeState") or "inactive") != "inactive",
    )


def around(docker_bridges: t.Iterable[str], bridges: t.Iterable[str]) -> Around:
    """Return what the rules bind to; ``bridges`` are all bridges of the host."""
    own = frozenset(docker_bridges)
    return {DOCKER: own, FOREIGN: frozenset(bridges) - own}


def is_loopback(address: str) -> bool:
    """Whether only the host itself reaches an address."""
    return address.startswith("127.") or address == "::1"
