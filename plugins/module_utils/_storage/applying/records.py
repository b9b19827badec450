# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out the steps on what outlives a boot: mdadm.conf, the initramfs, fstab."""

from __future__ import annotations

from ..._converge.converge import StepFailed
from ..._converge.files import replace_file
from ..formats import fstab, mdadm_conf
from ..observing.initramfs import configuration, more_configuration, stale_images
from ..steps.arrays import RebuildInitramfs, RecordArrays
from ..steps.volumes import RecordMount
from .arrays import array_called
from .execution import Execution

FSTAB = "/etc/fstab"


def record_arrays(step: RecordArrays, execution: Execution) -> None:
    """Write one ARRAY line for each array of the pool, by UUID, and take out what other files say of them."""
    host = execution.host
    pool = step.arrays[0].rpartition("-")[0]
    uuids = {int(name.rpartition("-")[2]): array_called(name, execution).uuid for name in step.arrays}
    path = configuration(host)
    replace_file(host.at(path), mdadm_conf.with_arrays(host.text_of(path), pool, uuids))
    for path in more_configuration(host):
        before = host.text_of(path)
        after = mdadm_conf.without_arrays(before, pool, uuids.values())
        if after != before:
            replace_file(host.at(path), after)


def rebuild_initramfs(step: RebuildInitramfs, execution: Execution) -> None:
    """Rebuild the initramfs images. update-initramfs also succeeds where it is configured to do nothing."""
    for argv in step.commands:
        execution.run(argv)
    host = execution.host
    stale = stale_images(host, (configuration(host), *more_configuration(host)))
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
