# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Whose a source is, and under which licence, as its files and modules say. Pure."""

from __future__ import annotations

import re
import typing as t

from ..observing.sources import Files

_NOTICE = re.compile(rb"copyright[\s:]+(?:\(c\)|\xc2\xa9|\xa9|\d{4})[^\n\r]{0,160}", re.IGNORECASE)
_MOST_NOTICES = 200

#: linux/include/linux/module.h, MODULE_LICENSE; the short names of the machine-readable format, and where Debian has
#: the text.
_LICENCES: t.Mapping[str, tuple[str, str]] = {
    "GPL": ("GPL-2+", "GPL-2"),
    "GPL v2": ("GPL-2", "GPL-2"),
    "GPL and additional rights": ("GPL-2+ and additional rights", "GPL-2"),
    "Dual BSD/GPL": ("BSD-3-clause or GPL-2+", "GPL-2"),
    "Dual MIT/GPL": ("Expat or GPL-2+", "GPL-2"),
    "Dual MPL/GPL": ("MPL-1.1 or GPL-2+", "GPL-2"),
}


def notices(files: Files) -> list[str]:
    """Return what the files of a source say of their copyright, each notice once."""
    found = {_plain(match) for entry in files.values() for match in _NOTICE.findall(entry.content)}
    return sorted(found)[:_MOST_NOTICES]


def _plain(notice: bytes) -> str:
    text = notice.decode("utf-8", "replace")
    text = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(text.split()).strip("*/#;\\\"' ")


def copyright_file(name: str, version: str, files: Files, licences: t.Iterable[str], year: int) -> str:
    """Return the copyright file (Debian Policy 12.5). ``licences`` are the modules' own words."""
    given = sorted(set(licences)) or ["unknown"]
    said = [_LICENCES.get(each, (f"its modules say '{each}'", "")) for each in given]
    found = notices(files)
    words = ["Its files say:", "", *(f"  {notice}" for notice in found)]
    if not found:
        words = [f"Copyright (as of {year}) by the authors of {name}; its files have no notice."]
    lines = [
        f"The modules in this package were built of the source {name} {version}.",
        "",
        *words,
        "",
        f"License: {', '.join(short for short, _text in said)}",
    ]
    texts = sorted({text for _short, text in said if text})
    if texts:
        lines += ["", "On Debian systems the text of the license is in"]
        lines += [f"/usr/share/common-licenses/{text}." for text in texts]
    return "\n".join(lines) + "\n"
