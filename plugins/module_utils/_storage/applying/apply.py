# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out one step of a plan on the host."""

from __future__ import annotations

import typing as t

from ..steps import arrays as array_steps
from ..steps import disks as disk_steps
from ..steps import members as member_steps
from ..steps import reshapes as reshape_steps
from ..steps import volumes as volume_steps
from ..steps.disks import PoolStep
from . import arrays as apply_arrays
from . import disks as apply_disks
from . import guard as apply_guard
from . import records as apply_records
from . import volumes as apply_volumes
from .await_array import await_array
from .execution import Execution

#: Steps that take more than their commands. Every other step is its commands.
_BY_KIND: dict[type[PoolStep], t.Callable[[t.Any, Execution], None]] = {
    disk_steps.WipeDisk: apply_disks.wipe,
    disk_steps.MoveBackupTable: apply_disks.move_backup_table,
    disk_steps.TellKernel: apply_disks.tell_kernel,
    disk_steps.PartitionDisk: apply_disks.partition,
    disk_steps.ReleaseDisk: apply_disks.release,
    disk_steps.ClearSpare: apply_disks.release,
    array_steps.StartArray: apply_arrays.start,
    reshape_steps.RevertReshape: apply_guard.revert,
    array_steps.WakeArray: apply_arrays.wake,
    array_steps.ThawArray: apply_arrays.thaw,
    reshape_steps.ContinueReshape: apply_arrays.continue_reshape,
    reshape_steps.LiftSuspension: apply_arrays.lift_suspension,
    array_steps.AwaitArray: await_array,
    array_steps.PauseCheck: apply_arrays.pause_check,
    member_steps.DropMembers: apply_arrays.drop,
    member_steps.AddMembers: apply_arrays.add,
    member_steps.ReplaceMember: apply_arrays.replace_member,
    member_steps.CancelReplacement: apply_arrays.cancel_replacement,
    reshape_steps.GrowArray: apply_guard.grow,
    reshape_steps.EndGuard: apply_guard.end_guard,
    array_steps.CreateArray: apply_arrays.create,
    array_steps.RecordArrays: apply_records.record_arrays,
    array_steps.RebuildInitramfs: apply_records.rebuild_initramfs,
    volume_steps.ActivateVolumes: apply_volumes.activate_volumes,
    volume_steps.CreateVolume: apply_volumes.create_volume,
    volume_steps.GrowFilesystem: apply_volumes.grow_filesystem,
    volume_steps.RecordMount: apply_records.record_mount,
    volume_steps.MountVolume: apply_volumes.mount_volume,
}


def run_commands(step: PoolStep, execution: Execution) -> None:
    """Run the commands of ``step``, one after the other."""
    for argv in step.commands:
        execution.run(argv)


def carry_out(step: PoolStep, execution: Execution) -> None:
    """Carry out ``step``.

    Raises CommandError, StepFailed or OSError when it cannot be done, StillRunning when a wait takes too long.
    """
    _BY_KIND.get(type(step), run_commands)(step, execution)
