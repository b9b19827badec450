# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The order of versions, as DKMS has it: numbers count as numbers, and what is between them as text. Pure."""

from __future__ import annotations

import re
import typing as t

Key = t.Tuple[t.Tuple[int, int, str], ...]

_PARTS = re.compile(r"[0-9]+|[^0-9.]+")


def version_key(version: str) -> Key:
    """Return what sorts versions. A word sorts before the end, so that 1.0rc1 is before 1.0."""
    parts = [(1, int(part), "") if part.isdigit() else _word(part) for part in _PARTS.findall(version)]
    return (*parts, (0, 0, ""))


def _word(part: str) -> tuple[int, int, str]:
    early = re.match(r"[-_~]?(?:alpha|beta|pre|rc|dev)|~", part)
    return (-1, 0, part) if early else (0, 1, part)


def is_newer(one: str, other: str) -> bool:
    """Whether a version is newer than another one."""
    return version_key(one) > version_key(other)


def newest(versions: t.Iterable[str]) -> str:
    """Return the newest of versions; empty when there is none."""
    return max(versions, key=version_key, default="")
