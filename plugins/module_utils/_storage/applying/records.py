# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out the steps on what outlives a boot: mdadm.conf, the initramfs, fstab."""

from __future__ import annotations

import os

from ..._converge.converge import StepFailed
from ..formats import fstab, mdadm_conf
from ..observing.initramfs import stale_images
from ..steps.arrays import RebuildInitramfs, RecordArrays
from ..steps.volumes import RecordMount
from .arrays import array_called
from .execution import Execution, replace_file

FSTAB = "/etc/fstab"


def mdadm_conf_path(execution: Execution) -> str:
    """Return the path of mdadm.conf: the one that is there, else the one whose folder is there."""
    for path in mdadm_conf.PATHS:
        if execution.host.exists(path):
            return path
    return next(path for path in mdadm_conf.PATHS if execution.host.exists(os.path.dirname(path)))


def record_arrays(step: RecordArrays, execution: Execution) -> None:
    """Write one ARRAY line for each array of the pool, by UUID."""
    path = mdadm_conf_path(execution)
    before = execution.host.text_of(path)
    pool = step.arrays[0].rpartition("-")[0]
    uuids = {int(name.rpartition("-")[2]): array_called(name, execution).uuid for name in step.arrays}
    replace_file(execution.host.at(path), mdadm_conf.with_arrays(before, pool, uuids))


def rebuild_initramfs(step: RebuildInitramfs, execution: Execution) -> None:
    """Rebuild the initramfs images. update-initramfs also succeeds where it is configured to do nothing."""
    for argv in step.commands:
        execution.run(argv)
    stale = stale_images(execution.host, mdadm_conf_path(execution))
    if stale:
        raise StepFailed(
            f"update-initramfs did not renew {', '.join(stale)}; look for 'update_initramfs=no' in "
            "/etc/initramfs-tools/update-initramfs.conf, and whether /boot is mounted read-only."
        )


def record_mount(step: RecordMount, execution: Execution) -> None:
    """Write the line of one volume, and let systemd read it."""
    group = step.mount.device.split("/")[2]
    before = execution.host.text_of(FSTAB)
    after = fstab.with_mount(before, group, step.mount, execution.host.resolve_tag)
    if after != before:
        replace_file(execution.host.at(FSTAB), after)
    if execution.host.exists("/run/systemd/system"):
        execution.run(("systemctl", "daemon-reload"))
