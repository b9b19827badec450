# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Which kernel boots next: what GRUB is told, else the link of the boot loader, else the newest. Pure."""

from __future__ import annotations

import posixpath
import typing as t
from dataclasses import dataclass

from . import places
from .formats.grub import environment, next_kernel
from .model import NextBoot
from .versions import newest

IMAGE = "vmlinuz-"
LINKS = ("/vmlinuz", f"{places.BOOT}/vmlinuz")
GRUB = f"{places.BOOT}/grub/grub.cfg"
GRUB_ENVIRONMENT = f"{places.BOOT}/grub/grubenv"


@dataclass(frozen=True)
class BootFiles:
    """What is in /boot. ``images`` are releases; ``leads`` returns where a path leads, itself when it is no link."""

    config: str
    environment: str
    images: tuple[str, ...]
    leads: t.Callable[[str], str]


def next_boot_of(files: BootFiles) -> NextBoot:
    """Return the kernel that boots next; without one where it cannot be told."""
    release = _release(next_kernel(files.config, environment(files.environment)), files)
    if release:
        return NextBoot(release, GRUB)
    for link in LINKS:
        release = _release(link, files)
        if release:
            return NextBoot(release, link)
    release = newest(files.images)
    return NextBoot(release, f"the newest in {places.BOOT}") if release else NextBoot()


def _release(image: str, files: BootFiles) -> str:
    """The release in an image's name; where GRUB has /boot as a file system of its own, paths lack it."""
    if not image:
        return ""
    for path in (image, places.BOOT + image):
        name = posixpath.basename(files.leads(path))
        if name.startswith(IMAGE):
            return name[len(IMAGE) :]
    return ""
