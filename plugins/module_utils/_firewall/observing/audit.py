# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Look at what surrounds the policy.

It starts three processes at most, besides those that look at the policy: iptables-save and ip6tables-save, because
their variant (legacy or nf_tables) is the one whose rules Docker writes, and each prints all tables of its family at
once; and ``nft list flowtables``, because the kernel tells of those by netlink only. A listing of the whole ruleset
would take the place of all three, but is unbounded, and shows iptables' rules in other words than Docker's users know.
"""

from __future__ import annotations

import os
import shutil
import typing as t

from ..._converge.command import SEARCH_PATH, CommandError, Runner
from ..auditing.audit import Answers, Audit, Flowtable, Iptables, answers, named_ports, parse_flowtables
from ..auditing.daemon_settings import CONFIG_FILE, ConfigFile, Daemon, config_file, flags, running
from ..auditing.forward_order import Docker, order
from ..auditing.sockets import DOCKERD, PROXY, Listener, Process, Socket, serving
from ..formats.iptables_text import LEGACY, NFT, parse_save
from ..host import Host
from ..places import NFT as NFT_PROGRAM
from . import docker_api, processes

#: Of the tables that the legacy variant made (net/netfilter/x_tables.c).
_LEGACY_TABLES = {4: "/proc/net/ip_tables_names", 6: "/proc/net/ip6_tables_names"}
#: Seconds that may lie between the start of a daemon and the moment it reads its file.
_STARTING = 1.0


def observe_audit(socket: str, host: Host, runner: Runner) -> Audit:
    """Return what else decides on the packets of ``host``; ``socket`` is Docker's path."""
    told = _answers(socket)
    bridged = told.bridged if told else Docker()
    listening = tuple(processes.sockets())
    mine = processes.unix_sockets(socket)
    owners = processes.owners(mine | {each.inode for each in listening})
    return Audit(
        answers=told,
        daemon=_daemon([process for inode in mine for process in owners.get(inode, ())], told),
        ipv4=_iptables("iptables-save", bridged, runner),
        ipv6=_iptables("ip6tables-save", bridged, runner),
        legacy={version: _names(path) for version, path in _LEGACY_TABLES.items()},
        flowtables=_flowtables(runner),
        listeners=tuple(_relevant(listening, owners, host, told)),
        open_by_systemd=tuple(_open_by_systemd(listening, owners)),
    )


def _answers(socket: str) -> Answers | None:
    try:
        info = docker_api.get(socket, "/info")
        networks = docker_api.get(socket, "/networks")
        containers = docker_api.get(socket, "/containers/json")
        # Only a manager knows the services; others answer with an error.
        manager = (info.get("Swarm") or {}).get("ControlAvailable")
        services = docker_api.get(socket, "/services") if manager else None
    except docker_api.DockerSilent:
        return None
    return answers(info, networks, containers, services)


def _daemon(owners: t.Iterable[Process], told: Answers | None) -> Daemon | None:
    found = [process for process in owners if process.name == DOCKERD]
    try:
        if not found:
            stopped = _config(CONFIG_FILE, CONFIG_FILE, None)
            return Daemon(config=stopped) if stopped.settings or stopped.error else None
        pid = found[0].pid
        given = flags(processes.command_line(pid))
        path = given.pop("config-file", CONFIG_FILE)
        config = _config(path, processes.seen_by(pid, path), processes.started(pid))
        return running(pid, given, config, told.info if told else {})
    except OSError:
        return None  # it has ended meanwhile


def _config(path: str, place: str, started: float | None) -> ConfigFile:
    try:
        with open(place, encoding="utf-8", errors="replace") as file:
            newer = started is not None and os.fstat(file.fileno()).st_mtime > started + _STARTING
            return config_file(path, file.read(), newer)
    except FileNotFoundError:
        return config_file(path, None)


def _iptables(program: str, bridged: Docker, runner: Runner) -> Iptables | None:
    place = shutil.which(program, path=SEARCH_PATH)
    if place is None:
        return None
    try:
        # All tables: naming one would make the legacy variant create it.
        saved = parse_save(runner.run((place,)))
    except CommandError:
        return None  # as ip6tables does in a kernel without IPv6
    return Iptables(order(saved, bridged), saved.variant or _variant(place), saved.unreadable)


def _variant(place: str) -> str | None:
    name = os.path.basename(os.path.realpath(place))
    return NFT if "nft" in name else LEGACY if "legacy" in name else None


def _names(path: str) -> tuple[str, ...] | None:
    try:
        with open(path, encoding="ascii") as file:
            return tuple(sorted(file.read().split()))
    except FileNotFoundError:
        return ()  # the kernel has not even the means
    except OSError:
        return None


def _flowtables(runner: Runner) -> tuple[Flowtable, ...]:
    return parse_flowtables(runner.run((NFT_PROGRAM, "--json", "list", "flowtables")))


def _relevant(
    listening: t.Iterable[Socket], owners: t.Mapping[int, t.Sequence[Process]], host: Host, told: Answers | None
) -> t.Iterator[Listener]:
    """Yield who listens on ports that Docker publishes or a policy names, docker-proxies, and containers."""
    published = {(each.protocol, each.host_port) for each in host.docker.published} if host.docker else set()
    published |= {(each.protocol, each.port) for each in (told.services or ())} if told else set()
    named = named_ports(host.policy)
    for each in sorted(listening):
        process = serving(owners.get(each.inode, ()))
        if process and process.container and told:
            process = Process(process.pid, process.name, told.containers.get(process.container, process.container))
        on_host = process is not None and (process.container or process.name == PROXY)
        if on_host or (each.protocol, each.port) in published or named(each.protocol, each.port):
            yield Listener(each, process)


def _open_by_systemd(
    listening: t.Iterable[Socket], owners: t.Mapping[int, t.Sequence[Process]]
) -> t.Iterator[Listener]:
    """Yield the ports that systemd opened for dockerd (systemd.socket(5)), on which it answers as on its socket."""
    for each in sorted(listening):
        found = {process.name: process for process in owners.get(each.inode, ())}
        if each.protocol == "tcp" and "systemd" in found and DOCKERD in found:
            yield Listener(each, found[DOCKERD])
