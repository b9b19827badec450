# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Write what is kept of a set."""

from __future__ import annotations

import contextlib
import os
import shutil
import typing as t

from ..._converge.files import replace_file
from .. import places
from ..model import Generation, Transaction
from ..records import manifest_text, state_text


def keep_generation(name: str, generation: Generation, contents: t.Mapping[str, bytes]) -> None:
    """Keep a set, its list last."""
    folder = places.generation_folder(name, generation.number)
    os.makedirs(folder, mode=places.DIRECTORY_MODE, exist_ok=True)
    for path in (places.STATE, places.folder(name), os.path.dirname(folder), folder):
        os.chmod(path, places.DIRECTORY_MODE)  # makedirs gives its mode to the last one only
    for digest in sorted({entry.digest for entry in generation.entries}):
        path = places.kept_content(name, generation.number, digest)
        if not os.path.exists(path):
            replace_file(path, contents[digest], places.FILE_MODE)
    keep_manifest(name, generation)


def keep_manifest(name: str, generation: Generation) -> None:
    """Write down what a kept set is."""
    replace_file(places.manifest(name, generation.number), manifest_text(generation), places.FILE_MODE)


def keep_state(name: str, current: int, transaction: Transaction | None) -> None:
    """Write down what is in place, and what is under way."""
    os.makedirs(places.folder(name), mode=places.DIRECTORY_MODE, exist_ok=True)
    os.chmod(places.STATE, places.DIRECTORY_MODE)
    replace_file(places.state_file(name), state_text(current, transaction), places.FILE_MODE)


def kept_content(name: str, number: int, digest: str) -> bytes:
    """Return the content of a kept set's file. Raises OSError."""
    with open(places.kept_content(name, number, digest), "rb") as file:
        return file.read()


def drop_generation(name: str, number: int) -> None:
    """Remove a kept set, its list first, so that no half of it is left."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(places.manifest(name, number))
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(places.generation_folder(name, number))


def drop_traces(name: str, stay: t.Container[int]) -> None:
    """Remove all sets but those that stay."""
    with contextlib.suppress(FileNotFoundError):
        for each in os.listdir(os.path.dirname(places.generation_folder(name, 0))):
            if each.isdigit() and int(each) not in stay:
                drop_generation(name, int(each))
