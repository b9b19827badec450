# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The options of kernel_benchmark, and what they ask for."""

from __future__ import annotations

import ipaddress
import typing as t

from ..._converge.converge import Refusal
from .model import BPF, MODULE, Address, Network, Request
from .shared_memory import MOST_PER_BATCH
from .synthetic_routes import LONGEST, most_routes

Parameters = t.Mapping[str, t.Any]

BENCHMARK_SPEC: dict[str, dict[str, t.Any]] = {
    "engine": {"type": "str", "choices": [BPF, MODULE], "default": BPF},
    "family": {"type": "str", "choices": ["ipv4", "ipv6"], "default": "ipv4"},
    "routes": {"type": "int"},
    "network": {"type": "str"},
    "source": {"type": "str"},
    "interface": {"type": "str"},
    "loops": {"type": "int", "default": 1000000},
    "warm_up": {"type": "int", "default": 100000},
    "batch": {"type": "int", "default": 1},
    "runs": {"type": "int", "default": 5},
    "buckets": {"type": "int", "default": 15},
    "wait_timeout": {"type": "int", "default": 600},
}

#: A quarter of all IPv4 addresses, all of them unicast and none of the host's own; and all that is routed of IPv6.
NETWORKS: dict[str, Network] = {
    "ipv4": ipaddress.IPv4Network("128.0.0.0/2"),
    "ipv6": ipaddress.IPv6Network("2000::/3"),
}
ANY: dict[str, Address] = {"ipv4": ipaddress.IPv4Address(0), "ipv6": ipaddress.IPv6Address(0)}
LOOPBACK = "lo"
MOST_ROUTES = 1000000
#: The kernel counts the program's runs, of which each is one batch, in 32 bits; and nobody waits that long.
MOST_LOOPS = 1000000000

_RANGES = {
    "routes": (0, MOST_ROUTES),
    "loops": (1, MOST_LOOPS),
    "warm_up": (0, MOST_LOOPS),
    "batch": (1, MOST_PER_BATCH),
    "runs": (1, 100),
    "buckets": (3, 200),
    "wait_timeout": (0, 86400),
}


def _check_ranges(parameters: Parameters) -> None:
    for name, (least, most) in _RANGES.items():
        value = parameters[name]
        if value is not None and not least <= value <= most:
            raise Refusal(f"The option {name} is {value}, but must be from {least} to {most}.")
    if parameters["loops"] < parameters["batch"]:
        raise Refusal(
            f"The option loops is {parameters['loops']}, less than one batch of {parameters['batch']} lookups; "
            "ask for more loops or a smaller batch."
        )


def _network(text: str | None, family: str) -> Network:
    if text is None:
        return NETWORKS[family]
    try:
        network = ipaddress.ip_network(text)
    except ValueError as error:
        raise Refusal(
            f"The option network is '{text}', which is no network ({error}); write it as {NETWORKS[family]}."
        ) from error
    if network.version != NETWORKS[family].version:
        raise Refusal(f"The option network is {network}, which does not belong to the family {family}; set family too.")
    return network


def _source(text: str | None, family: str) -> Address:
    if text is None:
        return ANY[family]
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise Refusal(f"The option source is '{text}', which is no IP address.") from error
    if address.version != ANY[family].version:
        raise Refusal(f"The option source is {address}, which does not belong to the family {family}; set family too.")
    return address


def wanted(parameters: Parameters) -> Request:
    """Return what the parameters ask for. Raises Refusal for what makes no sense."""
    _check_ranges(parameters)
    family, routes, engine = parameters["family"], parameters["routes"], parameters["engine"]
    network = _network(parameters["network"], family)
    if routes is not None and parameters["interface"] is not None:
        raise Refusal(
            "The option interface is for the host's own tables; with routes the lookups come in on an interface of a "
            "network of their own. Leave one of the two out."
        )
    if engine == MODULE and family == "ipv6" and parameters["interface"] is not None:
        raise Refusal(
            "The option interface is not for the engine module and the family ipv6, which looks up as for packets of "
            "the host itself: they come in nowhere. Leave it out, or use the engine bpf."
        )
    if routes is not None and routes > most_routes(network):
        raise Refusal(
            f"The network {network} cannot be cut into {routes} routes, but into {most_routes(network)} down to "
            f"/{LONGEST[network.version]} at most; ask for fewer routes or a larger network."
        )
    return Request(
        engine=engine,
        network=network,
        source=_source(parameters["source"], family),
        interface=parameters["interface"] or LOOPBACK,
        routes=routes,
        loops=parameters["loops"],
        warm_up=parameters["warm_up"],
        batch=parameters["batch"],
        runs=parameters["runs"],
        buckets=parameters["buckets"],
        wait_seconds=parameters["wait_timeout"],
    )
