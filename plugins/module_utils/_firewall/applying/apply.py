# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out the steps."""

from __future__ import annotations

import datetime
import json
import os
import re
import typing as t

from ..._converge.command import CommandError, Runner
from ..._converge.converge import StepFailed
from ..._converge.namespace import throw_away_network
from .. import places
from ..formats.nft_text import Line, blamed, deletion, renamed, text_of
from ..formats.restore_text import NOTHING, as_kept
from ..formats.restore_text import blamed as blamed_rules
from ..observing.iptables import saved_tables
from ..observing.kernel import loaded_text
from ..ruleset import NAME, NEXT
from ..service import program
from ..steps import (
    ArmUndo,
    ChangeElements,
    DeleteRules,
    DisarmUndo,
    FirewallStep,
    ForgetUndone,
    InstallProgram,
    KeepRules,
    LoadRules,
    LoadTable,
    RemoveFiles,
    WriteFiles,
)
from .files import PRIVATE, put, remove
from .restore import RulesRefused, load_rules, texts_of

_GONE_GROUP = re.compile(r"socket cgroupv2 level \d+ \d+ ")

#: The record goes last: without it nobody knows that there is something to undo.
_UNDO_RECORDS = (*places.TEMPORARY_FILES, *places.TEMPORARY_RULES, places.UNDO_RECORD)


def carry_out(step: FirewallStep, runner: Runner) -> None:
    """Carry out one step."""
    if isinstance(step, ArmUndo):
        _arm(step, runner)
    elif isinstance(step, DisarmUndo):
        _disarm(step, runner)
    elif isinstance(step, ForgetUndone):
        _remove(_UNDO_RECORDS)
    elif isinstance(step, WriteFiles):
        if isinstance(step, KeepRules):
            _try_rules(step, runner)
        for path, text in sorted(step.files.items()):
            put(path, text.encode(), PRIVATE if path.startswith(places.STATE) else 0o644)
    elif isinstance(step, InstallProgram):
        put(places.PROGRAM, program.program())
    elif isinstance(step, LoadTable):
        _load_table(step, runner)
    elif isinstance(step, ChangeElements):
        load_lines(step.lines, runner)
    elif isinstance(step, LoadRules):
        _load_rules(texts_of(step.files), runner)
    elif isinstance(step, DeleteRules):
        _load_rules(dict.fromkeys(step.versions, NOTHING), runner)
    else:
        for argv in step.commands:
            runner.run(argv)
        if isinstance(step, RemoveFiles):
            _remove(step.paths)
            # Once more, now that the units are gone.
            for argv in step.commands:
                runner.run(argv)


def _load_table(step: LoadTable, runner: Runner) -> None:
    first, *further = step.transactions
    load_lines(first, runner)
    try:
        for lines in further:
            load_lines(lines, runner)
    except StepFailed:
        load_lines(step.transactions[-1], runner)
        raise


def load_lines(lines: t.Sequence[Line], runner: Runner) -> None:
    """Have nft carry out a script: all of it, or nothing. Raises :class:`StepFailed` that names the policy at fault."""
    try:
        runner.run((places.NFT, "-f", "-"), data=text_of(lines).encode())
    except CommandError as error:
        raise refused(error, lines) from error


def refused(error: CommandError, lines: t.Sequence[Line]) -> StepFailed:
    """Return what to tell of a script that nft or the kernel did not take."""
    return StepFailed(f"The kernel refused the rules, and nothing of them is in force; {blamed(error.stderr, lines)}.")


def _try_rules(step: KeepRules, runner: Runner) -> None:
    texts = {version: step.files[path] for version, path in places.RULES_FILES.items() if path in step.files}
    with throw_away_network():
        _load_rules(texts, runner)


def _load_rules(texts: t.Mapping[int, str], runner: Runner) -> None:
    try:
        load_rules(texts, runner)
    except RulesRefused as refusal:
        raise StepFailed(refused_rules(refusal)) from refusal


def refused_rules(refusal: RulesRefused) -> str:
    """Return what to tell of rules that iptables or the kernel did not take."""
    words = blamed_rules(refusal.words, refusal.text)
    return f"The kernel refused the rules for IPv{refusal.version}, and nothing of them is in force; {words}."


def loadable(listing: str) -> str:
    """Return a listing without rules that name a control group which is gone: nft lists its number, and takes none."""
    return "".join(line for line in listing.splitlines(keepends=True) if not _GONE_GROUP.search(line))


def _save_table(runner: Runner) -> None:
    listing = loadable(loaded_text(runner))
    # The second is the last: it tells that both are there.
    for path, name, text in (
        (places.UNDO_NEXT_FILE, NEXT, renamed(listing)),
        (places.UNDO_FILE, NAME, listing),
    ):
        put(path, (text_of(deletion(name)) + text).encode(), PRIVATE)


def _save_rules(runner: Runner) -> None:
    put(places.UNDO_PROGRAM, program.program())
    # The first is the last: it tells that all are there.
    for version in sorted(places.UNDO_RULES, reverse=True):
        try:
            text = as_kept(saved_tables(version, runner))
        except CommandError:
            if version == 4:
                raise
            continue  # a kernel without IPv6
        put(places.UNDO_RULES[version], text.encode(), PRIVATE)


_SAVING = {places.UNDO_FILE: _save_table, places.UNDO_RULES[4]: _save_rules}


def _arm(step: ArmUndo, runner: Runner) -> None:
    for path, save in _SAVING.items():
        waiting = step.again and os.path.exists(path)
        if not waiting and any(path in argv for argv in step.restores):
            save(runner)
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    put(places.UNDO_RECORD, json.dumps({"token": step.token, "since": now}).encode(), PRIVATE)
    runner.run(("systemctl", "stop", f"{places.UNDO_UNIT}.timer"), accept=(0, 5))
    runner.run(step.commands[-1])


def _disarm(step: DisarmUndo, runner: Runner) -> None:
    for argv in step.commands:
        runner.run(argv, accept=(0, 5))
    _remove(_UNDO_RECORDS)


def _remove(paths: tuple[str, ...]) -> None:
    for path in paths:
        remove(path)
