# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What DKMS means when it ends with something else than 0, and what the compiler said."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from ..._converge.command import CommandError
from ..._converge.files import replace_file
from ..formats.make_log import compiler_lines
from ..observing import tree

#: dkms(8), BUILD_EXCLUSIVE; and the headers, by 3.0 and by 3.2.
EXCLUDED = 77
_HEADERS = (1, 21)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Outcome:
    """How a build ended; without a message it is there."""

    failure: str = ""
    excluded: str = ""


@dataclass(frozen=True)
class Log:
    """The make.log of a build: where it is, the directory of the build as it has it, and where it is to be kept."""

    path: str
    folder: str
    kept: str


def told(what: str, error: CommandError, log: Log) -> Outcome:
    """Tell how a build ended that failed. ``what`` is the kernel with the source, as a sentence begins with it."""
    words = _ANSI.sub("", f"{error.stdout}\n{error.stderr}")
    if error.rc == EXCLUDED:
        return Outcome(excluded=f"DKMS leaves it out (BUILD_EXCLUSIVE): {_sentence(error)}")
    text = _kept(log)
    lines = compiler_lines((text or words).replace(log.folder, ""))
    where = f" The whole log is {log.kept}." if text else ""
    hint = ""
    if error.rc in _HEADERS and "header" in words and not text:
        hint = f" Install the package linux-headers-{what.split(':', maxsplit=1)[0]}."
    return Outcome(failure=f"{what} does not build (exit status {error.rc}): {' | '.join(lines)}." + hint + where)


def _sentence(error: CommandError) -> str:
    return " ".join(_ANSI.sub("", error.stderr or error.stdout).split())[-300:]


def _kept(log: Log) -> str:
    text = tree.text_of(log.path)
    if text is None:
        return ""
    os.makedirs(os.path.dirname(log.kept), exist_ok=True)
    replace_file(log.kept, text + "\n")
    return text
