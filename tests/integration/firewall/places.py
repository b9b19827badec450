"""Who is where: the Docker host, two clients outside, and a server that containers connect to."""

from __future__ import annotations

from typing import Any

from tests.integration.firewall.engines import TOOLS, UNITS, Engine

DOCK = "dock"
ALLOWED = "allowed"
DENIED = "denied"
SERVER = "server"
OUTSIDE = "outside"
FAR = "far"

#: The first addresses of each, by family; what clients see of the Docker host, and containers of the server.
ADDRESSES: dict[str, dict[int, str]] = {
    DOCK: {4: "192.0.2.1", 6: "2001:db8:1::1"},
    ALLOWED: {4: "192.0.2.2", 6: "2001:db8:1::2"},
    DENIED: {4: "192.0.2.3", 6: "2001:db8:1::3"},
    SERVER: {4: "198.51.100.2", 6: "2001:db8:2::2"},
}
#: All of Docker's IPv6 networks (see engines.CONTAINER_PREFIX).
CONTAINERS_6 = "2001:db8:c0::/44"


def topology(engine: Engine) -> dict[str, Any]:
    """A lab for this engine. The Docker host's default route leads to the server, the clients' to the Docker host."""
    by_dock = {"0.0.0.0/0": ADDRESSES[DOCK][4], "::/0": ADDRESSES[DOCK][6]}
    by_server = {"0.0.0.0/0": ADDRESSES[SERVER][4], "::/0": ADDRESSES[SERVER][6]}
    dock = {
        "release": engine.release,
        "docker": True,
        "persistent": True,
        "packages": [*TOOLS, *engine.packages],
        "disabled_units": list(UNITS),
        "routes": by_server,
    }
    client = {"kind": "netns", "routes": by_dock}
    server = {"kind": "netns", "routes": {CONTAINERS_6: "2001:db8:2::1"}}
    return {
        "hosts": {DOCK: dock, ALLOWED: client, DENIED: client, SERVER: server},
        "links": {
            OUTSIDE: {"subnets": ["192.0.2.0/24", "2001:db8:1::/64"], "hosts": [DOCK, ALLOWED, DENIED]},
            FAR: {"subnets": ["198.51.100.0/24", "2001:db8:2::/64"], "hosts": [DOCK, SERVER]},
        },
        "uplink": False,
    }
