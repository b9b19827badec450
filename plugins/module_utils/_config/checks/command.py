# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A command ends with 0."""

from __future__ import annotations

from dataclasses import dataclass

from ..._converge.command import CommandError
from .check import Check, CheckFailed, Moment


@dataclass(frozen=True)
class CommandCheck(Check):
    """``argv`` ends with 0 in the time that there is."""

    argv: tuple[str, ...]

    @property
    def title(self) -> str:
        return "command '{}'".format(" ".join(self.argv))

    def probe(self, moment: Moment) -> None:
        try:
            moment.runner.run(self.argv, timeout=moment.seconds)
        except CommandError as error:
            raise CheckFailed(str(error)) from error
