# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The options of kernel_module_package."""

from __future__ import annotations

from ..model import ALL_INSTALLED
from ..options import SOURCE_SPEC, Spec

SIGNING_SPEC: Spec = {
    "key": {"type": "path", "required": True, "no_log": False},
    "certificate": {"type": "path", "required": True},
}

PACKAGE_SPEC: Spec = {
    "name": {"type": "str", "required": True},
    "version": {"type": "str"},
    "source": {"type": "dict", "options": SOURCE_SPEC, "mutually_exclusive": [["directory", "archive"]]},
    "kernels": {"type": "list", "elements": "str", "default": [ALL_INSTALLED]},
    "destination": {"type": "path", "required": True},
    "maintainer": {"type": "str", "required": True},
    "revision": {"type": "str", "default": "1"},
    "source_date_epoch": {"type": "int"},
    "signing": {"type": "dict", "options": SIGNING_SPEC},
    "chroot": {"type": "path"},
    "jobs": {"type": "int", "default": 1},
    "wait_timeout": {"type": "int", "default": 600},
}
