# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Options that several modules have."""

from __future__ import annotations

import typing as t

Spec = t.Dict[str, t.Dict[str, t.Any]]

SOURCE_SPEC: Spec = {"directory": {"type": "path"}, "archive": {"type": "path"}}

LOAD_SPEC: Spec = {
    "now": {"type": "bool", "default": False},
    "persist": {"type": "bool", "default": False},
    "parameters": {"type": "dict", "default": {}},
}
