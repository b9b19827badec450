# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Exchange live files so that each is the old one or the new one at every moment, and so that it can be taken back.

The old file keeps a second name beside the live one until the set is verified: taking it back needs no room on the
disk. What is where tells how far an exchange came, so each of these can be done again after a run was cut off.
"""

from __future__ import annotations

import contextlib
import os
import typing as t

from ..model import Exchange

#: Of directories that are made, whatever the umask is: daemons read their files as other users.
DIRECTORY_MODE = 0o755


def make_directories(directories: t.Iterable[str]) -> None:
    """Make directories that files need, outermost first."""
    mask = os.umask(0)
    try:
        for path in directories:
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, DIRECTORY_MODE)
                synchronize(os.path.dirname(path))
    finally:
        os.umask(mask)


def remove_directories(directories: t.Iterable[str]) -> None:
    """Remove directories that are empty, innermost first."""
    for path in sorted(directories, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def lay(exchange: Exchange, content: bytes) -> None:
    """Lay the new file beside the live one, readable by nobody else before it has its owner."""
    entry = exchange.entry
    if entry is None:
        return
    _unlink(exchange.staged)
    descriptor = os.open(exchange.staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchown(descriptor, entry.uid, entry.gid)
        os.fchmod(descriptor, entry.mode)
        os.fsync(descriptor)


def put(exchange: Exchange) -> None:
    """Put the new file in the place of the live one, or remove that; nothing where it was done before."""
    target, staged, old = exchange.target, exchange.staged, exchange.old
    if exchange.entry is None:
        if exchange.existed and not os.path.lexists(old):
            os.rename(target, old)
    elif os.path.lexists(staged):
        if exchange.existed and not os.path.lexists(old):
            os.link(target, old)
        os.replace(staged, target)


def take_back(exchange: Exchange) -> None:
    """Bring the old file back; nothing where it never went."""
    target, staged, old = exchange.target, exchange.staged, exchange.old
    if os.path.lexists(old):
        os.replace(old, target)
        _unlink(old)  # rename(2) does nothing with two names of the same file
    elif exchange.entry is not None and not exchange.existed and not os.path.lexists(staged):
        _unlink(target)
    _unlink(staged)


def forget(exchange: Exchange) -> None:
    """Remove the old file, and a new one that was not put in place."""
    _unlink(exchange.old)
    _unlink(exchange.staged)


def synchronize_all(exchanges: t.Iterable[Exchange]) -> None:
    """Put the names of live files through to the disks."""
    for directory in sorted({os.path.dirname(each.target) for each in exchanges}):
        with contextlib.suppress(FileNotFoundError):
            synchronize(directory)


def synchronize(directory: str) -> None:
    """Put a directory through to its disk."""
    descriptor = os.open(directory or "/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unlink(path: str) -> None:
    # On a read-only file system unlink(2) fails with EROFS, also where nothing is to be removed.
    if os.path.lexists(path):
        os.unlink(path)
