# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A unit of systemd is active, with the main process that it had."""

from __future__ import annotations

from dataclasses import dataclass

from ..._converge.command import CommandError, Runner
from .check import Check, CheckFailed, Moment

SHOWN = "ActiveState,SubState,MainPID,Result"


@dataclass(frozen=True)
class UnitCheck(Check):
    """``unit`` runs, or has ended well where that is what it is for (a oneshot that remains after its end)."""

    unit: str

    @property
    def title(self) -> str:
        return f"unit {self.unit}"

    def probe(self, moment: Moment) -> None:
        try:
            shown = show(self.unit, moment.runner, moment.seconds)
        except CommandError as error:
            raise CheckFailed(f"systemd does not tell how it is: {error}") from error
        # Services are then running, or exited where they remain so (systemd.service(5), RemainAfterExit=).
        if shown.get("ActiveState") != "active":
            raise CheckFailed(f"it is {_state(shown)}")
        before = moment.main_pids.get(self.unit, 0)
        now = _number(shown.get("MainPID", ""))
        if before and not now:
            raise CheckFailed(f"its main process {before} has ended")
        if before and now != before:
            raise CheckFailed(f"it died and was started again: its main process was {before} and is {now}")


def show(unit: str, runner: Runner, seconds: float | None = None) -> dict[str, str]:
    """Ask systemd for the state of ``unit``. Raises :class:`CommandError`."""
    text = runner.run(["systemctl", "show", f"--property={SHOWN}", "--", unit], timeout=seconds)
    pairs = (row.partition("=") for row in text.splitlines())
    return {name: value for name, equals, value in pairs if equals}


def main_pid(unit: str, runner: Runner) -> int:
    """Return the main process of ``unit``, 0 when it has none. Raises :class:`CommandError`."""
    return _number(show(unit, runner).get("MainPID", ""))


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _state(shown: dict[str, str]) -> str:
    state = f"{shown.get('ActiveState') or 'unknown'} ({shown.get('SubState') or 'unknown'})"
    result = shown.get("Result", "")
    return f"{state} with the result '{result}'" if result not in {"", "success"} else state
