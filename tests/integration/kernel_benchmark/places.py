"""Where lookups are timed: a router of each release, on a network on which there is nobody else."""

from __future__ import annotations

from typing import Any

from tests.integration.kernel.places import TOOLS
from tests.lab.recipe import RELEASES

OUTSIDE = "outside"
#: A neighbour that the routers do not know, by family.
NOBODY = {"ipv4": "192.0.2.99", "ipv6": "2001:db8:1::99"}
SUBNETS = {"ipv4": "192.0.2.0/24", "ipv6": "2001:db8:1::/64"}


GUEST = "guest"
#: An emulated host takes its time.
BOOT_SECONDS = 300.0


def guest_topology(release: str) -> dict[str, Any]:
    """A host with a kernel of its own and its headers; room for a million IPv6 routes."""
    packages = [*TOOLS, "linux-headers-amd64"]
    return {"hosts": {GUEST: {"kind": "qemu", "release": release, "memory": "4G", "packages": packages}}}


def topology() -> dict[str, Any]:
    """The routers; `docker` lets bpf(2) through."""
    return {
        "hosts": {release: {"release": release, "docker": True} for release in RELEASES},
        "links": {OUTSIDE: {"subnets": list(SUBNETS.values()), "hosts": list(RELEASES)}},
        "uplink": False,
    }
