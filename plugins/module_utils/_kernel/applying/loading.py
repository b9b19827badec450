# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Writes the files that have a module loaded, and loads it, or brings back what was there before."""

from __future__ import annotations

import os
import typing as t

from ..._converge.command import CommandError, Runner
from ..._converge.converge import StepFailed
from ..._converge.files import replace_file
from ..._converge.plan import Argv


def write_file(path: str, content: str | None, executable: bool = False) -> None:
    """Write a file, or remove it."""
    if content is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if executable and os.path.exists(path) and not os.access(path, os.X_OK):
        os.unlink(path)  # it would keep its mode
    replace_file(path, content, 0o755 if executable else 0o644)


def load(module: str, commands: t.Sequence[Argv], former: str, back: t.Sequence[Argv], runner: Runner) -> None:
    """Run the commands that load a module. Raises :class:`StepFailed`.

    ``former`` is what the commands ``back`` install again when it cannot be loaded; without one nothing is put back.
    """
    try:
        for argv in commands:
            runner.run(argv)
    except CommandError as error:
        words = f"{module} cannot be loaded: {error}"
        raise StepFailed(f"{words}. {_outcome(module, commands, error, former, back, runner)}") from error


def _outcome(
    module: str, commands: t.Sequence[Argv], error: CommandError, former: str, back: t.Sequence[Argv], runner: Runner
) -> str:
    was_loaded = len(commands) > 1
    if was_loaded and error.argv == commands[0]:
        return "The module that is loaded stays, as it is in use; stop what uses it, or reboot."
    if not former:
        now = "No module is loaded now" if was_loaded else "What is installed stays"
        return f"{now}; see the kernel's log (dmesg)."
    try:
        for argv in (*back, *([("modprobe", module)] if was_loaded else [])):
            runner.run(argv)
    except CommandError as again:
        return f"{former} could not be put back either: {again}"
    return f"{former} is installed{' and loaded' if was_loaded else ''} again."
