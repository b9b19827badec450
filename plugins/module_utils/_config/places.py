# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Where sets are kept. Pure."""

from __future__ import annotations

import os

STATE = "/var/lib/baremetal.fabric/config"
#: Only root looks into it: sets have secrets.
DIRECTORY_MODE = 0o700
FILE_MODE = 0o600


def folder(name: str) -> str:
    """The directory of a set."""
    return os.path.join(STATE, name)


def state_file(name: str) -> str:
    """The record of what is in place, and of the change that is under way."""
    return os.path.join(folder(name), "state.json")


def generation_folder(name: str, number: int) -> str:
    """The directory of a kept set."""
    return os.path.join(folder(name), "generations", f"{number:06d}")


def manifest(name: str, number: int) -> str:
    """The list of a kept set's files. It is written last: a set without it is none."""
    return os.path.join(generation_folder(name, number), "manifest.json")


def kept_content(name: str, number: int, digest: str) -> str:
    """The content of a kept set's file."""
    return os.path.join(generation_folder(name, number), digest)
