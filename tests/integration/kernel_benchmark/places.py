"""Where lookups are timed: a router of each release, on a network on which there is nobody else."""

from __future__ import annotations

from typing import Any

from tests.lab.recipe import RELEASES

OUTSIDE = "outside"
#: A neighbour that the routers do not know, by family.
NOBODY = {"ipv4": "192.0.2.99", "ipv6": "2001:db8:1::99"}
SUBNETS = {"ipv4": "192.0.2.0/24", "ipv6": "2001:db8:1::/64"}


def topology() -> dict[str, Any]:
    """The routers; `docker` lets bpf(2) through."""
    return {
        "hosts": {release: {"release": release, "docker": True} for release in RELEASES},
        "links": {OUTSIDE: {"subnets": list(SUBNETS.values()), "hosts": list(RELEASES)}},
        "uplink": False,
    }
