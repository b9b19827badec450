# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The host's sockets, and the processes that have them."""

from __future__ import annotations

import os
import re
import time
import typing as t

from ..auditing.sockets import Process, Socket, bound_unix, listening

_PROC = "/proc"
#: Files of proc_net(5) and their protocol.
_FILES = (("tcp", "tcp"), ("tcp6", "tcp"), ("udp", "udp"), ("udp6", "udp"))
_SOCKET = re.compile(r"socket:\[(\d+)\]")
#: Docker's and containerd's control groups end in the id of the container.
_CONTAINER = re.compile(r"[0-9a-f]{64}")
#: Field 22 of /proc/PID/stat, counted behind the name, which may hold blanks (proc_pid_stat(5)).
_START_TIME = 19


def sockets() -> t.Iterator[Socket]:
    """Yield what listens in this network namespace."""
    for name, protocol in _FILES:
        try:
            # Line by line: a busy host has a line for each connection, and TCP's listeners come first.
            with open(f"{_PROC}/net/{name}", encoding="ascii") as file:
                yield from listening(file, protocol)
        except FileNotFoundError:
            continue  # a kernel without IPv6


def unix_sockets(path: str) -> frozenset[int]:
    """Return the inodes of what listens on a path."""
    real = os.path.realpath(path)
    with open(f"{_PROC}/net/unix", encoding="utf-8", errors="replace") as file:
        # What was bound as /var/run is the same as /run.
        return bound_unix(file, {path, real, f"/var{real}"})


def owners(inodes: frozenset[int]) -> dict[int, list[Process]]:
    """Return the processes of this network namespace that have any of the sockets, by socket."""
    found: dict[int, list[Process]] = {}
    here = os.readlink(f"{_PROC}/self/ns/net")
    for name in os.listdir(_PROC):
        if not name.isdigit():
            continue
        try:
            if os.readlink(f"{_PROC}/{name}/ns/net") != here:
                continue  # a container's process: nearly all of them on a host that is busy with containers
            mine = inodes.intersection(_sockets_of(name))
            if mine:
                process = _process(name)
                for inode in mine:
                    found.setdefault(inode, []).append(process)
        except OSError:
            continue  # it has ended meanwhile
    return found


def _sockets_of(pid: str) -> t.Iterator[int]:
    folder = f"{_PROC}/{pid}/fd"
    for descriptor in os.listdir(folder):
        try:
            match = _SOCKET.match(os.readlink(f"{folder}/{descriptor}"))
        except OSError:
            continue  # closed meanwhile
        if match:
            yield int(match[1])


def _process(pid: str) -> Process:
    container = _CONTAINER.search(_read(pid, "cgroup"))
    return Process(int(pid), _read(pid, "comm").rstrip("\n"), container[0] if container else "")


def _read(pid: str, name: str) -> str:
    with open(f"{_PROC}/{pid}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read()


def command_line(pid: int) -> list[str]:
    """Return the arguments that a process was started with."""
    return _read(str(pid), "cmdline").rstrip("\0").split("\0")


def started(pid: int) -> float:
    """Return when a process was started, in seconds since the epoch."""
    ticks = int(_read(str(pid), "stat").rpartition(")")[2].split()[_START_TIME])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def seen_by(pid: int, path: str) -> str:
    """Return where a path is that a process names; it may live in a root of its own."""
    return f"{_PROC}/{pid}/root{path}"
