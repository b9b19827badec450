# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the module's parameters to the set that is wanted, with every mistake told in one sentence."""

from __future__ import annotations

import grp
import os
import pwd
import re
import typing as t

from .._converge.converge import Refusal
from .checks.parse import check_of
from .contents import decoded, digest
from .model import Entry, Guards, Reload, Wanted

Parameters = t.Mapping[str, t.Any]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_OCTAL = re.compile(r"0?[0-7]{3,4}")
#: Files wait beside the live ones with a longer name, and NAME_MAX is 255 (limits.h).
_LONGEST_NAME = 240
#: What is kept with a set, to guard the way back to it.
_GUARDS = ("validate", "validate_timeout", "reload", "verify", "verify_timeout", "verify_hold")


def _identifier(text: str, what: str, path: str, look: t.Callable[[str], int]) -> int:
    if text.isdigit():
        return int(text)
    try:
        return look(text)
    except KeyError:
        raise Refusal(
            f"The {what} '{text}' of {path} does not exist on this host; install the daemon first, or name another."
        ) from None


def _mode(given: t.Any, path: str) -> int:
    # Of a number nobody can tell whether YAML has read 0644 as octal digits or somebody wrote 644.
    if not isinstance(given, str) or not _OCTAL.fullmatch(given):
        raise Refusal(f"'{given}' is no mode for {path}; write octal digits in quotes, such as \"0640\".")
    return int(given, 8)


def _content(given: Parameters, path: str) -> bytes:
    if (given.get("content") is None) == (given.get("src") is None):
        raise Refusal(f"Give either content or src for {path}.")
    if given.get("content") is not None:
        return decoded(given["content"])
    if not given["remote_src"]:
        raise Refusal(f"src of {path} is a file of the controller, which did not send it; set remote_src, or content.")
    try:
        with open(given["src"], "rb") as file:
            return file.read()
    except OSError as error:
        raise Refusal(f"src of {path} cannot be read: {error.strerror} ({given['src']}).") from error


def _path(text: str) -> str:
    if not os.path.isabs(text) or text.endswith("/") or os.path.normpath(text) != text:
        raise Refusal(f"'{text}' is no path for a file; write an absolute one without '.', '..' and doubled slashes.")
    if len(os.path.basename(text).encode()) > _LONGEST_NAME:
        raise Refusal(f"The name of {text} is longer than {_LONGEST_NAME} bytes.")
    return text


def _entry(given: Parameters, content: bytes) -> Entry:
    path = _path(given["path"])
    return Entry(
        path=path,
        digest=digest(content),
        uid=_identifier(given["owner"], "owner", path, lambda name: pwd.getpwnam(name).pw_uid),
        gid=_identifier(given["group"], "group", path, lambda name: grp.getgrnam(name).gr_gid),
        mode=_mode(given["mode"], path),
        secret=given["no_log"],
    )


def _reload(given: Parameters | None) -> Reload:
    if not given:
        return Reload()
    told = [key for key in ("unit", "command", "bird") if given.get(key)]
    if len(told) != 1 and told != ["unit", "bird"]:
        raise Refusal(
            f"reload has {' and '.join(told) or 'nothing'}; give one of unit, command and bird, or unit and bird."
        )
    if given["restart"] and told != ["unit"]:
        raise Refusal("reload.restart is for a unit without bird.")
    if given["timeout"] < 1:
        raise Refusal("reload.timeout is less than a second.")
    return Reload(
        unit=_unit(given["unit"]) if given.get("unit") else "",
        command=tuple(given.get("command") or ()),
        bird=given.get("bird") or "",
        restart=given["restart"],
        start=given["start"],
        seconds=float(given["timeout"]),
    )


def _unit(name: str) -> str:
    return name if "." in name else f"{name}.service"


def guards_of(parameters: Parameters) -> Guards:
    """Return the guards that the parameters describe. Raises :class:`Refusal`."""
    for key in ("validate_timeout", "verify_timeout"):
        if parameters[key] < 1:
            raise Refusal(f"{key} is {parameters[key]}; give at least one second.")
    if parameters["verify_hold"] < 0:
        raise Refusal("verify_hold is less than 0.")
    return Guards(
        validate=tuple(parameters.get("validate") or ()),
        validate_seconds=float(parameters["validate_timeout"]),
        reload=_reload(parameters.get("reload")),
        checks=tuple(check_of(each) for each in parameters["verify"]),
        verify_seconds=float(parameters["verify_timeout"]),
        hold_seconds=float(parameters["verify_hold"]),
        given={key: parameters.get(key) for key in _GUARDS},
    )


def wanted_config(parameters: Parameters) -> Wanted:
    """Return the set that the parameters declare. Raises :class:`Refusal`."""
    name = parameters["name"]
    if not _NAME.fullmatch(name):
        raise Refusal(f"'{name}' cannot name a set; use up to 64 letters, digits, '_', '.' and '-', first a letter.")
    previous = parameters["state"] == "previous"
    if previous and parameters["files"]:
        raise Refusal("state=previous goes back to files that are kept; leave out files.")
    if not previous and not parameters["files"]:
        raise Refusal("A set has at least one file; give files.")
    if parameters["keep"] < 1:
        raise Refusal("keep is less than 1; without the set before there is no way back.")
    contents: dict[str, bytes] = {}
    entries: dict[str, Entry] = {}
    for given in parameters["files"]:
        content = _content(given, given["path"])
        entry = _entry(given, content)
        if entry.path in entries:
            raise Refusal(f"{entry.path} is declared twice.")
        entries[entry.path] = entry
        contents[entry.digest] = content
    return Wanted(
        name=name,
        entries=tuple(entries[path] for path in sorted(entries)),
        contents=contents,
        guards=guards_of(parameters),
        previous=previous,
        keep=parameters["keep"],
        wait_seconds=float(parameters["wait_timeout"]),
    )
