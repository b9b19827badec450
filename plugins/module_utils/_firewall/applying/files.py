# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Write and remove files so that a cut leaves the old or the new one."""

from __future__ import annotations

import contextlib
import os

from ..._converge.files import replace_file
from .. import places

#: For what nobody but root and systemd reads.
PRIVATE = 0o600


def put(path: str, content: bytes, mode: int = 0o644) -> None:
    """Replace a file; its directory is made when it is missing."""
    directory = os.path.dirname(path)
    if path.startswith(places.STATE):
        os.makedirs(places.STATE, mode=places.DIRECTORY_MODE, exist_ok=True)
    else:
        os.makedirs(directory, mode=0o755, exist_ok=True)
    replace_file(path, content, mode)


def holds(path: str, content: bytes) -> bool:
    """Whether a file is there and has this content."""
    try:
        with open(path, "rb") as file:
            return file.read() == content
    except FileNotFoundError:
        return False


def remove(path: str) -> None:
    """Remove a file if it is there, and its directory, and the one above it, if they are ours and empty then."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    directory = os.path.dirname(path)
    for _level in range(2):
        if not ("baremetal.fabric" in directory or directory.endswith(".service.d")):
            return
        try:
            os.rmdir(directory)
        except OSError:
            return  # somebody else has something there
        directory = os.path.dirname(directory)
