# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A network of one's own, with as many routes as wanted. It vanishes with the process that made it."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import typing as t

from ...._converge.command import Runner
from ...._converge.converge import ObservationFailed
from ...._converge.namespace import throw_away_network
from ..model import Address, Request
from ..netlink_routes import error_in, messages
from ..synthetic_routes import cut

#: Lookups come in here; the routes lead back out, to a neighbour that is known. Loopback would not do: the kernel makes
#: IPv6 routes through it unreachable (net/ipv6/route.c, fib6_is_reject).
INTERFACE = "out"
_PEER = "peer"
#: More entries of the destination cache than there will be: their collector, which walks over all routes in Linux 6.1
#: (fib6_run_gc), would be part of the longest lookups.
_NO_COLLECTION = ("/proc/sys/net/ipv6/route/gc_thresh", str((1 << 31) - 1))
_LINK_ADDRESS = "02:00:00:00:00:02"
#: Of the network for benchmarks (RFC 2544), and a unique local one (RFC 4193): beside what is usually measured.
_OWN = {4: "198.18.0.1/30", 6: "fd00:198:18::1/64"}
_GATEWAY: dict[int, Address] = {
    4: ipaddress.IPv4Address("198.18.0.2"),
    6: ipaddress.IPv6Address("fd00:198:18::2"),
}


def _set(path: str, value: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(value)


def _equip(version: int, runner: Runner) -> None:
    def ip(*arguments: str) -> None:
        runner.run(("ip", f"-{version}", *arguments))

    runner.run(("ip", "link", "add", INTERFACE, "type", "veth", "peer", "name", _PEER))
    # Neither solicits nor advertises: nobody else is there.
    for interface in (INTERFACE, _PEER):
        runner.run(("ip", "link", "set", interface, "up"))
    runner.run(("ip", "link", "set", "lo", "up"))
    _set(f"/proc/sys/net/ipv{version}/conf/all/forwarding", "1")
    if version == 6:
        _set(*_NO_COLLECTION)
    ip("address", "add", _OWN[version], "dev", INTERFACE, *(("nodad",) if version == 6 else ()))
    ip("neighbour", "add", str(_GATEWAY[version]), "lladdr", _LINK_ADDRESS, "dev", INTERFACE, "nud", "permanent")


def _load(request: Request, count: int) -> None:
    version = request.network.version
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.bind((0, 0))
        for message in messages(cut(request.network, count), _GATEWAY[version], socket.if_nametoindex(INTERFACE)):
            kernel.send(message)
            error = error_in(kernel.recv(65536))
            if error:
                raise ObservationFailed(
                    f"The kernel does not take {count} routes in {request.network} ({os.strerror(error)}); ask for "
                    "fewer routes or another network."
                )


@contextlib.contextmanager
def network_with_routes(request: Request, count: int, runner: Runner) -> t.Iterator[None]:
    """Let this process have, inside, a network in which ``count`` routes lead to the request's destinations.

    Raises CommandError when ip(8) fails, OSError where the host allows no network of one's own, and
    ObservationFailed when the kernel takes no more routes.
    """
    version = request.network.version
    with throw_away_network():
        try:
            _equip(version, runner)
        except OSError as error:
            raise ObservationFailed(
                f"A network of its own could not be set up: {error.strerror} ({error.filename}); in a container, run "
                "on the host instead, or give the container a writable /proc/sys/net."
            ) from error
        _load(request, count)
        yield
