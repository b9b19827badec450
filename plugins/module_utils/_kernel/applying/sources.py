# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Writes sources."""

from __future__ import annotations

import os

from ..observing.sources import Files


def write_files(folder: str, files: Files) -> None:
    """Write the files of a source into a new directory."""
    os.makedirs(folder, mode=0o755)
    for path, entry in files.items():
        here = os.path.join(folder, path)
        os.makedirs(os.path.dirname(here), mode=0o755, exist_ok=True)
        if entry.link:
            os.symlink(entry.link, here)
            continue
        with open(here, "wb") as file:
            file.write(entry.content)
            os.fchmod(file.fileno(), 0o755 if entry.executable else 0o644)
