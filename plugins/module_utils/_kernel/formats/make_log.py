# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""DKMS's make.log: the lines that say why a build failed. Pure."""

from __future__ import annotations

import re

#: gcc, ld, make, modpost and kbuild.
_TELLING = re.compile(r"\b(?:fatal )?error\b|\bERROR\b|\bundefined\b|No such file|No rule to make|\*\*\*|not found")
#: gcc's picture of the place, below its message.
_PICTURE = re.compile(r"^\d* *\|")
_MAKE = re.compile(r"^make(\[\d+\])?: ")


def compiler_lines(log: str, most: int = 6) -> list[str]:
    """Return up to ``most`` lines; those of the compiler go before those of make. Without any, the last ones."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line) and not _PICTURE.match(line)]
    chosen = [line for line in telling if not _MAKE.match(line)] or telling or lines[-3:]
    return list(dict.fromkeys(chosen))[:most]
