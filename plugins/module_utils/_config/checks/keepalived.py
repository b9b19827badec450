# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Keepalived and its children run, and did not die of a reload."""

from __future__ import annotations

from dataclasses import dataclass

from ..daemons.keepalived import Family, family, read_pid
from .check import Check, CheckFailed, Moment


@dataclass(frozen=True)
class KeepalivedCheck(Check):
    """The process of ``pid_file`` runs with its children.

    What was reloaded has to have at least one child from before: a reload keeps them, so that Keepalived whose
    children are all younger has lost them to it. Which configuration they run with cannot be seen from outside.
    """

    pid_file: str

    @property
    def title(self) -> str:
        return f"keepalived {self.pid_file}"

    def probe(self, moment: Moment) -> None:
        try:
            pid = read_pid(self.pid_file)
        except FileNotFoundError as error:
            raise CheckFailed(f"it does not run: there is no {self.pid_file}") from error
        except (OSError, ValueError) as error:
            raise CheckFailed(f"{self.pid_file} has no process to look at: {error}") from error
        found = family(pid)
        if found is None:
            raise CheckFailed(f"it does not run: there is no process {pid}, which {self.pid_file} names")
        wrong = what_is_wrong(found, moment.told)
        if wrong:
            raise CheckFailed(wrong)


def what_is_wrong(found: Family, told: float) -> str:
    """Return a clause that says what does not run well, empty when all does.

    ``told`` is when it was told of its files, in seconds since the epoch, 0 when it was not.
    """
    if not found.parent.runs:
        return f"its process {found.parent.pid} has ended"
    running = [child for child in found.children if child.runs]
    if not running:
        return f"its process {found.parent.pid} has no child that does the work"
    dead = [child for child in found.children if not child.runs]
    if dead:
        return f"its child {dead[0].pid} has ended"
    reloaded = told and found.parent.is_older_than(told)
    if reloaded and not any(child.is_older_than(told) for child in running):
        return "its children died of the reload and were started again"
    return ""
