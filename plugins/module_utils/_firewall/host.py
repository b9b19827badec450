# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The host as the firewall sees it: what is loaded, what is kept, what Docker has. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .model import Around, Docker, Table, Undo


@dataclass(frozen=True)
class Host:
    """The state that is observed, and that plans lead from.

    ``docker`` is None when the daemon does not answer; ``around`` is then what was known last. ``table`` is None when
    it is not loaded. ``files`` are the contents of those managed files that are there, ``program`` is the digest of
    the installed one. ``enabled`` and ``active`` are units.
    """

    around: Around = field(default_factory=dict)
    docker: Docker | None = None
    table: Table | None = None
    files: t.Mapping[str, str] = field(default_factory=dict)
    program: str = ""
    enabled: frozenset[str] = frozenset()
    active: frozenset[str] = frozenset()
    undo: Undo | None = None
    has_ipv6: bool = True
    uplinks: frozenset[str] = frozenset()
