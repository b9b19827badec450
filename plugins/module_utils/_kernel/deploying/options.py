# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The options of kernel_module_binary."""

from __future__ import annotations

from ..model import ABSENT, INSTALLED, RUNNING
from ..options import LOAD_SPEC, Spec
from .model import NEXT

ONE_SPEC: Spec = {
    "package": {"type": "str", "required": True},
    "version": {"type": "str", "required": True},
    "architecture": {"type": "str", "required": True},
    "kernel": {"type": "str", "required": True},
    "modules": {"type": "list", "elements": "str", "required": True},
    "path": {"type": "path", "required": True},
    "sha256": {"type": "str"},
    "buildinfo": {"type": "path"},
    "signed": {"type": "bool"},
}

BINARY_SPEC: Spec = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": [INSTALLED, ABSENT], "default": INSTALLED},
    "packages": {"type": "list", "elements": "dict", "options": ONE_SPEC, "default": []},
    "directory": {"type": "path"},
    "kernels": {"type": "list", "elements": "str", "default": [RUNNING, NEXT]},
    "load": {"type": "dict", "options": LOAD_SPEC},
    "allow_downgrade": {"type": "bool", "default": False},
    "wait_timeout": {"type": "int", "default": 600},
}
