# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What is kept of Docker's networks and ports: as a file that nft loads, and read back from it. Pure."""

from __future__ import annotations

import re

from . import places
from .formats.nft_text import Change, changing
from .model import Around, Table
from .ruleset import AROUND_SETS, DOCKER, TABLE

_ELEMENTS = re.compile(rf"^add element {TABLE} (?P<name>\S+) {{ (?P<elements>.*) }}$", re.MULTILINE)


def around_text(around: Around) -> str:
    """Return the file with the elements that follow Docker."""
    found = [Change(name, (), tuple(sorted(around.get(name, ())))) for name in sorted(AROUND_SETS)]
    return places.around_file(changing(found, AROUND_SETS, {}))


def parse_around(text: str) -> Around:
    """Return what :func:`around_text` has written; empty when it is something else."""
    return {
        match["name"]: frozenset(element.strip('"') for element in match["elements"].split(", "))
        for match in _ELEMENTS.finditer(text)
    }


def last_around(table: Table | None, file: str) -> Around:
    """Return what was known when Docker answered last: from the kernel, else from the file, else nothing."""
    if table is not None and DOCKER in table.sets:
        return {name: table.sets[name].elements for name in AROUND_SETS if name in table.sets}
    return parse_around(file)
