# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Which kernel boots next: what GRUB is told, else the link of the boot loader, else the newest."""

from __future__ import annotations

import os

from .. import places
from ..formats.grub import environment, next_kernel
from ..model import NextBoot
from ..versions import newest

_IMAGE = "vmlinuz-"
_LINKS = ("/vmlinuz", f"{places.BOOT}/vmlinuz")


def next_boot() -> NextBoot:
    """Return the kernel that boots next; without one where it cannot be told."""
    config = f"{places.BOOT}/grub/grub.cfg"
    image = next_kernel(_text(config), environment(_text(f"{places.BOOT}/grub/grubenv")))
    release = _release(image)
    if release:
        return NextBoot(release, config)
    for link in _LINKS:
        release = _release(link)
        if release:
            return NextBoot(release, link)
    release = newest(_images())
    return NextBoot(release, f"the newest in {places.BOOT}") if release else NextBoot()


def _images() -> list[str]:
    try:
        return [name[len(_IMAGE) :] for name in os.listdir(places.BOOT) if name.startswith(_IMAGE)]
    except FileNotFoundError:
        return []


def _release(image: str) -> str:
    """The release in an image's name; where GRUB has /boot as a file system of its own, paths lack it."""
    if not image:
        return ""
    for path in (image, places.BOOT + image):
        name = os.path.basename(os.path.realpath(path) if os.path.lexists(path) else path)
        if name.startswith(_IMAGE):
            return name[len(_IMAGE) :]
    return ""


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
