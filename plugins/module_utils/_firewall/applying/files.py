# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Write and remove files so that a cut leaves the old or the new one."""

from __future__ import annotations

import contextlib
import os

from .. import places

#: For what nobody but root and systemd reads.
PRIVATE = 0o600


def put(path: str, content: bytes, mode: int = 0o644) -> None:
    """Replace a file and put it through to the disk."""
    directory = os.path.dirname(path)
    if path.startswith(places.STATE):
        os.makedirs(places.STATE, mode=places.DIRECTORY_MODE, exist_ok=True)
    else:
        os.makedirs(directory, mode=0o755, exist_ok=True)
    draft = os.path.join(directory, f".{os.path.basename(path)}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), mode)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    _sync_directory(directory)


def holds(path: str, content: bytes) -> bool:
    """Whether a file is there and has this content."""
    try:
        with open(path, "rb") as file:
            return file.read() == content
    except FileNotFoundError:
        return False


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
