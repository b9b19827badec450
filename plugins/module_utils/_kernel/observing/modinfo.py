# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Asks modinfo(8) which files would be loaded into a kernel."""

from __future__ import annotations

import os
import typing as t

from ..._converge.command import Runner
from ..formats.modinfo import blocks
from ..model import File
from . import tree


def found_by_modinfo(
    kernel: str, names: t.Iterable[str], known: t.Mapping[str, File], runner: Runner
) -> dict[str, File]:
    """Return the files that would be loaded into a kernel, by name of the module."""
    wanted = list(names)
    output = runner.run(("modinfo", "-k", kernel, *wanted), accept=(0, 1))
    paths = {file.path: file for file in known.values()}
    found = {}
    for block in blocks(output):
        path = os.path.normpath(block.get("filename", "")) if block.get("filename", "").startswith("/") else ""
        base = os.path.basename(path).split(".ko")[0].replace("-", "_")
        name = next((each for each in wanted if each.replace("-", "_") == base), "")
        if name and name not in found and os.path.isfile(path):
            found[name] = paths.get(path) or tree.read_file(path)
    return found
