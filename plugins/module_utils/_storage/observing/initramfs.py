# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Where mdadm's configuration is, and whether the images that initramfs-tools makes hold today's."""

from __future__ import annotations

import os
import typing as t

from ..formats import mdadm_conf
from .host import Host


def configuration(host: Host) -> str:
    """Return the path of mdadm.conf: the one that is there, else the one whose folder is there."""
    for path in mdadm_conf.PATHS:
        if host.exists(path):
            return path
    folders = (path for path in mdadm_conf.PATHS if host.exists(os.path.dirname(path)))
    return next(folders, mdadm_conf.PATHS[0])


def more_configuration(host: Host) -> tuple[str, ...]:
    """Return the paths of the files that mdadm reads after mdadm.conf: *.conf in mdadm.conf.d (mdadm.conf(5))."""
    folder = f"{configuration(host)}.d"
    names = [name for name in host.names(folder) if name.endswith(".conf") and not name.startswith(".")]
    return tuple(f"{folder}/{name}" for name in names)


def images(host: Host) -> tuple[str, ...]:
    """Return the paths of the images of installed kernels; none on a host that makes them with another tool.

    Only these count, for update-initramfs renews no others; it goes by linux-version(1), which finds a kernel by the
    name of its file.
    """
    if not any(host.exists(f"{folder}/update-initramfs") for folder in ("/usr/sbin", "/sbin")):
        return ()
    kernels = ("vmlinuz-", "vmlinux-")
    versions = [name[len(kernels[0]) :] for name in host.names("/boot") if name.startswith(kernels)]
    paths = [f"/boot/initrd.img-{version}" for version in versions]
    return tuple(path for path in paths if host.modified(path) is not None)


def stale_images(host: Host, conf: t.Iterable[str]) -> tuple[str, ...]:
    """Return the images that are older than one of the files ``conf``.

    An image of the same moment counts as too old: mkinitramfs copies mdadm.conf early and closes the image late.
    """
    changes = [change for change in map(host.modified, conf) if change is not None]
    if not changes:
        return ()
    return tuple(path for path in images(host) if (host.modified(path) or 0) <= max(changes))
