# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What ``dkms status`` prints, of DKMS 2.x, 3.0 and 3.2. Pure.

2.8:   ``it87, 1.0, 5.10.0-8-amd64, x86_64: installed``
3.0:   ``it87/1.0, 6.1.0-47-amd64, x86_64: installed (WARNING! Diff between built and installed module!)``
3.2:   ``it87/1.0, 6.12.107+deb13-amd64, x86_64: installed (Differences between built and installed modules)``
added: ``it87/1.0: added``; broken, since 3.1: ``it87/1.0: broken``. Two lines may be glued together where the first one
is of a broken tree (dkms-project/dkms#357). Standard error has its own words, and is not to be mixed in.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

_LINE = re.compile(
    r"(?P<name>[^,/\s:]+)(?:/|, )(?P<version>[^,:\s]+(?::[^,:\s]+)*)"
    r"(?:, (?P<kernel>[^,:\s]+)(?:, (?P<arch>[^,:\s]+))?)?\s?: "
    r"(?P<state>added|built|installed-weak|installed|broken)(?P<notes>(?: \([^)]*\))*)"
)
_NOTE = re.compile(r"\(([^)]*)\)")


@dataclass(frozen=True)
class Status:
    """A line. ``kernel`` and ``arch`` are empty where a version is only added, or broken."""

    name: str
    version: str
    kernel: str
    arch: str
    state: str
    notes: tuple[str, ...] = ()


def statuses(text: str) -> tuple[Status, ...]:
    """Return the lines that tell a state; others, such as warnings, are left out."""
    return tuple(_statuses(text))


def _statuses(text: str) -> t.Iterator[Status]:
    for line in text.splitlines():
        for match in _LINE.finditer(line):
            notes = tuple(_NOTE.findall(match["notes"]))
            yield Status(
                match["name"], match["version"], match["kernel"] or "", match["arch"] or "", match["state"], notes
            )
