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

from .._converge.command import CommandError
from .disk_steps import MoveBackupTable, PartitionDisk, ReleaseDisk, TellKernel, WipeDisk
from .host import PATIENCE, Host, StepFailed, is_block_device, kernel_name, read, until
from .model import MIB, Partition

#: md, LVM, ext, xfs, btrfs and zfs keep what they are recognised by in the first and the last 2 MiB of a device.
EDGE = 2 * MIB
#: The first partition starts here; a GPT and whatever marks a whole disk stand within as much at either end.
TABLE_ROOM = MIB
#: sysfs counts in units of 512 bytes whatever the disk's sector size.
_SYSFS_SECTOR = 512
_MD_MAGIC = b"\xfc\x4e\x2b\xa9"
#: md's superblocks of versions 1.1 and 1.2 (md(4)); the collection makes 1.2.
_SUPERBLOCK_OFFSETS = (0, 4096)


@contextlib.contextmanager
def locked(host: Host, disk: str) -> t.Iterator[None]:
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
        _let_udev_notice(host)
    finally:
        os.close(descriptor)


def _let_udev_notice(host: Host) -> None:
    with contextlib.suppress(CommandError):  # no udev runs
        host.run(("udevadm", "control", "--ping", "--timeout=30"))


def zero(path: str, regions: t.Iterable[tuple[int, int]], exclusive: bool = False) -> None:
    """Overwrite ``regions`` (offset, length; bytes) of a device or file with zeros, through to the disk.

    With ``exclusive`` a device that is mounted, or held by md or LVM, raises OSError (EBUSY) untouched.
    """
    zeros = bytes(MIB)
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | (os.O_EXCL if exclusive else 0))
    try:
        for offset, length in regions:
            end = offset + length
            while offset < end:
                offset += os.pwrite(descriptor, zeros[: end - offset], offset)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def edges(start: int, size: int, edge: int = EDGE) -> tuple[tuple[int, int], ...]:
    """Return the first and the last ``edge`` bytes of a region as (offset, length); a small region as a whole."""
    if size <= 2 * edge:
        return ((start, size),)
    return ((start, edge), (start + size - edge, edge))


def kernel_partitions(disk: str) -> dict[str, tuple[int, int]]:
    """Return what the kernel knows of the partitions of ``disk``: name to (start, size) in bytes."""
    folder = f"/sys/class/block/{kernel_name(disk)}"
    result = {}
    for name in os.listdir(folder):
        if os.path.exists(f"{folder}/{name}/partition"):
            start, size = (int(read(f"{folder}/{name}/{key}") or 0) * _SYSFS_SECTOR for key in ("start", "size"))
            result[name] = (start, size)
    return result


def _await_partitions(disk: str, wanted: t.Iterable[Partition]) -> None:
    """Wait until the kernel has each partition where it belongs, and its node is there."""
    expected = {kernel_name(part.node): part for part in wanted}

    def seen() -> bool:
        have = kernel_partitions(disk)
        return all(
            have.get(name) == (part.start, part.size) and is_block_device(part.node) for name, part in expected.items()
        )

    def failure() -> str:
        have = kernel_partitions(disk)
        wrong = [
            f"{part.node} ({have.get(name) or 'not there'} instead of {(part.start, part.size)})"
            for name, part in expected.items()
            if have.get(name) != (part.start, part.size) or not is_block_device(part.node)
        ]
        return (
            f"The kernel does not show the partitions that were written to {disk}: {', '.join(wrong)}, as start and "
            "size in bytes. Something may hold the disk; see 'lsblk' and the kernel's log, then run again."
        )

    until(seen, failure)


def _update_kernel(host: Host, disk: str) -> None:
    # partx ends with 1 when a partition that did not change is in use, which is the rule here; what counts is
    # looked at afterwards.
    host.run(("partx", "--update", disk), accept=(0, 1))


def partition(step: PartitionDisk, host: Host) -> None:
    """Cut slices; whatever stood at their edges is gone before the kernel sees them."""
    table, _update = step.commands
    with locked(host, step.disk):
        _refuse_overlap(step)
        regions = [region for part in step.slices for region in edges(part.start, part.size)]
        if step.fresh:
            size = int(read(f"/sys/class/block/{kernel_name(step.disk)}/size")) * _SYSFS_SECTOR
            regions += edges(0, size, TABLE_ROOM)
        zero(step.disk, regions, exclusive=step.fresh)
        host.run(table)
        _update_kernel(host, step.disk)
        _await_partitions(step.disk, step.slices)
    host.settle_udev()
    _await_partitions(step.disk, step.slices)


def _refuse_overlap(step: PartitionDisk) -> None:
    """Raise when the kernel has a partition where a slice is to be: the plan was made for another disk."""
    for name, (start, size) in kernel_partitions(step.disk).items():
        for part in step.slices:
            if step.fresh or (start < part.end and part.start < start + size):
                raise StepFailed(
                    f"{step.display} has a partition {name} that was not there a moment ago; nothing was written to it. "
                    "Run again."
                )


def wipe(step: WipeDisk, host: Host) -> None:
    """Remove partitions and signatures of somebody else."""
    *stops, wipefs, zap, _update = step.commands
    for stop in stops:
        host.run(stop)
    with locked(host, step.disk):
        size = int(read(f"/sys/class/block/{kernel_name(step.disk)}/size")) * _SYSFS_SECTOR
        host.run(wipefs)
        host.run(zap)
        try:
            zero(step.disk, edges(0, size, TABLE_ROOM), exclusive=True)
        except OSError as error:
            raise StepFailed(
                f"{step.display} is in use after all ({error.strerror}); see 'lsblk {step.disk}'. Stop that use, then run again."
            ) from error
        _update_kernel(host, step.disk)
        until(
            lambda: not kernel_partitions(step.disk),
            lambda: (
                f"The kernel still has partitions of {step.display} ({', '.join(sorted(kernel_partitions(step.disk)))}) "
                "although its table was wiped; something holds them. See 'lsblk', stop it, then run again."
            ),
        )
    host.settle_udev()


def move_backup_table(step: MoveBackupTable, host: Host) -> None:
    """Move the backup GPT to the end of a disk."""
    before = kernel_partitions(step.disk)
    with locked(host, step.disk):
        for argv in step.commands:
            host.run(argv)
        # sgdisk has the kernel read the table again, which an active member prevents and blank partitions do not.
        _update_kernel(host, step.disk)
        until(
            lambda: kernel_partitions(step.disk) == before,
            lambda: f"The kernel lost partitions of {step.display} while its backup table was moved; run again.",
        )
    host.settle_udev()


def tell_kernel(step: TellKernel, host: Host) -> None:
    """Make the kernel's table the one on the disk."""
    with locked(host, step.disk):
        _update_kernel(host, step.disk)
        _await_partitions(step.disk, step.partitions)
    host.settle_udev()
    _await_partitions(step.disk, step.partitions)


def has_superblock(partition_node: str) -> bool:
    """Return whether md's magic stands where superblocks of versions 1.1 and 1.2 are."""
    descriptor = os.open(partition_node, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return any(os.pread(descriptor, len(_MD_MAGIC), offset) == _MD_MAGIC for offset in _SUPERBLOCK_OFFSETS)
    finally:
        os.close(descriptor)


def release(step: ReleaseDisk, host: Host) -> None:
    """Take the superblocks off partitions that are no members any more."""
    with locked(host, step.disk):
        for argv in step.commands:
            host.run(argv)
    left = [node for node in step.partitions if has_superblock(node)]
    if left:
        raise StepFailed(f"{', '.join(left)} still has a superblock of the pool after mdadm removed it; run again.")
