# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Loads our chains below DOCKER-USER: for the module, at boot, for the watcher and for the undo alike."""

from __future__ import annotations

import sys
import typing as t

from ..._converge.command import CommandError, Runner
from ..formats.restore_text import RESTORE, as_kept, transaction
from ..observing.iptables import has_ipv6, saved_tables

#: How often somebody may change DOCKER-USER between the look at it and the transaction.
_ATTEMPTS = 5


class RulesRefused(Exception):
    """iptables or the kernel did not take a text; nothing of it is in force."""

    def __init__(self, version: int, text: str, words: str) -> None:
        self.version = version
        self.text = text
        self.words = words
        super().__init__(f"The rules for IPv{version} were refused: {words.strip()}")


def texts_of(files: t.Mapping[int, str]) -> dict[int, str]:
    """Return what is kept, by IP version; one that has no file, or that the kernel does not have, is left out."""
    found = {}
    for version, path in files.items():
        if version == 6 and not has_ipv6():
            continue
        try:
            with open(path, encoding="utf-8") as file:
                found[version] = file.read()
        except FileNotFoundError:
            continue
    return found


def load_rules(texts: t.Mapping[int, str], runner: Runner, move: bool = True) -> None:
    """Load kept texts: for all IP versions, or for none. Raises :class:`RulesRefused`.

    Without ``move`` a jump that is there is left where somebody has put it.
    """
    before: dict[int, str] = {}
    for version, text in sorted(texts.items()):
        try:
            before[version] = _load(version, text, runner, move)
        except RulesRefused:
            for loaded, old in before.items():
                _load(loaded, old, runner, move)
            raise


def _load(version: int, text: str, runner: Runner, move: bool) -> str:
    """Load one text, and return what was there before."""
    tried = ""
    for _attempt in range(_ATTEMPTS):
        saved = saved_tables(version, runner)
        script = transaction(text, saved, move)
        try:
            runner.run(RESTORE[version], data=script.encode())
        except CommandError as error:
            if script == tried:  # and so nobody has interfered
                raise RulesRefused(version, script, error.stderr) from error
            tried = script
        else:
            return as_kept(saved)
    raise RulesRefused(version, tried, "somebody changes the chain DOCKER-USER all the time")


def main(arguments: t.Sequence[str]) -> int:
    """Load the files that are given, and are there; the ends of their names tell the IP version."""
    try:
        load_rules(texts_of({int(path[-1]): path for path in arguments}), Runner())
    except (RulesRefused, CommandError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
