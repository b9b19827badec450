# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Which kernel GRUB boots next, as grub.cfg and grubenv say. Pure."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

_ENTRY = re.compile(r"^\s*(?P<kind>menuentry|submenu)\s+(?P<quote>['\"])(?P<title>.*?)(?P=quote)(?P<rest>.*)$")
_ID = re.compile(r"(?:\$menuentry_id_option|--id)\s+['\"]?([^'\"\s{]+)")
_LINUX = re.compile(r"^\s*linux(?:16|efi)?\s+(\S+)")
_DEFAULT = re.compile(r"^\s*set\s+default=\"?([^\"]*?)\"?\s*$")


@dataclass
class _Entry:
    names: tuple[str, ...]
    parent: _Entry | None
    submenu: bool
    number: int = 0
    kernel: str = ""
    children: int = 0


def environment(text: str) -> dict[str, str]:
    """Return the variables of grubenv."""
    pairs = (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    return {key: value for key, equals, value in pairs if equals}


def next_kernel(config: str, variables: t.Mapping[str, str]) -> str:
    """Return the path of the kernel image that is booted next; empty when it cannot be told."""
    entries = _entries(config)
    chosen = variables.get("next_entry") or _default(config, variables)
    entry = _chosen(entries, chosen.split(">") if chosen else ["0"])
    if entry is None and chosen:
        entry = _chosen(entries, ["0"])  # as GRUB falls back to the first
    while entry is not None and entry.submenu:
        inner = [each for each in entries if each.parent is entry]
        entry = inner[0] if inner else None
    return entry.kernel if entry else ""


def _default(config: str, variables: t.Mapping[str, str]) -> str:
    found = ""
    for line in config.splitlines():
        match = _DEFAULT.match(line)
        if match is None or "next_entry" in match[1]:
            continue
        if "saved_entry" in match[1]:
            return variables.get("saved_entry", "")
        found = match[1]
    return found


def _entries(config: str) -> list[_Entry]:
    entries: list[_Entry] = []
    stack: list[_Entry | None] = []
    top = 0
    for line in config.splitlines():
        match = _ENTRY.match(line)
        inside = next((each for each in reversed(stack) if each is not None), None)
        if match:
            identifier = _ID.search(match["rest"])
            names = (match["title"], *([identifier[1]] if identifier else []))
            entry = _Entry(names, inside, match["kind"] == "submenu", inside.children if inside else top)
            if inside:
                inside.children += 1
            else:
                top += 1
            entries.append(entry)
            stack.append(entry)
        elif line.rstrip().endswith("{"):
            stack.append(None)
        elif line.strip() == "}" and stack:
            stack.pop()
        elif inside is not None and not inside.kernel:
            kernel = _LINUX.match(line)
            inside.kernel = kernel[1] if kernel else ""
    return entries


def _chosen(entries: t.Sequence[_Entry], path: t.Sequence[str]) -> _Entry | None:
    parent: _Entry | None = None
    for word in path:
        level = [each for each in entries if each.parent is parent]
        found = next((each for each in level if word in each.names or word == str(each.number)), None)
        if found is None and parent is None:
            found = next((each for each in entries if word in each.names), None)
        if found is None:
            return None
        parent = found
    return parent
