# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What the headers of a kernel tell of it. Pure."""

from __future__ import annotations

import calendar
import re

_RELEASED = re.compile(r"UTS_VERSION .*\((?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)\)")
_SETTING = re.compile(r"^(CONFIG_[A-Za-z0-9_]+)=(.*)$", re.MULTILINE)
#: linux/kernel/module/Kconfig, MODULE_COMPRESS_*
_COMPRESSIONS = {
    "CONFIG_MODULE_COMPRESS_XZ": "xz",
    "CONFIG_MODULE_COMPRESS_ZSTD": "zst",
    "CONFIG_MODULE_COMPRESS_GZIP": "gz",
}


def released(utsversion: str) -> int | None:
    """Return the day on which a kernel was released, in seconds since 1970; Debian has it in utsversion.h."""
    match = _RELEASED.search(utsversion)
    if match is None:
        return None
    return calendar.timegm((int(match["year"]), int(match["month"]), int(match["day"]), 0, 0, 0))


def settings(config: str) -> dict[str, str]:
    """Return the settings that a kernel was built with, from its auto.conf."""
    return {name: value.strip('"') for name, value in _SETTING.findall(config)}


def compression(config: dict[str, str]) -> str:
    """Return the compression of the kernel's own modules; empty for none."""
    return next((kind for name, kind in _COMPRESSIONS.items() if config.get(name) == "y"), "")


def compiler(config: dict[str, str]) -> str:
    """Return the name of the program that compiled the kernel; empty when it is not told."""
    words = config.get("CONFIG_CC_VERSION_TEXT", "").split()
    return words[0] if words else ""
