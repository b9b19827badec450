# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What Docker's answers mean; they are those of Docker 20.10, 26.1 and 28.5, shortened."""

from __future__ import annotations

import typing as t

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.docker_facts import (
    around,
    bound_ports,
    docker,
    network,
    running_ports,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.model import Network, Published

BRIDGE: dict[str, t.Any] = {
    "Name": "bridge",
    "Id": "0f4a5c8c6cb3d5a9c1f0",
    "Driver": "bridge",
    "Options": {"com.docker.network.bridge.name": "docker0"},
}
OWN: dict[str, t.Any] = {"Name": "shop", "Id": "9d1f6a2b3c4d5e6f", "Driver": "bridge", "Options": {}}
HOST: dict[str, t.Any] = {"Name": "host", "Id": "aa", "Driver": "host", "Options": None}
CONTAINER: dict[str, t.Any] = {
    "Names": ["/other/alias", "/web"],
    "State": "running",
    "Ports": [
        {"IP": "0.0.0.0", "PrivatePort": 443, "PublicPort": 8443, "Type": "tcp"},
        {"IP": "::", "PrivatePort": 443, "PublicPort": 8443, "Type": "tcp"},
        {"IP": "127.0.0.1", "PrivatePort": 9, "PublicPort": 9, "Type": "udp"},
        {"IP": "192.0.2.1", "PrivatePort": 53, "PublicPort": 53, "Type": "udp"},
        {"PrivatePort": 80, "Type": "tcp"},
    ],
}
CREATED: dict[str, t.Any] = {
    "Name": "/later",
    "HostConfig": {
        "PortBindings": {
            "80/tcp": [{"HostIp": "", "HostPort": "8080"}],
            "81/tcp": [{"HostIp": "", "HostPort": ""}],
            "53/udp": [{"HostIp": "2001:db8::1", "HostPort": "53"}],
        }
    },
}


def test_networks_tell_their_bridges() -> None:
    assert network(BRIDGE) == Network("bridge", "bridge", "docker0")
    assert network(OWN) == Network("shop", "bridge", "br-9d1f6a2b3c4d")
    assert network(HOST) == Network("host", "host", "")


def test_ports_of_running_containers() -> None:
    assert list(running_ports(CONTAINER)) == [
        Published("web", "tcp", 8443, "", (4,), 443),
        Published("web", "tcp", 8443, "", (6,), 443),
        Published("web", "udp", 9, "127.0.0.1", (4,), 9),
        Published("web", "udp", 53, "192.0.2.1", (4,), 53),
    ]


def test_ports_of_containers_that_are_to_start() -> None:
    assert list(bound_ports(CREATED)) == [
        Published("later", "tcp", 8080, "", (4, 6), 80, running=False),
        Published("later", "udp", 53, "2001:db8::1", (6,), 53, running=False),
    ]


def test_rules_follow_what_is_reached_from_outside() -> None:
    daemon = docker(
        {"ServerVersion": "26.1.5"}, [BRIDGE, OWN, HOST], [*running_ports(CONTAINER), *bound_ports(CREATED)]
    )
    assert (daemon.version, daemon.backend, daemon.swarm) == ("26.1.5", "", False)
    assert around(daemon.bridges, ["docker0", "br-9d1f6a2b3c4d", "virbr0"]) == {
        "docker": {"docker0", "br-9d1f6a2b3c4d"},
        "foreign": {"virbr0"},
    }


def test_what_newer_daemons_tell() -> None:
    info = {
        "ServerVersion": "29.0.0",
        "FirewallBackend": {"Driver": "nftables"},
        "Swarm": {"LocalNodeState": "active"},
    }
    daemon = docker(info, [], [])
    assert (daemon.backend, daemon.swarm) == ("nftables", True)
