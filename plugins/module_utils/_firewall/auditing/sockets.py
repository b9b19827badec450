# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Who listens on this host, from the files of proc_net(5). Pure."""

from __future__ import annotations

import ipaddress
import socket
import struct
import typing as t
from dataclasses import dataclass

from ..docker_facts import is_loopback

_LISTEN = "0A"
#: What UDP calls a socket that is connected to nobody (net/ipv4/udp.c prints TCP_CLOSE).
_UNCONNECTED = "07"
#: As in /proc/PID/comm.
PROXY = "docker-proxy"
DOCKERD = "dockerd"
_V4_MAPPED = "::ffff:"


@dataclass(frozen=True, order=True)
class Socket:
    """A socket that takes what comes to a port; ``address`` is 0.0.0.0 or :: for every address of its family."""

    protocol: str
    port: int
    address: str
    inode: int

    @property
    def everywhere(self) -> bool:
        """Whether it takes what comes to any address of its family."""
        return ipaddress.ip_address(self.address).is_unspecified


@dataclass(frozen=True)
class Process:
    """A process; ``container`` is the id of the one that it runs in, or empty."""

    pid: int
    name: str
    container: str = ""


@dataclass(frozen=True)
class Listener:
    """A socket with the process that serves it, if that is known."""

    socket: Socket
    process: Process | None

    @property
    def is_proxy(self) -> bool:
        """Whether docker-proxy serves it."""
        return self.process is not None and self.process.name == PROXY

    @property
    def reachable(self) -> bool:
        """Whether anybody but the host itself reaches it."""
        return not is_loopback(self.socket.address)


def listening(lines: t.Iterable[str], protocol: str) -> t.Iterator[Socket]:
    """Yield the listening sockets of /proc/net/tcp, tcp6, udp or udp6; ``protocol`` is tcp or udp."""
    wanted = _LISTEN if protocol == "tcp" else _UNCONNECTED
    for number, line in enumerate(lines):
        fields = line.split()
        if number == 0 or len(fields) < 10:
            continue
        if fields[3] != wanted:
            if protocol == "tcp":
                return  # the kernel lists listening ones first (net/ipv4/tcp_ipv4.c, tcp_get_idx)
            continue
        address, port = fields[1].split(":")
        yield Socket(protocol, int(port, 16), _address(address), int(fields[9]))


def _address(text: str) -> str:
    """Words of 32 bits, each in the order of the machine."""
    words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    shown = socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, packed)
    return shown[len(_V4_MAPPED) :] if shown.startswith(_V4_MAPPED) and "." in shown else shown


def bound_unix(lines: t.Iterable[str], paths: t.Container[str]) -> frozenset[int]:
    """Return the inodes of the listening sockets of /proc/net/unix that are bound to one of ``paths``."""
    found = set()
    for line in lines:
        fields = line.split(None, 7)
        # Flags: SO_ACCEPTCON, "waiting for a connection" (linux/net.h).
        if len(fields) == 8 and fields[7].rstrip("\n") in paths and int(fields[3], 16) & 0x10000:
            found.add(int(fields[6]))
    return frozenset(found)


#: With two that share a socket, the one that serves it: systemd and dockerd only open it for the other.
_ONLY_OPENS = ("systemd", DOCKERD)


def serving(owners: t.Iterable[Process]) -> Process | None:
    """Return which of the processes that have a socket serves it."""
    ranked = sorted(owners, key=lambda each: (_rank(each.name), each.pid))
    return ranked[0] if ranked else None


def _rank(name: str) -> int:
    return -_ONLY_OPENS.index(name) + len(_ONLY_OPENS) if name in _ONLY_OPENS else 0
