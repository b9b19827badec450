# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""How a running dockerd is set up, from its command line, its file and its own words. Pure.

A setting may stand on the command line or in the file, and dockerd does not start when one is in both
(docs.docker.com/reference/cli/dockerd, "Daemon configuration file").
"""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass

CONFIG_FILE = "/etc/docker/daemon.json"

#: strconv.ParseBool, by which pflag reads the values of switches.
_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))
_SWITCHES = frozenset(("iptables", "ip6tables", "userland-proxy", "tls", "tlsverify"))
_WORDS = frozenset(("firewall-backend", "config-file"))
#: The name of the flag differs from that of the key: a flag is given once for each host, the key is a list.
_HOSTS = {"-H": "hosts", "--host": "hosts"}
#: Since this version Docker writes rules for IPv6 unless it is told not to (its release notes, 27.0).
_IP6TABLES_BY_DEFAULT = 27
#: Until this version there was one backend only (release notes, 29.0).
_BACKENDS_SINCE = 29
_VERSION = re.compile(r"(\d+)\.")
_TCP = "tcp://"
#: dockerd's own without TLS (moby, opts/hosts.go).
_PORT = 2375
_LOCAL = frozenset(("", "localhost", "::1"))

Settings = t.Mapping[str, t.Any]


@dataclass(frozen=True)
class ConfigFile:
    """The daemon's file: its ``settings``, or in ``error`` why it is none. ``newer`` than the daemon: not in force."""

    path: str
    settings: Settings
    error: str = ""
    newer: bool = False


@dataclass(frozen=True)
class Daemon:
    """What a dockerd does; None is what nobody can tell. ``conflicts`` keep it from its next start."""

    pid: int | None = None
    config: ConfigFile | None = None
    iptables: bool | None = None
    ip6tables: bool | None = None
    userland_proxy: bool | None = None
    firewall_backend: str | None = None
    hosts: tuple[str, ...] | None = None
    tls: bool | None = None
    tls_verify: bool | None = None
    conflicts: tuple[str, ...] = ()


def config_file(path: str, text: str | None, newer: bool = False) -> ConfigFile:
    """Return the file from its text; None stands for one that is not there, which sets nothing."""
    try:
        settings = json.loads(text) if text and text.strip() else {}
    except ValueError as error:
        return ConfigFile(path, {}, str(error), newer)
    if not isinstance(settings, dict):
        return ConfigFile(path, {}, "it holds no object", newer)
    return ConfigFile(path, settings, "", newer)


def flags(argv: t.Sequence[str]) -> dict[str, t.Any]:
    """Return those settings of a command line that matter here, by their keys in the file."""
    found: dict[str, t.Any] = {}
    rest = iter(argv[1:])
    for word in rest:
        name, equals, value = word.partition("=")
        if name.startswith("-H") and name != "-H":
            name, equals, value = "-H", "=", word[2:]
        if name in _HOSTS:
            found.setdefault("hosts", []).append(value if equals else next(rest, ""))
        elif name.startswith("--") and name[2:] in _SWITCHES:
            # A switch takes no word of its own behind it; without a value it is on.
            found[name[2:]] = value in _TRUE if equals else True
        elif name.startswith("--") and name[2:] in _WORDS:
            found[name[2:]] = value if equals else next(rest, "")
    return found


def major(version: str) -> int | None:
    """Return the first number of a version."""
    match = _VERSION.match(version)
    return int(match[1]) if match else None


def running(pid: int, given: Settings, config: ConfigFile | None, info: Settings) -> Daemon:
    """Return how a daemon runs, from its flags, its file, and its answer to ``GET /info`` (empty without one)."""
    file: Settings | None = {} if config is None else config.settings
    if config is not None and (config.newer or config.error):
        file = None  # what it was when the daemon read it is not known
    version = major(info.get("ServerVersion", ""))
    read = _Reader(given, file)
    tls_verify = read.switch("tlsverify", False)
    iptables = read.switch("iptables", True)
    return Daemon(
        pid=pid,
        config=config,
        iptables=iptables,
        ip6tables=read.switch("ip6tables", None if version is None else version >= _IP6TABLES_BY_DEFAULT),
        userland_proxy=_told(info.get("EnableUserlandProxy"), read.switch("userland-proxy", True)),
        firewall_backend=(info.get("FirewallBackend") or {}).get("Driver") or _backend(read, version, iptables),
        hosts=read.hosts(),
        tls=True if tls_verify else read.switch("tls", False),
        tls_verify=tls_verify,
        conflicts=_conflicts(given, config),
    )


def _told(answer: t.Any, setting: bool | None) -> bool | None:
    return answer if isinstance(answer, bool) else setting


def _backend(read: _Reader, version: int | None, iptables: bool | None) -> str | None:
    if version is None or iptables is None:
        return None
    if not iptables:
        return "none"
    return "iptables" if version < _BACKENDS_SINCE else read.word("firewall-backend", "iptables")


def _conflicts(given: Settings, config: ConfigFile | None) -> tuple[str, ...]:
    return () if config is None else tuple(sorted(set(given) & set(config.settings)))


class _Reader:
    """Looks a setting up: on the command line, in the file when that is known, else what holds by default."""

    def __init__(self, given: Settings, file: Settings | None) -> None:
        self._given = given
        self._file = file

    def _look(self, key: str, default: t.Any) -> t.Any:
        if key in self._given:
            return self._given[key]
        return None if self._file is None else self._file.get(key, default)

    def switch(self, key: str, default: bool | None) -> bool | None:
        found = self._look(key, default)
        if isinstance(found, str):  # dockerd reads "false" in the file, too
            return True if found in _TRUE else False if found in _FALSE else None
        return found if isinstance(found, bool) else None

    def word(self, key: str, default: str) -> str | None:
        found = self._look(key, default)
        return found if isinstance(found, str) else None

    def hosts(self) -> tuple[str, ...] | None:
        found = self._look("hosts", ["unix:///var/run/docker.sock"])
        return tuple(map(str, found)) if isinstance(found, list) else None


def open_hosts(hosts: t.Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return those of a daemon's ``hosts`` that others than this host reach, each with its port."""
    return tuple((host, _port(host)) for host in hosts if host.startswith(_TCP) and not _is_local(host))


def _address(host: str) -> str:
    return host[len(_TCP) :].rstrip("/")


def _port(host: str) -> int:
    port = _address(host).rpartition(":")[2]
    return int(port) if port.isdigit() else _PORT


def _is_local(host: str) -> bool:
    # Without an address dockerd takes localhost (moby, opts/hosts.go).
    address, colon, port = _address(host).rpartition(":")
    name = (address if colon else port).strip("[]")
    return name in _LOCAL or name.startswith("127.")
