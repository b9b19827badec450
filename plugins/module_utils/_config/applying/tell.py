# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Have a daemon read its files, or start it where it does not run."""

from __future__ import annotations

import enum
import typing as t

from ..._converge.command import CommandError, Runner
from ..._converge.converge import StepFailed
from ..daemons import bird
from ..daemons.control_socket import NoAnswer
from ..model import Reload

_RUNNING = ("active", "reloading", "activating")
#: Until BIRD has done with what it was asked for.
_BIRD_SECONDS = 30.0


class Unit(t.NamedTuple):
    """What systemd says of a unit."""

    load_state: str
    active_state: str
    stale: bool  #: its files have changed since systemd has read them

    @property
    def runs(self) -> bool:
        """Whether there is something to reload."""
        return self.active_state in _RUNNING


class Told(enum.Enum):
    """What came of it."""

    RELOADED = "reloaded"
    STARTED = "started"  #: it did not run before, or was restarted
    LEFT = "left"  #: it does not run, and is not to be started


def unit_state(name: str, runner: Runner) -> Unit:
    """Ask systemd for a unit."""
    text = runner.run(("systemctl", "show", "--property=LoadState,ActiveState,NeedDaemonReload", name))
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return Unit(values.get("LoadState", ""), values.get("ActiveState", ""), values.get("NeedDaemonReload") == "yes")


def runs(reload: Reload, runner: Runner) -> bool:
    """Whether the daemon runs, as far as a unit tells."""
    return not reload.unit or unit_state(reload.unit, runner).runs


def tell(reload: Reload, undo_after: float, runner: Runner) -> Told:
    """Have the daemon read its files. BIRD goes back by itself after ``undo_after`` seconds; 0 makes it stay.

    Raises :class:`StepFailed`, :class:`CommandError`.
    """
    if reload.unit and not (reload.bird and unit_state(reload.unit, runner).runs):
        return _tell_unit(reload, runner)
    if reload.bird:
        _tell_bird(reload.bird, undo_after)
    elif reload.command:
        runner.run(reload.command, timeout=reload.seconds)
    return Told.RELOADED


def _tell_unit(reload: Reload, runner: Runner) -> Told:
    unit = unit_state(reload.unit, runner)
    if unit.load_state != "loaded":
        raise StepFailed(f"systemd has no unit {reload.unit} ({unit.load_state}); install the daemon first.")
    if unit.stale:
        runner.run(("systemctl", "daemon-reload"), timeout=reload.seconds)
    if unit.runs:
        _systemctl("restart" if reload.restart else "reload", reload, runner)
        return Told.STARTED if reload.restart else Told.RELOADED
    if not reload.start:
        return Told.LEFT
    runner.run(("systemctl", "reset-failed", reload.unit), accept=(0, 1))
    _systemctl("start", reload, runner)
    return Told.STARTED


def _systemctl(verb: str, reload: Reload, runner: Runner) -> None:
    try:
        runner.run(("systemctl", verb, reload.unit), timeout=reload.seconds)
    except CommandError as error:
        journal = ("journalctl", "--no-pager", "--quiet", "--output=cat", "--lines=15", f"--unit={reload.unit}")
        words = runner.run(journal, accept=(0, 1)).strip()
        raise StepFailed(f"{error}" + (f"\nThe end of its log:\n{words}" if words else "")) from error


def stop(reload: Reload, runner: Runner) -> None:
    """Stop the unit again that a change has started."""
    if reload.unit:
        runner.run(("systemctl", "stop", reload.unit), timeout=reload.seconds)


def _tell_bird(socket: str, undo_after: float) -> None:
    try:
        bird.await_settled(socket, _BIRD_SECONDS)
        bird.check_configuration(socket, _BIRD_SECONDS)
        if undo_after:
            bird.configure(socket, round(undo_after), _BIRD_SECONDS)
        else:
            bird.reconfigure(socket, _BIRD_SECONDS)
        bird.await_settled(socket, _BIRD_SECONDS)
    except (bird.BirdRefused, NoAnswer) as error:
        raise StepFailed(str(error)) from error


def confirm_bird(socket: str) -> None:
    """Have BIRD stay with what it was asked for. Raises :class:`StepFailed` when it has gone back meanwhile."""
    try:
        if not bird.confirm(socket, _BIRD_SECONDS):
            raise StepFailed("BIRD has gone back to its former configuration before the new one was confirmed.")
    except (bird.BirdRefused, NoAnswer) as error:
        raise StepFailed(str(error)) from error
