# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out the steps on disks.

Disks are changed under udev's lock (https://systemd.io/BLOCK_DEVICE_LOCKING/): while it is held, udev neither
probes the disk nor reads its table again, so nothing is assembled from what is about to be overwritten.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import typing as t

from ..._converge.command import CommandError
from ..._converge.converge import StepFailed
from ..formats.superblock import LENGTH, OFFSET, parse
from ..model import MIB, Partition
from ..observing.host import Device
from ..observing.sysfs import KernelDisk, read_disk, sysfs_name
from ..steps.disks import MoveBackupTable, PartitionDisk, ReleaseDisk, TellKernel, WipeDisk, update_kernel
from .execution import PATIENCE, Execution, until

#: md, LVM, ext, xfs, btrfs and zfs keep what they are recognised by in the first and the last 2 MiB of a device.
EDGE = 2 * MIB
#: The first partition starts here; a GPT and whatever marks a whole disk stand within as much at either end.
TABLE_ROOM = MIB

Region = t.Tuple[int, int]


@contextlib.contextmanager
def locked(disk: str, execution: Execution) -> t.Iterator[None]:
    """Hold udev's lock on the whole ``disk``. Raises :class:`StepFailed` when somebody else keeps it.

    The descriptor is read-only, so that letting go of it is not taken for a change. Closing one that had been
    written to is, and then udev reads the partition table again, for which partitions vanish for a moment; so
    udev gets to see the changes made while the lock still keeps it from doing that.
    """
    descriptor = os.open(disk, os.O_RDONLY | os.O_CLOEXEC)
    try:

        def taken() -> bool:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno != errno.EWOULDBLOCK:
                    raise
                return False
            return True

        until(taken, lambda: f"{disk} stayed locked by another program for {PATIENCE:.0f} s; see 'lslocks'. Run again.")
        yield
        execution.disks_changed = True
        with contextlib.suppress(CommandError):  # no udev runs
            execution.run(("udevadm", "control", "--ping", "--timeout=30"))
    finally:
        os.close(descriptor)


def zero(path: str, regions: t.Iterable[Region], exclusive: bool = False) -> None:
    """Overwrite ``regions`` (offset, length; bytes) of a device or file with zeros, through to the disk.

    With ``exclusive`` a device that is mounted, or held by md or LVM, raises OSError (EBUSY) untouched.
    """
    zeros = bytes(MIB)
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | (os.O_EXCL if exclusive else 0))
    try:
        for offset, length in regions:
            written = 0
            while written < length:
                written += os.pwrite(descriptor, zeros[: length - written], offset + written)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def edges(start: int, size: int, edge: int = EDGE) -> tuple[Region, ...]:
    """Return the first and the last ``edge`` bytes of a region as (offset, length); a small region as a whole."""
    if size <= 2 * edge:
        return ((start, size),)
    return ((start, edge), (start + size - edge, edge))


def _kernel_disk(disk: str, execution: Execution) -> KernelDisk:
    return read_disk(execution.host, sysfs_name(disk))


def _kernel_partitions(disk: str, execution: Execution) -> dict[str, Region]:
    """Return where the kernel has the partitions of ``disk``: node to (start, size) in bytes."""
    return {
        f"/dev/{part.name.replace('!', '/')}": (part.start, part.size)
        for part in _kernel_disk(disk, execution).partitions
    }


def _update_kernel(disk: str, wanted: t.Sequence[Partition], execution: Execution) -> None:
    """Bring to the kernel what it does not know yet, and wait until each partition is where it belongs."""

    def wrong() -> list[Partition]:
        have = _kernel_partitions(disk, execution)
        return [
            part
            for part in wanted
            if have.get(part.node) != (part.start, part.size) or not execution.is_block_device(part.node)
        ]

    for part in wrong():
        # partx fails where a partition is in use that only has to become larger, and has then done so.
        execution.run(update_kernel(disk, part.number), accept=(0, 1))
    until(
        lambda: not wrong(),
        lambda: (
            f"The kernel does not show {', '.join(part.node for part in wrong())} as written to the partition table; "
            f"something may hold {disk}. Compare 'sgdisk --print {disk}' with 'lsblk --bytes {disk}', then run again."
        ),
    )


def partition(step: PartitionDisk, execution: Execution) -> None:
    """Cut slices; whatever stood at their edges is gone before the kernel sees them."""
    table = step.commands[0]
    with locked(step.disk, execution):
        _refuse_overlap(step, execution)
        regions = [region for part in step.slices for region in edges(part.start, part.size)]
        if step.fresh:
            regions += edges(0, _kernel_disk(step.disk, execution).size, TABLE_ROOM)
        zero(step.disk, regions, exclusive=step.fresh)
        execution.run(table)
        _update_kernel(step.disk, step.slices, execution)


def _refuse_overlap(step: PartitionDisk, execution: Execution) -> None:
    """Raise when the kernel has a partition where a slice is to be: the plan was made for another disk."""
    for node, (start, size) in _kernel_partitions(step.disk, execution).items():
        if step.fresh or any(start < part.end and part.start < start + size for part in step.slices):
            raise StepFailed(
                f"{step.display} has a partition {node} that was not there before; nothing was written. Run again."
            )


def wipe(step: WipeDisk, execution: Execution) -> None:
    """Remove partitions and signatures of somebody else, from a disk that nobody uses."""
    *stops, wipefs, zap, update = step.commands
    for stop in stops:
        execution.run(stop)
    with locked(step.disk, execution):
        if execution.host.busy(step.disk):
            raise StepFailed(
                f"{step.display} is in use, so it was not wiped. See 'lsblk {step.disk}', stop what uses it; run again."
            )
        execution.run(wipefs)
        execution.run(zap)
        zero(step.disk, edges(0, _kernel_disk(step.disk, execution).size, TABLE_ROOM), exclusive=True)
        execution.run(update, accept=(0, 1))  # it finds no table, and removes what the kernel still has
        until(
            lambda: not _kernel_partitions(step.disk, execution),
            lambda: (
                f"The kernel still has {', '.join(_kernel_partitions(step.disk, execution))} although {step.display} "
                f"was wiped; something holds them. See 'lsblk {step.disk}', stop what uses them, then run again."
            ),
        )


def move_backup_table(step: MoveBackupTable, execution: Execution) -> None:
    """Move the backup GPT to the end of a disk."""
    before = _kernel_partitions(step.disk, execution)
    with locked(step.disk, execution):
        for argv in step.commands:
            execution.run(argv)
        until(
            lambda: _kernel_partitions(step.disk, execution) == before,
            lambda: f"The kernel lost partitions of {step.display} while its backup table was moved. Run again.",
        )


def tell_kernel(step: TellKernel, execution: Execution) -> None:
    """Make the kernel's table the one on the disk."""
    with locked(step.disk, execution):
        _update_kernel(step.disk, step.partitions, execution)


def release(step: ReleaseDisk, execution: Execution) -> None:
    """Take the superblocks off partitions that are no members any more."""
    with locked(step.disk, execution):
        for argv in step.commands:
            execution.run(argv)
    left = [node for node in step.partitions if _has_superblock(node, execution)]
    if left:
        raise StepFailed(f"{', '.join(left)} still has a superblock of the pool after mdadm removed it. Run again.")


def _has_superblock(node: str, execution: Execution) -> bool:
    with Device(execution.host, node) as device:
        return parse(device.read(OFFSET, LENGTH), OFFSET) is not None
