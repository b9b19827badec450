# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A file is there."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from .check import Check, CheckFailed, Moment

#: Bytes of a file in which a text is looked for.
FIRST_MIB = 1024 * 1024


@dataclass(frozen=True)
class FileCheck(Check):
    """``path`` is a file, with ``contains`` in its first MiB."""

    path: str
    contains: str = ""

    @property
    def title(self) -> str:
        return f"file {self.path}"

    def probe(self, moment: Moment) -> None:
        del moment  # A file answers at once; a pipe, which would not, is opened without waiting for it.
        try:
            with open(self.path, "rb", opener=_without_waiting) as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise CheckFailed("it is there, but no regular file")
                begin = file.read(FIRST_MIB) if self.contains else b""
        except FileNotFoundError as error:
            raise CheckFailed("it does not exist") from error
        except OSError as error:
            raise CheckFailed(f"it cannot be read: {error.strerror}") from error
        if self.contains.encode() not in begin:
            raise CheckFailed(f"it does not have the text '{self.contains}'")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
