# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What a check is: one look at what really runs."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..._converge.command import Runner


class CheckFailed(Exception):
    """What runs is not as it should be; one clause that says what was found."""


@dataclass(frozen=True)
class Moment:
    """When a check looks, and what there was before.

    ``told`` is when the daemon was told of its files, in seconds since the epoch, and 0 when it was not told.
    ``main_pids`` has the main process of each checked unit just before, where the daemon is to keep it; a unit that
    is started or restarted is not in it. ``seconds`` is how long the look may take.
    """

    runner: Runner
    seconds: float
    told: float = 0.0
    main_pids: t.Mapping[str, int] = field(default_factory=dict)


class Check:
    """One look. Subclasses are frozen dataclasses."""

    @property
    def title(self) -> str:
        """What is looked at, as in 'tcp localhost:443'."""
        raise NotImplementedError

    def probe(self, moment: Moment) -> None:
        """Look once, without trying again. Raises :class:`CheckFailed`."""
        raise NotImplementedError
