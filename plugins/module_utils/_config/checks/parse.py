# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From what a task says to checks."""

from __future__ import annotations

import typing as t
from urllib.parse import urlsplit

from ..._converge.converge import Refusal
from .bird import BirdCheck
from .check import Check
from .command import CommandCheck
from .file import FileCheck
from .haproxy import HaproxyCheck
from .http import HttpCheck
from .keepalived import KeepalivedCheck
from .tcp import TcpCheck
from .tls import TlsCheck
from .unit import UnitCheck

Given = t.Mapping[str, t.Any]


def check_of(given: Given) -> Check:
    """Return the check that ``given``, an element of the option verify, declares.

    Raises :class:`Refusal` when it declares none, several, or one that cannot be made.
    """
    kinds = [kind for kind in _MADE_BY if given.get(kind) is not None]
    if not kinds:
        raise Refusal("A check in 'verify' says nothing; give it one of {}.".format(", ".join(sorted(_MADE_BY))))
    if len(kinds) > 1:
        raise Refusal("A check in 'verify' has {}; give each a check of its own.".format(" and ".join(kinds)))
    kind = kinds[0]
    return _MADE_BY[kind](given[kind])


def _unit(unit: str) -> Check:
    # systemctl would take a word that begins with a dash for an option.
    if not unit or unit != unit.strip() or unit.startswith("-"):
        raise Refusal(f"The check 'unit' has '{unit}', which is no name of a unit.")
    return UnitCheck(unit)


def _command(argv: t.Sequence[str]) -> Check:
    if not argv or not argv[0]:
        raise Refusal("The check 'command' is empty; give the program and its arguments as a list.")
    return CommandCheck(tuple(argv))


def _tcp(given: Given) -> Check:
    return TcpCheck(_host("tcp", given), _port("tcp", given))


def _tls(given: Given) -> Check:
    return TlsCheck(
        host=_host("tls", given),
        port=_port("tls", given),
        server_name=given.get("server_name") or "",
        ca_file=_path_or_none("tls.ca_file", given.get("ca_file")),
    )


def _http(given: Given) -> Check:
    url: str = given["url"]
    if not _is_http(url):
        raise Refusal(
            f"The check 'http' has the URL '{url}'; it has to begin with http:// or https:// and name a host."
        )
    status = given.get("status")
    if status is not None and not 100 <= status <= 599:
        raise Refusal(f"The check 'http' has the status {status}; it has to be from 100 to 599.")
    host_header = given.get("host_header") or ""
    if any(letter.isspace() for letter in host_header):
        raise Refusal(f"The check 'http' has the Host header '{host_header}'; no space can be in it.")
    return HttpCheck(
        url=url,
        host_header=host_header,
        status=200 if status is None else status,
        contains=given.get("contains") or "",
        ca_file=_path_or_none("http.ca_file", given.get("ca_file")),
    )


def _file(given: Given) -> Check:
    return FileCheck(_path("file.path", given["path"]), given.get("contains") or "")


def _haproxy(path: str) -> Check:
    return HaproxyCheck(_path("haproxy", path))


def _bird(given: Given) -> Check:
    names = tuple(given.get("protocols") or ())
    if not all(names):
        raise Refusal("The check 'bird' has a protocol without a name.")
    return BirdCheck(_path("bird.socket", given.get("socket") or "/run/bird/bird.ctl"), names)


def _keepalived(path: str) -> Check:
    return KeepalivedCheck(_path("keepalived", path))


#: What makes each kind of check.
_MADE_BY: dict[str, t.Callable[[t.Any], Check]] = {
    "unit": _unit,
    "command": _command,
    "tcp": _tcp,
    "tls": _tls,
    "http": _http,
    "file": _file,
    "haproxy": _haproxy,
    "bird": _bird,
    "keepalived": _keepalived,
}


def _host(kind: str, given: Given) -> str:
    host: str = "localhost" if given.get("host") is None else given["host"]
    if not host:
        raise Refusal(f"The check '{kind}' has an empty host; give a name or an address.")
    return host


def _port(kind: str, given: Given) -> int:
    port: int = given["port"]
    if not 1 <= port <= 65535:
        raise Refusal(f"The check '{kind}' has the port {port}; it has to be from 1 to 65535.")
    return port


def _path(option: str, path: str) -> str:
    if not path.startswith("/"):
        raise Refusal(f"The check '{option}' has the path '{path}'; it has to be absolute.")
    return path


def _path_or_none(option: str, path: str | None) -> str:
    return _path(option, path) if path else ""


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
