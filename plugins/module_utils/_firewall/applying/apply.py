# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out the steps."""

from __future__ import annotations

import datetime
import json
import os

from ..._converge.command import CommandError, Runner
from ..._converge.converge import StepFailed
from .. import places, program
from ..nft_text import Line, blamed, deletion, text_of
from ..observing.kernel import loaded_text
from ..steps import (
    ArmUndo,
    ChangeElements,
    DisarmUndo,
    FirewallStep,
    ForgetUndone,
    InstallProgram,
    LoadTable,
    RemoveFiles,
    WriteFiles,
)
from .files import PRIVATE, put, remove

_UNDO_RECORDS = (places.UNDO_FILE, places.UNDO_RECORD)


def carry_out(step: FirewallStep, runner: Runner) -> None:
    """Carry out one step."""
    if isinstance(step, ArmUndo):
        _arm(step, runner)
    elif isinstance(step, DisarmUndo):
        _disarm(step, runner)
    elif isinstance(step, ForgetUndone):
        _remove(_UNDO_RECORDS)
    elif isinstance(step, WriteFiles):
        for path, text in sorted(step.files.items()):
            put(path, text.encode(), PRIVATE if path.startswith(places.STATE) else 0o644)
    elif isinstance(step, InstallProgram):
        put(places.PROGRAM, program.program())
    elif isinstance(step, LoadTable):
        _load(step, runner)
    elif isinstance(step, ChangeElements):
        load_lines(step.lines, runner)
    else:
        for argv in step.commands:
            runner.run(argv)
        if isinstance(step, RemoveFiles):
            _remove(step.paths)
            # Once more, now that the units are gone.
            for argv in step.commands:
                runner.run(argv)


def load_lines(lines: list[Line], runner: Runner) -> None:
    """Have nft carry out a script: all of it, or nothing. Raises :class:`StepFailed` that names the policy at fault."""
    try:
        runner.run((places.NFT, "-f", "-"), data=text_of(lines).encode())
    except CommandError as error:
        raise refused(error, lines) from error


def refused(error: CommandError, lines: list[Line]) -> StepFailed:
    """Return what to tell of a script that nft or the kernel did not take."""
    return StepFailed(f"The kernel refused the rules, and nothing of them is in force; {blamed(error.stderr, lines)}.")


def _load(step: LoadTable, runner: Runner) -> None:
    try:
        for argv in step.commands:
            runner.run(argv)
    except CommandError as error:
        with open(step.path, encoding="utf-8") as file:
            numbered = [Line(text) for text in file.read().splitlines()]
        owners = {line.text: line.owner for line in step.lines if line.owner}
        raise refused(error, [Line(line.text, owners.get(line.text, "")) for line in numbered]) from error


def _arm(step: ArmUndo, runner: Runner) -> None:
    waiting = step.again and os.path.exists(places.UNDO_FILE)
    if not waiting:
        before = loaded_text(runner)
        put(places.UNDO_FILE, (text_of(deletion()) + before).encode(), PRIVATE)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    put(places.UNDO_RECORD, json.dumps({"token": step.token, "since": now}).encode(), PRIVATE)
    runner.run(("systemctl", "stop", f"{places.UNDO_UNIT}.timer"), accept=(0, 5))
    runner.run(step.commands[-1])


def _disarm(step: DisarmUndo, runner: Runner) -> None:
    for argv in step.commands:
        runner.run(argv, accept=(0, 5))
    _remove((*_UNDO_RECORDS, places.CANDIDATE_FILE))


def _remove(paths: tuple[str, ...]) -> None:
    for path in paths:
        remove(path)
