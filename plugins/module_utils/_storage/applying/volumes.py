# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out the steps on LVM, file systems and mounts."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ..._converge.command import CommandError
from ..._converge.converge import StepFailed
from ..observing.sysfs import read_uses
from ..steps.volumes import ActivateVolumes, CreateVolume, GrowFilesystem, MountVolume
from .execution import Execution, until


def create_volume(step: CreateVolume, execution: Execution) -> None:
    """Make a logical volume, and wait for its node."""
    for argv in step.commands:
        execution.run(argv)
    _await_volumes(step.group, (step.volume,), execution)


def activate_volumes(step: ActivateVolumes, execution: Execution) -> None:
    """Activate logical volumes, and wait for their nodes."""
    for argv in step.commands:
        execution.run(argv)
    _await_volumes(step.group, step.volumes, execution)


def _await_volumes(group: str, volumes: t.Sequence[str], execution: Execution) -> None:
    devices = [f"/dev/{group}/{volume}" for volume in volumes]
    execution.settle_udev()
    until(
        lambda: all(map(execution.is_block_device, devices)),
        lambda: (
            f"LVM has activated {', '.join(volumes)}, but {', '.join(devices)} did not all appear; see 'lvs', and "
            "whether udev runs."
        ),
    )


def grow_filesystem(step: GrowFilesystem, execution: Execution) -> None:
    """Grow a file system online; one that is not mounted is mounted where nobody else sees it."""
    if not step.mounted_on:
        os.makedirs(step.private_mount_point, mode=0o700, exist_ok=True)
    try:
        for argv in step.commands:
            execution.run(argv)
    except CommandError as error:
        if step.filesystem == "ext4" and "e2fsck" in error.stderr + error.stdout:
            raise StepFailed(
                f"The ext4 file system on {step.device} has errors and must be checked before it can grow: unmount it, "
                f"run 'e2fsck -f {step.device}', then run again. ({error})"
            ) from error
        raise
    finally:
        if not step.mounted_on:
            with contextlib.suppress(OSError):
                os.rmdir(step.private_mount_point)


def mount_volume(step: MountVolume, execution: Execution) -> None:
    """Mount a volume where fstab says, and look whether it is there."""
    os.makedirs(step.mount_point, mode=0o755, exist_ok=True)
    execution.settle_udev()
    for argv in step.commands:
        execution.run(argv)
    number = execution.host.device_number(step.device)
    mount_point = os.path.realpath(step.mount_point)
    there = [use.number for use in read_uses(execution.host) if use.mount_point == mount_point]
    # The last one is on top.
    if there[-1:] != [number]:
        raise StepFailed(
            f"{step.device} was mounted on {step.mount_point} and is not there: something unmounted it at once, or "
            f"mounted over it. See 'findmnt {step.mount_point}' and 'systemctl status {step.mount_point}'."
        )
