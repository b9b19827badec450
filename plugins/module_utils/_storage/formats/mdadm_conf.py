# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""ARRAY lines of mdadm.conf (mdadm.conf(5)): read those of a pool, and exchange them without touching the rest."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..model import slice_index, slice_name
from .superblock import normal_uuid

#: Where Debian and its kin have the file, and where the others have it.
PATHS = ("/etc/mdadm/mdadm.conf", "/etc/mdadm.conf")

# A word may hold white space between quotes, single or double; the quotes may stand anywhere in it.
_WORD = re.compile(r"""(?:[^\s"']|"[^"]*"?|'[^']*'?)+""")


@dataclass(frozen=True)
class Entry:
    """An ARRAY line with what continues it."""

    first: int  #: index of its first line
    last: int  #: index of the last line that belongs to it
    device: str  #: "" when it names none
    uuid: str  #: as mdadm prints it; "" when it gives none
    name: str  #: of name=, without the home host; "" when it gives none


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _words(line: str) -> list[str]:
    """Return the words of a line up to a comment, a word that begins with '#' (mdadm's config.c, conf_word)."""
    words = []
    for match in _WORD.finditer(line):
        word = match.group(0)
        if word.startswith("#"):
            break
        words.append(re.sub(r"""["']""", "", word))
    return words


def _is_array(word: str) -> bool:
    """Whether a keyword is ARRAY: any case, at least three letters (mdadm's config.c, match_keyword)."""
    return len(word) >= 3 and "array".startswith(word.lower())


def _entry(first: int, last: int, words: t.Sequence[str]) -> Entry:
    device = uuid = name = ""
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals or word.startswith("/"):
            device = device or word
        elif key.lower() == "uuid":
            uuid = normal_uuid(value)
        elif key.lower() == "name":
            name = value.partition(":")[2] or value
    if device and not device.startswith("/") and device not in ("<ignore>", "<none>"):
        device = f"/dev/md/{device}"
    return Entry(first, last, device, uuid, name)


def parse(text: str) -> tuple[Entry, ...]:
    """Return all ARRAY lines."""
    lines = _lines(text)
    found = []
    index = 0
    while index < len(lines):
        first = last = index
        words = _words(lines[index])
        index += 1
        if not words:
            continue
        # A line that begins with white space continues the one before, over comments and blank lines.
        while index < len(lines):
            more = _words(lines[index])
            if more and lines[index][:1] not in (" ", "\t"):
                break
            if more:
                words += more
                last = index
            index += 1
        if _is_array(words[0]):
            found.append(_entry(first, last, words))
    return tuple(found)


def _concerns(entry: Entry, pool: str, uuids: t.Collection[str]) -> bool:
    if entry.uuid and entry.uuid in uuids:
        return True
    return entry.device.startswith("/dev/md/") and slice_index(pool, entry.device[len("/dev/md/") :]) is not None


def recorded(text: str, pool: str, uuids: t.Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    """Return (device, UUID) of the ARRAY lines that concern the pool: by /dev/md/POOL-N or by one of ``uuids``.

    A line without a device gives "" for it, one without a UUID gives "" for that.
    """
    return tuple((entry.device, entry.uuid) for entry in _entries(text, pool, uuids))


def array_line(pool: str, index: int, uuid: str) -> str:
    """Return the line for one array, with its line feed."""
    name = slice_name(pool, index)
    return f"ARRAY /dev/md/{name} metadata=1.2 name=any:{name} UUID={uuid}\n"


def with_arrays(text: str, pool: str, arrays: t.Mapping[int, str]) -> str:
    """Return ``text`` with one line for each array of the pool: index to UUID.

    Lines that concern the pool are exchanged where the first of them stands, or removed; without any, the new
    ones are added at the end. Every other byte stays.
    """
    block = "".join(array_line(pool, index, arrays[index]) for index in sorted(arrays))
    if not _entries(text, pool, arrays.values()):
        joint = "" if not text or text.endswith("\n") else "\n"
        return text + joint + block
    return _exchanged(text, pool, arrays.values(), block)


def without_arrays(text: str, pool: str, uuids: t.Iterable[str]) -> str:
    """Return ``text`` without the lines that concern the pool: by /dev/md/POOL-N or by one of ``uuids``."""
    return _exchanged(text, pool, uuids, "")


def _entries(text: str, pool: str, uuids: t.Iterable[str]) -> list[Entry]:
    known = {normal_uuid(uuid) for uuid in uuids} - {""}
    return [entry for entry in parse(text) if _concerns(entry, pool, known)]


def _exchanged(text: str, pool: str, uuids: t.Iterable[str], block: str) -> str:
    lines = _lines(text)
    entries = _entries(text, pool, uuids)
    gone = {number for entry in entries for number in _own_lines(lines, entry)}
    result = []
    for number, line in enumerate(lines):
        if entries and number == entries[0].first:
            result.append(block)
        if number not in gone:
            result.append(line)
    return "".join(result)


def _own_lines(lines: t.Sequence[str], entry: Entry) -> t.Iterator[int]:
    """Yield the lines of an entry; comments and blank lines between them stay."""
    for number in range(entry.first, entry.last + 1):
        if number == entry.first or _words(lines[number]):
            yield number
