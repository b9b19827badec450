# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The host as the firewall sees it: what is loaded, what is kept, what Docker has. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .docker_user import as_table
from .model import Around, Docker, Gap, Table, Undo, UserRules


@dataclass(frozen=True)
class Host:
    """The state that is observed, and that plans lead from.

    ``docker`` is None when the daemon does not answer; ``around`` is then what was known last. ``table`` is None when
    it is not loaded. ``passing`` are our further tables (ruleset.PASSING): left over, if they are there at all.
    ``chains`` are those below DOCKER-USER by IP version, ``gaps`` what these cannot see; both are looked at where
    chains are wanted, or may be. ``files`` are the contents of those managed files that are there, ``program`` is the
    digest of the installed one. ``enabled`` and ``active`` are units. ``group`` is the control group
    of Docker's service, empty while it is off; ``group_path`` is where it will be, empty where the host has none.
    """

    around: Around = field(default_factory=dict)
    docker: Docker | None = None
    table: Table | None = None
    passing: frozenset[str] = frozenset()
    chains: t.Mapping[int, UserRules] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()
    files: t.Mapping[str, str] = field(default_factory=dict)
    program: str = ""
    enabled: frozenset[str] = frozenset()
    active: frozenset[str] = frozenset()
    undo: Undo | None = None
    group: str = ""
    group_path: str = ""
    has_ipv6: bool = True
    uplinks: frozenset[str] = frozenset()

    @property
    def policy(self) -> Table | None:
        """What decides on packets, whatever carries it, in the words of the table; None when nothing does."""
        return as_table(self.chains) if self.table is None else self.table
