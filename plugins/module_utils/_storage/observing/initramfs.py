# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The initramfs images that initramfs-tools makes, and whether they hold today's mdadm.conf."""

from __future__ import annotations

from .host import Host


def images(host: Host) -> tuple[str, ...]:
    """Return the paths of the images of installed kernels; none on a host that makes them with another tool.

    Only these count, for update-initramfs renews no others.
    """
    if not any(host.exists(f"{folder}/update-initramfs") for folder in ("/usr/sbin", "/sbin")):
        return ()
    versions = [name[len("vmlinuz-") :] for name in host.names("/boot") if name.startswith("vmlinuz-")]
    paths = [f"/boot/initrd.img-{version}" for version in versions]
    return tuple(path for path in paths if host.modified(path) is not None)


def stale_images(host: Host, conf: str) -> tuple[str, ...]:
    """Return the images that are older than the file ``conf``.

    An image of the same moment counts as too old: mkinitramfs copies mdadm.conf early and closes the image late.
    """
    changed = host.modified(conf)
    if changed is None:
        return ()
    return tuple(path for path in images(host) if (host.modified(path) or 0) <= changed)
