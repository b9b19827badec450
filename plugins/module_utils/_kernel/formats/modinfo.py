# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The output of modinfo(8) for several modules. Pure."""

from __future__ import annotations

import re

_FIELD = re.compile(r"([a-z_]+):\s*(.*)")


def blocks(text: str) -> list[dict[str, str]]:
    """Return the fields of each module, in the order of the output; of several with one name the first counts."""
    found: list[dict[str, str]] = []
    for line in text.splitlines():
        match = _FIELD.fullmatch(line)
        if match is None:
            continue
        if match[1] == "filename" or (match[1] == "name" and not found):
            found.append({})
        if found:
            found[-1].setdefault(match[1], match[2].strip())
    return found
