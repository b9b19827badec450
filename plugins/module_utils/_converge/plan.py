# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Steps and plans: what will be done, as data.

A step is a frozen value that says what it does, why, and with which commands. A domain subclasses
:class:`Step` once per kind of change; the engine never looks inside.
"""

from __future__ import annotations

import typing as t

#: One argument vector: the program and its arguments, never a shell string.
Argv = t.Tuple[str, ...]


class Step:
    """One change, or one wait, in the order of a plan.

    Subclasses are frozen dataclasses. A step that edits a file or writes to sysfs instead of running a
    command says so in its title.
    """

    #: Why the step is needed: one clause in plain English. Subclasses declare it as their last field.
    reason: str

    @property
    def title(self) -> str:
        """What the step does: an imperative without a full stop."""
        raise NotImplementedError

    @property
    def commands(self) -> tuple[Argv, ...]:
        """The argument vectors that the step runs, in order."""
        return ()

    @property
    def destructive(self) -> bool:
        """Whether data that somebody may still want is overwritten."""
        return False

    @property
    def waits(self) -> bool:
        """Whether the step changes nothing itself and only waits for work already under way."""
        return False

    @property
    def reveals(self) -> bool:
        """Whether it brings to light what nobody can know beforehand; a plan ends there, to be made anew after it."""
        return False

    def as_dict(self) -> dict[str, t.Any]:
        """Return the step as modules return it: JSON-able, keys title, command, reason, destructive."""
        return {
            "title": self.title,
            "command": [list(argv) for argv in self.commands],
            "reason": self.reason,
            "destructive": self.destructive,
        }


class Plan(t.Tuple[Step, ...]):
    """The ordered steps from one state to the wanted one; empty when there is nothing to do."""

    __slots__ = ()

    def as_list(self) -> list[dict[str, t.Any]]:
        """Return the plan as modules return it."""
        return [step.as_dict() for step in self]
