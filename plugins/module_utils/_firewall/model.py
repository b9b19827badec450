# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What a firewall for Docker's published ports consists of. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

PROTOCOLS = ("tcp", "udp", "sctp")
#: Interface names end in a zero byte within IFNAMSIZ, which is 16 (linux/if.h).
LONGEST_INTERFACE = 15


@dataclass(frozen=True, order=True)
class Ports:
    """Host ports from ``first`` to ``last``, both included."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"

    def overlaps(self, other: Ports) -> bool:
        """Whether both have a port in common."""
        return self.first <= other.last and other.first <= self.last

    def __contains__(self, port: int) -> bool:
        return self.first <= port <= self.last


def joined(ports: t.Iterable[Ports]) -> tuple[Ports, ...]:
    """Return the same ports as few ranges, sorted: an interval map holds none twice."""
    found: list[Ports] = []
    for each in sorted(ports):
        if found and each.first <= found[-1].last + 1:
            found[-1] = Ports(found[-1].first, max(found[-1].last, each.last))
        else:
            found.append(each)
    return tuple(found)


@dataclass(frozen=True)
class Policy:
    """Who may open connections to some of the host's ports.

    ``host_address`` limits it to one address of the host; empty means all of them. ``sources`` are the networks of
    each IP version (4, 6) in the form of :func:`addresses.merged`.
    """

    name: str
    protocol: str
    ports: tuple[Ports, ...]
    host_address: str = ""
    sources_4: tuple[str, ...] = ()
    sources_6: tuple[str, ...] = ()
    log: bool = False

    @property
    def version(self) -> int:
        """The IP version of ``host_address``; 0 when the policy holds for both."""
        if not self.host_address:
            return 0
        return 6 if ":" in self.host_address else 4


@dataclass(frozen=True)
class Wanted:
    """The policy of a host as its user declares it.

    ``confirm_timeout`` is in seconds; 0 asks for no confirmation. ``token`` names the change that this run may make,
    ``confirm`` the one that it confirms.
    """

    policies: tuple[Policy, ...] = ()
    drop_unnamed: bool = False
    drop_direct: bool = True
    cut_existing: bool = False
    backend: str = "auto"
    confirm_timeout: int = 0
    confirm: str = ""
    token: str = ""
    absent: bool = False
    docker_socket: str = "/run/docker.sock"


@dataclass(frozen=True, order=True)
class Published:
    """A port that Docker publishes.

    ``host_address`` is empty when it listens on all addresses of the IP ``versions``. ``running`` tells whether its
    container does.
    """

    container: str
    protocol: str
    host_port: int
    host_address: str = ""
    versions: tuple[int, ...] = (4, 6)
    container_port: int = 0
    running: bool = True

    @property
    def everywhere(self) -> bool:
        """Whether it listens on every address of the host."""
        return not self.host_address


@dataclass(frozen=True)
class Network:
    """One of Docker's networks. ``bridge`` is the interface of one that has the bridge driver, else empty."""

    name: str
    driver: str
    bridge: str = ""


@dataclass(frozen=True)
class Docker:
    """What the daemon tells of itself; ``backend`` is the firewall that it writes, such as ``iptables``."""

    version: str
    networks: tuple[Network, ...] = ()
    published: tuple[Published, ...] = ()
    backend: str = ""
    swarm: bool = False

    @property
    def bridges(self) -> frozenset[str]:
        """The interfaces behind which containers live."""
        return frozenset(network.bridge for network in self.networks if network.bridge)


#: What the rules bind to, and what changes without anybody's declaration: elements by the name of their set.
Around = t.Mapping[str, t.FrozenSet[str]]


@dataclass(frozen=True)
class Rule:
    """One rule: ``text`` as nft reads it, without its comment. ``owner`` is the policy that it came from, if one."""

    text: str
    says: str
    owner: str = ""


@dataclass(frozen=True)
class Chain:
    """A chain; ``hook`` is empty for one that is only jumped to. ``rules`` hold the comments that identify them."""

    name: str
    hook: str = ""
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class NamedSet:
    """A set, or with ``data`` a map. ``key`` is its type as nft writes it; elements are in nft's own words."""

    name: str
    key: str
    interval: bool = False
    data: str = ""
    elements: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Table:
    """A table as the kernel has it: what it takes to tell whether two are the same."""

    chains: t.Mapping[str, Chain] = field(default_factory=dict)
    sets: t.Mapping[str, NamedSet] = field(default_factory=dict)


@dataclass(frozen=True)
class UserRules:
    """Our chains of one IP version below DOCKER-USER: the comments that identify their rules, by chain.

    ``jumps`` are the numbers of the rules in DOCKER-USER that lead to them.
    """

    chains: t.Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    jumps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Gap:
    """What DOCKER-USER does not see, by :mod:`gaps`; ``ports`` are such as ``tcp 8443``."""

    kind: str
    version: int = 0
    ports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Undo:
    """A change that nobody has confirmed yet. ``armed`` is false when its time is up, or the host was started anew."""

    token: str
    since: str
    armed: bool
