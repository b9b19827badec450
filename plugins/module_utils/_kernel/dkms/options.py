# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The options of dkms_module and dkms_module_info."""

from __future__ import annotations

from ..model import ABSENT, ALL_INSTALLED, BUILT, INSTALLED, PRESENT
from ..options import LOAD_SPEC, SOURCE_SPEC, Spec

DKMS_SPEC: Spec = {
    "name": {"type": "str", "required": True},
    "version": {"type": "str"},
    "state": {"type": "str", "choices": [PRESENT, BUILT, INSTALLED, ABSENT], "default": INSTALLED},
    "source": {"type": "dict", "options": SOURCE_SPEC, "mutually_exclusive": [["directory", "archive"]]},
    "kernels": {"type": "list", "elements": "str", "default": [ALL_INSTALLED]},
    "jobs": {"type": "int", "default": 1},
    "load": {"type": "dict", "options": LOAD_SPEC},
    "replace_older": {"type": "bool", "default": False},
    "allow_downgrade": {"type": "bool", "default": False},
    "hook": {"type": "bool"},
    "wait_timeout": {"type": "int", "default": 600},
}

DKMS_INFO_SPEC: Spec = {"name": {"type": "str"}}
