# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Reads which modules are loaded, and the files that have one loaded."""

from __future__ import annotations

import typing as t

from .. import places
from ..model import Loaded
from . import tree


def loaded_modules(names: t.Iterable[str], parameters: t.Collection[str]) -> dict[str, Loaded]:
    """Return those of the modules that are loaded, with these of their parameters."""
    found = {name: tree.loaded_module(name, parameters) for name in names}
    return {name: module for name, module in found.items() if module is not None}


def loading_texts(name: str) -> dict[str, str]:
    """Return the files that say how a module is loaded, by path."""
    texts = {path: tree.text_of(path) for path in (places.loading(name), places.options(name))}
    return {path: text + "\n" for path, text in texts.items() if text is not None}
