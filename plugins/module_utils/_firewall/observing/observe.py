# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Read the host: the kernel's table, the files, the units, Docker, and a change that waits."""

from __future__ import annotations

import hashlib
import json
import os
import typing as t

from ..._converge.command import Runner
from .. import places
from ..backends import BACKENDS, DOCKER_USER
from ..formats.restore_text import bridges_of
from ..host import Host
from ..model import Around, Docker, Table, Undo, Wanted
from ..ruleset import DOCKER, FOREIGN
from ..surroundings import last_around
from . import docker, docker_api
from .iptables import has_ipv6, loaded_rules, observed_gaps, saved_tables
from .kernel import loaded_table, passing_tables

_ROUTES_4 = "/proc/net/route"
_ROUTES_6 = "/proc/net/ipv6_route"
_DEFAULT_BRIDGE = "docker0"
GROUPS = "/sys/fs/cgroup"
_DOCKER_UNIT = "docker.service"
_DEFAULT_SLICE = "system.slice"


def observe_host(want: Wanted, runner: Runner) -> Host:
    """Return the host as it is."""
    table = loaded_table(runner)
    files = _files(want)
    with_ipv6 = has_ipv6()
    try:
        daemon: Docker | None = docker.look_at_docker(want.docker_socket)
    except docker_api.DockerSilent:
        daemon = None
    enabled, active = _units(runner)
    group = _group(runner)
    saved = {version: saved_tables(version, runner) for version in _looked_at(want, files, with_ipv6)}
    return Host(
        around=docker.around(daemon.bridges) if daemon else _around_without_docker(table, files),
        docker=daemon,
        table=table,
        passing=passing_tables(runner),
        chains=loaded_rules(saved),
        gaps=observed_gaps(saved, daemon, places.FIREWALLD in active) if saved else (),
        files=files,
        program=_digest(places.PROGRAM),
        enabled=enabled,
        active=active,
        undo=_undo(runner),
        group=group if group and os.path.isdir(GROUPS + group) else "",
        group_path=group,
        has_ipv6=with_ipv6,
        uplinks=uplinks(_text(_ROUTES_4) or "", _text(_ROUTES_6) or ""),
    )


def _looked_at(want: Wanted, files: t.Mapping[str, str], with_ipv6: bool) -> tuple[int, ...]:
    """The IP versions of which iptables is asked: none where nobody has put chains of ours."""
    traces = (*DOCKER_USER.kept, *DOCKER_USER.temporary)
    if want.backend != DOCKER_USER.name and not any(path in files for path in traces):
        return ()
    return (4, 6) if with_ipv6 else (4,)


def _around_without_docker(table: Table | None, files: t.Mapping[str, str]) -> Around:
    known = last_around(table, files.get(places.AROUND_FILE, "")) or bridges_of(files.get(places.RULES_FILES[4], ""))
    # Before its first start Docker has made nothing but plans for this one.
    return known or {DOCKER: frozenset((_DEFAULT_BRIDGE,)), FOREIGN: docker.bridges() - {_DEFAULT_BRIDGE}}


def uplinks(routes_4: str, routes_6: str) -> frozenset[str]:
    """Return the interfaces with a default route, from /proc/net/route and /proc/net/ipv6_route (proc_net(5))."""
    found = set()
    for line in routes_4.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[1] == fields[7] == "00000000":
            found.add(fields[0])
    for line in routes_6.splitlines():
        fields = line.split()
        if len(fields) == 10 and int(fields[0], 16) == 0 and int(fields[1], 16) == 0:
            found.add(fields[9])
    return frozenset(found - {"lo"})


def _files(want: Wanted) -> dict[str, str]:
    paths = dict.fromkeys(path for backend in BACKENDS for path in backend.paths(want.docker_socket))
    found = ((path, _text(path)) for path in paths)
    return {path: text for path, text in found if text is not None}


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _digest(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except FileNotFoundError:
        return ""


def _units(runner: Runner) -> tuple[frozenset[str], frozenset[str]]:
    names = (places.LOADER, places.WATCHER, places.FIREWALLD)
    shown = runner.run(("systemctl", "show", "--property=Id,ActiveState,UnitFileState", *names))
    enabled, active = set(), set()
    for block in shown.split("\n\n"):
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if values.get("UnitFileState") == "enabled":
            enabled.add(values["Id"])
        if values.get("ActiveState") in ("active", "activating", "reloading"):
            active.add(values["Id"])
    return frozenset(enabled), frozenset(active)


def _group(runner: Runner) -> str:
    """The control group that Docker's service has when it runs; empty where groups are not in one tree (cgroups(7))."""
    if not os.path.exists(f"{GROUPS}/cgroup.controllers"):
        return ""
    chosen = runner.run(("systemctl", "show", "--property=Slice", "--value", _DOCKER_UNIT)).strip()
    return group_path(chosen or _DEFAULT_SLICE, _DOCKER_UNIT)


def group_path(slice_unit: str, unit: str) -> str:
    """Return where a unit of a slice has its group (systemd.slice(5)): ``a-b.slice`` lies in ``a.slice``."""
    stem = slice_unit[: -len(".slice")]
    parts = stem.split("-") if stem.strip("-") else []
    above = "".join(f"/{'-'.join(parts[: number + 1])}.slice" for number in range(len(parts)))
    return f"{above}/{unit}"


def _undo(runner: Runner) -> Undo | None:
    text = _text(places.UNDO_RECORD)
    if text is None:
        return None
    record: t.Mapping[str, str] = json.loads(text)
    timer = f"{places.UNDO_UNIT}.timer"
    state = runner.run(("systemctl", "show", "--property=ActiveState", "--value", timer)).strip()
    return Undo(record["token"], record["since"], state == "active")
