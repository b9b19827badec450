# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Directories that are on the disk before they are put in place."""

from __future__ import annotations

import os


def synchronize(folder: str) -> None:
    """Put a directory through to the disk with all that is below it (fsync(2)); not the whole host, as sync(2) does."""
    for here, _folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(here, name)
            if not os.path.islink(path):
                _through(path, os.O_RDONLY)
        _through(here, os.O_RDONLY | os.O_DIRECTORY)


def _through(path: str, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
