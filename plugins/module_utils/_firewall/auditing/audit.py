# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What an audit finds besides the policy: how Docker runs, and what else has a say on the same packets. Pure."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass, field

from ..coverage import covering, decisions
from ..docker_facts import container_name, network
from ..model import PROTOCOLS, Published, Table
from ..ruleset import SERVED
from .daemon_settings import Daemon
from .forward_order import Docker as Bridged
from .forward_order import Order
from .sockets import Listener

Answer = t.Mapping[str, t.Any]


@dataclass(frozen=True)
class Iptables:
    """One family of iptables. ``variant`` is that of the installed program, else None."""

    order: Order
    variant: str | None
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True)
class Flowtable:
    """A flowtable: connections that a rule adds to it no longer come by the forward hook."""

    family: str
    table: str
    name: str
    devices: tuple[str, ...]


@dataclass(frozen=True)
class Service:
    """A port of a Swarm service. With ``ingress`` every node of the Swarm takes it."""

    name: str
    protocol: str
    port: int
    ingress: bool


@dataclass(frozen=True)
class Answers:
    """What Docker answers besides its ports. ``containers`` are the names of the running ones, by id."""

    info: Answer = field(default_factory=dict)
    containers: t.Mapping[str, str] = field(default_factory=dict)
    on_host: tuple[str, ...] = ()
    on_wire: tuple[tuple[str, str], ...] = ()
    with_ipv6: tuple[str, ...] = ()
    bridged: Bridged = field(default_factory=Bridged)
    services: tuple[Service, ...] | None = None


@dataclass(frozen=True)
class Audit:
    """Everything that was looked at. None is what could not be looked at; a family without iptables is None, too."""

    answers: Answers | None = None
    daemon: Daemon | None = None
    ipv4: Iptables | None = None
    ipv6: Iptables | None = None
    legacy: t.Mapping[int, tuple[str, ...] | None] = field(default_factory=dict)
    flowtables: tuple[Flowtable, ...] = ()
    listeners: tuple[Listener, ...] = ()
    open_by_systemd: tuple[Listener, ...] = ()

    @property
    def families(self) -> t.Iterator[tuple[str, Iptables]]:
        """The families that iptables was found for, by their names."""
        for name, found in (("IPv4", self.ipv4), ("IPv6", self.ipv6)):
            if found is not None:
                yield name, found


def answers(info: Answer, networks: t.Sequence[Answer], containers: t.Sequence[Answer], services: t.Any) -> Answers:
    """Return what ``GET /info``, ``/networks``, ``/containers/json`` and ``/services`` (None: not asked) tell."""
    bridges = {network(each).bridge for each in networks} - {""}
    return Answers(
        info=info,
        containers={each["Id"]: container_name(each.get("Names") or ()) for each in containers},
        on_host=tuple(sorted(container_name(each.get("Names") or ()) for each in containers if _on_host(each))),
        on_wire=tuple(sorted((each["Name"], each["Driver"]) for each in networks if each["Driver"] in _WIRE_DRIVERS)),
        with_ipv6=tuple(sorted(each["Name"] for each in networks if each.get("EnableIPv6") and _is_bridge(each))),
        bridged=Bridged(frozenset(bridges), tuple(sorted(_subnets(networks)))),
        services=None if services is None else tuple(_services(services)),
    )


_WIRE_DRIVERS = ("macvlan", "ipvlan")


def _on_host(container: Answer) -> bool:
    return (container.get("HostConfig") or {}).get("NetworkMode") == "host"


def _is_bridge(answer: Answer) -> bool:
    return bool(answer["Driver"] == "bridge")


def _subnets(networks: t.Iterable[Answer]) -> t.Iterator[str]:
    for each in filter(_is_bridge, networks):
        for config in (each.get("IPAM") or {}).get("Config") or ():
            if config.get("Subnet"):
                yield config["Subnet"]


def _services(listed: t.Iterable[Answer]) -> t.Iterator[Service]:
    for each in listed:
        name = (each.get("Spec") or {}).get("Name", "")
        for port in (each.get("Endpoint") or {}).get("Ports") or ():
            if port.get("PublishedPort"):
                ingress = port.get("PublishMode", "ingress") == "ingress"
                yield Service(name, port.get("Protocol", "tcp"), port["PublishedPort"], ingress)


def parse_flowtables(text: str) -> tuple[Flowtable, ...]:
    """Return what ``nft --json list flowtables`` prints; versions differ in where they name the devices."""
    found = []
    for each in json.loads(text)["nftables"]:
        value = each.get("flowtable")
        if value:
            devices = value.get("dev") or ()
            listed = (devices,) if isinstance(devices, str) else tuple(sorted(devices))
            found.append(Flowtable(value["family"], value["table"], value["name"], listed))
    return tuple(found)


def policies_of(table: Table | None, listener: Listener) -> tuple[str, ...]:
    """Return the policies that decide on what comes to a listener."""
    found = listener.socket
    version = 6 if ":" in found.address else 4
    address = "" if found.everywhere else found.address
    return covering(table, Published("", found.protocol, found.port, address, (version,)))


def service_policies(table: Table | None, service: Service) -> tuple[str, ...]:
    """Return the policies that decide on a port of a service."""
    return covering(table, Published(service.name, service.protocol, service.port))


def named_ports(table: Table | None) -> t.Callable[[str, int], bool]:
    """Return what tells whether a policy names a port, on whatever address."""
    if table is None:
        return lambda _protocol, _port: False
    known = {
        protocol: [ports for version in (0, 4, 6) for _address, ports, _policy in decisions(table, protocol, version)]
        for protocol in PROTOCOLS
    }
    return lambda protocol, port: any(port in ports for ports in known.get(protocol, ()))


def closes_served(table: Table) -> bool:
    """Whether the ports that Docker's service itself has are closed unless a policy names them."""
    found = table.chains.get(SERVED)
    return found is not None and bool(found.rules)


def closed(table: Table | None, port: int, served: bool) -> bool:
    """Whether a TCP port of the host is not open to everybody; ``served`` is whether it would be without a name."""
    return served or named_ports(table)("tcp", port)


def drops_unnamed(table: Table) -> bool:
    """Whether published ports that no policy names are closed."""
    return _has(table, "published", "no policy names")


def drops_direct(table: Table) -> bool:
    """Whether containers' own addresses are closed to the outside."""
    return _has(table, "into", "straight")


def _has(table: Table, chain: str, words: str) -> bool:
    found = table.chains.get(chain)
    return found is not None and any(words in rule for rule in found.rules)
