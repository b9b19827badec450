# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Scripts for ``nft -f``, and which policy a line of them came from. Pure."""

from __future__ import annotations

import re
import typing as t

from ..model import NamedSet
from ..ruleset import FAMILY, HOOK, NAME, NEXT, SIGN, TABLE, Blueprint, comment

#: No name and no rule has quotation marks in it that are followed by such a word.
_COMMENT = ' comment "'
_ERROR = re.compile(r"^\S+?:(?P<line>\d+):\d+-\d+: Error: (?P<words>.*)$", re.MULTILINE)


class Change(t.NamedTuple):
    """Elements that leave a set and elements that enter it."""

    name: str
    removed: tuple[str, ...]
    added: tuple[str, ...]


class Line(t.NamedTuple):
    """A line of a script, and the policy that it came from, or nothing."""

    text: str
    owner: str = ""


def text_of(lines: t.Iterable[Line]) -> str:
    """Return the script."""
    return "".join(line.text + "\n" for line in lines)


def deletion(name: str = NAME) -> list[Line]:
    """Return the lines that remove a table, whether it is there or not (nft(8) knows no 'if it exists')."""
    return [Line(f"table {FAMILY} {name} {{ }}"), Line(f"delete table {FAMILY} {name}")]


def opened(name: str, sign: str) -> list[Line]:
    """Return the lines that remove a table and begin a new one of this name."""
    return [*deletion(name), Line(f"table {FAMILY} {name} {{"), Line(f'\tcomment "{sign}"')]


def creation(blueprint: Blueprint) -> list[Line]:
    """Return the lines that replace the table, in one transaction."""
    lines = opened(NAME, SIGN)
    for each in blueprint.sets:
        lines.append(Line("\t" + _declaration(each), blueprint.owners.get(each.name, "")))
    for name, hook, rules in blueprint.chains:
        lines.append(Line(f"\tchain {name} {{"))
        if hook:
            lines.append(Line("\t\t" + HOOK.format(hook)))
        lines.extend(Line(f'\t\t{rule.text} comment "{comment(rule)}"', rule.owner) for rule in rules)
        lines.append(Line("\t}"))
    lines.append(Line("}"))
    return lines


def copied(lines: t.Sequence[Line]) -> list[Line]:
    """Return what :func:`creation` has made under the second name; nobody looks for comments there."""
    found = opened(NEXT, f"The same as {NAME}, while that is replaced")
    body = lines[len(found) :]
    return found + [Line(line.text.partition(_COMMENT)[0], line.owner) for line in body]


def renamed(listing: str) -> str:
    """Return a listing of the table under the second name."""
    return listing.replace(f"table {TABLE} {{", f"table {FAMILY} {NEXT} {{", 1)


def _declaration(each: NamedSet) -> str:
    kind = f"map {each.name} {{ type {each.key} : {each.data};" if each.data else f"set {each.name} {{ type {each.key};"
    if each.interval:
        kind += " flags interval;"
        if not each.data:
            kind += " auto-merge;"
    if each.elements:
        kind += " elements = {{ {} }};".format(", ".join(_written(each.key, sorted(each.elements))))
    return kind + " }"


def _written(key: str, elements: t.Iterable[str]) -> t.Iterable[str]:
    return (f'"{element}"' for element in elements) if key == "ifname" else elements


def changing(changes: t.Iterable[Change], keys: t.Mapping[str, str], owners: t.Mapping[str, str]) -> list[Line]:
    """Return the lines that change elements, in one transaction. ``keys`` are the types of the sets."""
    lines = []
    for verb in ("delete", "add"):
        for change in changes:
            elements = change.removed if verb == "delete" else change.added
            if elements:
                listed = ", ".join(_written(keys[change.name], elements))
                text = f"{verb} element {TABLE} {change.name} {{ {listed} }}"
                lines.append(Line(text, owners.get(change.name, "")))
    return lines


def blamed(message: str, lines: t.Sequence[Line]) -> str:
    """Return what nft said of a script, in one sentence, with the policy that the line came from."""
    match = _ERROR.search(message)
    if match is None:
        return message.strip()
    number = int(match.group("line"))
    line = lines[number - 1] if 0 < number <= len(lines) else Line("")
    owner = f"policy '{line.owner}', " if line.owner else ""
    return f"{owner}line {number} ({line.text.strip()[:200]}): {match.group('words')}"
