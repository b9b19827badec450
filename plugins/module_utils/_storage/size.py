# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Sizes as people write and read them."""

from __future__ import annotations

import re

_UNITS: dict[str, int] = {
    "": 1,
    "B": 1,
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGTPE", start=1)},
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTPE", start=1)},
    # A bare letter is a power of 1024, as for lvcreate, mdadm and truncate.
    **{prefix: 1024**power for power, prefix in enumerate("KMGTPE", start=1)},
}
_SIZE = re.compile(r"\s*(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[A-Za-z]*)\s*")


class BadSize(ValueError):
    """A text is no size."""


def parse_size(text: str | int) -> int:
    """Return the bytes of ``text``: 1048576, "4TiB" (powers of 1024), "4TB" (of 1000), "4T" (as "4TiB").

    Raises :class:`BadSize` for anything else, for a fraction of a byte and for a size below one byte.
    """
    if isinstance(text, bool):
        raise BadSize(f"{text} is no size; write bytes, or a unit as in 10GiB or 4TB.")
    match = _SIZE.fullmatch(str(text))
    units = {unit.upper(): factor for unit, factor in _UNITS.items()}
    if match is None or match.group("unit").upper() not in units:
        raise BadSize(f"'{text}' is no size; write bytes, or a unit as in 10GiB or 4TB.")
    whole, dot, fraction = match.group("number").partition(".")
    factor = units[match.group("unit").upper()]
    scaled = int(whole + fraction) * factor
    size: int
    size, rest = divmod(scaled, 10 ** len(fraction)) if dot else (scaled, 0)
    if size < 1 or (rest and factor == 1):
        raise BadSize(f"'{text}' is no size; it must be at least one byte, in whole bytes.")
    return size


def human(size: int) -> str:
    """Return ``size`` bytes with the largest binary unit below it: "99.98 MiB", "4 TiB", "512 B"."""
    if size < 1024:
        return f"{size} B"
    power = 1
    while size / 1024**power >= 1023.995 and power < 6:
        power += 1
    return f"{size / 1024**power:.2f}".rstrip("0").rstrip(".") + f" {'KMGTPE'[power - 1]}iB"
