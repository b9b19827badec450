# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Reads what tells which kernel boots next."""

from __future__ import annotations

import os
from dataclasses import replace

from .. import places
from ..booting import GRUB, GRUB_ENVIRONMENT, IMAGE, BootFiles, next_boot_of
from ..model import NextBoot

#: Where it is, every kernel has an initramfs, which its installation makes after DKMS has had its turn.
_INITRAMFS_TOOLS = "/usr/sbin/update-initramfs"


def next_boot() -> NextBoot:
    """Return the kernel that boots next; without one where it cannot be told."""
    boot = next_boot_of(BootFiles(_text(GRUB), _text(GRUB_ENVIRONMENT), _images(), _leads))
    initramfs = f"{places.BOOT}/initrd.img-{boot.kernel}"
    has_image = bool(boot.kernel) and os.path.exists(f"{places.BOOT}/{IMAGE}{boot.kernel}")
    if has_image and os.path.exists(_INITRAMFS_TOOLS) and not os.path.exists(initramfs):
        return replace(boot, missing=initramfs)
    return boot


def _images() -> tuple[str, ...]:
    try:
        return tuple(name[len(IMAGE) :] for name in os.listdir(places.BOOT) if name.startswith(IMAGE))
    except FileNotFoundError:
        return ()


def _leads(path: str) -> str:
    return os.path.realpath(path) if os.path.lexists(path) else path


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
