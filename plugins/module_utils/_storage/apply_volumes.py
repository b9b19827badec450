# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out the steps on LVM, file systems and mounts."""

from __future__ import annotations

import contextlib
import os
import typing as t

from .._converge.command import CommandError
from .host import Host, StepFailed, is_block_device, read, until
from .volume_steps import CreateVolume, GrowFilesystem, MountVolume

_OCTAL = {"\\040": " ", "\\011": "\t", "\\012": "\n", "\\134": "\\"}


def create_volume(step: CreateVolume, host: Host) -> None:
    """Make a logical volume, and wait for its node."""
    for argv in step.commands:
        host.run(argv)
    device = f"/dev/{step.group}/{step.volume}"
    host.settle_udev()
    until(
        lambda: is_block_device(device),
        lambda: f"LVM made volume {step.volume}, but {device} did not appear; see 'lvs' and 'systemctl status systemd-udevd'.",
    )


def grow_filesystem(step: GrowFilesystem, host: Host) -> None:
    """Grow a file system online; one that is not mounted is mounted where nobody else sees it."""
    if not step.mounted_on:
        os.makedirs(step.private_mount_point, mode=0o700, exist_ok=True)
    try:
        for argv in step.commands:
            host.run(argv)
    except CommandError as error:
        if step.filesystem == "ext4" and "e2fsck" in error.stderr + error.stdout:
            raise StepFailed(
                f"The ext4 file system on {step.device} has errors and cannot be grown before it is checked: unmount it, "
                f"run 'e2fsck -f {step.device}', then run again. ({error})"
            ) from error
        raise
    finally:
        if not step.mounted_on:
            with contextlib.suppress(OSError):
                os.rmdir(step.private_mount_point)


def mounted_device(mount_point: str, table: str) -> str:
    """Return "MAJOR:MINOR" of what is mounted on top at ``mount_point``, "" for nothing, from a mountinfo table."""
    found = ""
    for line in table.splitlines():
        fields = line.split(" ")
        if len(fields) > 4 and _unescaped(fields[4]) == mount_point:
            found = fields[2]
    return found


def _unescaped(text: str) -> str:
    for code, character in _OCTAL.items():
        text = text.replace(code, character)
    return text


def _number(device: str) -> str:
    status = os.stat(device)
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def mount_volume(step: MountVolume, host: Host) -> None:
    """Mount a volume where fstab says, and look whether it is there."""
    os.makedirs(step.mount_point, mode=0o755, exist_ok=True)
    for argv in step.commands:
        host.run(argv)
    if mounted_device(os.path.realpath(step.mount_point), read("/proc/self/mountinfo")) != _number(step.device):
        raise StepFailed(
            f"{step.device} was mounted on {step.mount_point} and is not there: something has unmounted it at once, or "
            f"mounted over it. See 'findmnt {step.mount_point}' and 'systemctl status {step.mount_point}'."
        )


__all__: t.Sequence[str] = ("create_volume", "grow_filesystem", "mount_volume", "mounted_device")
