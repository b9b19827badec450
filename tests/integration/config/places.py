"""Who is where: the host with the daemons, a router that it has a BGP session with, a client, and the controller."""

from __future__ import annotations

from typing import Any

EDGE = "edge"
ROUTER = "router"
CLIENT = "client"
CONTROLLER = "controller"

#: Where the edge is for the client, and for the router.
SITE = "198.51.100.1"
EDGE_AT_ROUTER = "192.0.2.1"
ROUTER_AT_EDGE = "192.0.2.2"
#: An address of the edge that the router knows by BGP only; and the controllers' network, which the edge knows so.
LOOPBACK = "203.0.113.1"
CONTROLLERS = "10.20.30.0/24"
ROUTER_AT_CONTROLLER = "10.20.30.1"
#: The edge's interface on the client's side, where Keepalived has an address.
OUTSIDE = "outside"

PACKAGES = ("bird2", "haproxy", "keepalived", "nginx-light", "openssl")
#: Tests start what they need.
UNITS = ("bird.service", "haproxy.service", "keepalived.service", "nginx.service")


def topology(release: str) -> dict[str, Any]:
    """A lab of this release: client - edge - router - controller."""
    system = {"release": release, "packages": list(PACKAGES), "disabled_units": list(UNITS)}
    controller = {"kind": "netns", "routes": {f"{LOOPBACK}/32": ROUTER_AT_CONTROLLER}}
    return {
        "hosts": {EDGE: system, ROUTER: system, CLIENT: {"kind": "netns"}, CONTROLLER: controller},
        "links": {
            OUTSIDE: {"subnets": ["198.51.100.0/24"], "hosts": [EDGE, CLIENT]},
            "core": {"subnets": ["192.0.2.0/24"], "hosts": [EDGE, ROUTER]},
            "control": {"subnets": [CONTROLLERS], "hosts": [ROUTER, CONTROLLER]},
        },
        "uplink": False,
    }
