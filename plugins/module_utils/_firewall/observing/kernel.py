# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The table as the kernel has it."""

from __future__ import annotations

from ..._converge.command import CommandError, Runner
from ..formats.nft_json import parse_names, parse_table
from ..model import Table
from ..places import NFT
from ..ruleset import FAMILY, NAME, PASSING

#: nft(8) names the error only; libnftables quotes strerror(3) of the kernel's answer.
_ABSENT = "No such file or directory"
#: Of a program that is not there; without nft nobody has made a table.
_NOT_INSTALLED = 127


def loaded_table(runner: Runner) -> Table | None:
    """Return the table, or None when it is not loaded."""
    try:
        return parse_table(runner.run((NFT, "--json", "list", "table", FAMILY, NAME)))
    except CommandError as error:
        if _ABSENT in error.stderr or error.rc == _NOT_INSTALLED:
            return None
        raise


def passing_tables(runner: Runner) -> frozenset[str]:
    """Return those tables that are there for a moment only, by name."""
    try:
        names = parse_names(runner.run((NFT, "--json", "list", "tables", FAMILY)))
    except CommandError as error:
        if error.rc == _NOT_INSTALLED:
            return frozenset()
        raise
    return names.intersection(PASSING)


def loaded_text(runner: Runner) -> str:
    """Return the table as nft reads it back, without counters; empty when it is not loaded."""
    try:
        return runner.run((NFT, "--stateless", "list", "table", FAMILY, NAME))
    except CommandError as error:
        if _ABSENT in error.stderr:
            return ""
        raise
