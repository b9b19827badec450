# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Steps on disks: wipe, partition, tell the kernel."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._converge.plan import Argv, Step
from ..model import LINUX_RAID, Disk, Partition, Pool
from ..size import human


class PoolStep(Step):
    """A step whose effect on a pool is known."""

    def after(self, pool: Pool) -> Pool:
        """Return the pool as it is once the step is done. Pure."""
        raise NotImplementedError


def with_disk(pool: Pool, node: str, change: t.Callable[[Disk], Disk]) -> Pool:
    """Return ``pool`` with the disk ``node`` changed."""
    return replace(pool, disks=tuple(change(disk) if disk.node == node else disk for disk in pool.disks))


def update_kernel(disk: str, number: int) -> Argv:
    """Return the command that makes the kernel's idea of one partition the table's.

    One by one, for partx removes and adds again even those that are right; of that udev hears late, takes the
    device for pulled out, and fails it in the array that it has joined meanwhile.
    """
    return ("partx", "--update", "--nr", str(number), disk)


@dataclass(frozen=True)
class WipeDisk(PoolStep):
    """Remove everything that marks a disk as somebody else's. Only for disks named in ``wipe``."""

    disk: str
    display: str
    partitions: tuple[str, ...]
    arrays: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Wipe {self.display}"

    @property
    def destructive(self) -> bool:
        return True

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (
            *(("mdadm", "--stop", array) for array in self.arrays),
            ("wipefs", "--all", "--force", *self.partitions, self.disk),
            ("sgdisk", "--zap-all", self.disk),
            ("partx", "--update", self.disk),
        )

    def after(self, pool: Pool) -> Pool:
        def blank(disk: Disk) -> Disk:
            return replace(disk, has_gpt=False, gpt_end=0, partitions=(), foreign=(), in_use=(), foreign_arrays=())

        return with_disk(pool, self.disk, blank)


@dataclass(frozen=True)
class MoveBackupTable(PoolStep):
    """Move the backup GPT to the end of a disk that grew."""

    disk: str
    display: str
    reason: str

    @property
    def title(self) -> str:
        return f"Move the backup partition table to the end of {self.display}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("sgdisk", "--move-second-header", self.disk),)

    def after(self, pool: Pool) -> Pool:
        return with_disk(pool, self.disk, lambda disk: replace(disk, gpt_end=disk.usable_end))


@dataclass(frozen=True)
class TellKernel(PoolStep):
    """Make the kernel's partition table the one on the disk."""

    disk: str
    display: str
    partitions: tuple[Partition, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Tell the kernel about the partitions of {self.display}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return tuple(update_kernel(self.disk, part.number) for part in self.partitions if not part.in_kernel)

    def after(self, pool: Pool) -> Pool:
        def seen(disk: Disk) -> Disk:
            return replace(disk, partitions=tuple(replace(part, in_kernel=True) for part in disk.partitions))

        return with_disk(pool, self.disk, seen)


@dataclass(frozen=True)
class PartitionDisk(PoolStep):
    """Cut slices from the free room of a disk; give it a GPT first where it has none.

    What stands at the start and the end of each slice is overwritten with zeros before the kernel sees the
    partition, so that no left-over signature comes to life.
    """

    disk: str
    display: str
    sector: int
    fresh: bool  #: write a new GPT
    slices: tuple[Partition, ...]
    purpose: str
    reason: str

    def joined(self, later: PartitionDisk) -> PartitionDisk:
        """Return the step that cuts what ``later`` does, too."""
        reason = self.reason if later.purpose in self.reason else f"{self.reason} and {later.purpose}"
        return replace(self, slices=self.slices + later.slices, reason=reason)

    @property
    def title(self) -> str:
        cut = ", ".join(f"{part.label} ({human(part.size)})" for part in self.slices)
        return f"Partition {self.display}: {cut}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        argv: list[str] = ["sgdisk", "--set-alignment=1"]
        if self.fresh:
            argv.append("--clear")
        for part in self.slices:
            first = part.start // self.sector
            last = part.end // self.sector - 1
            argv += [
                f"--new={part.number}:{first}:{last}",
                f"--typecode={part.number}:{LINUX_RAID}",
                f"--change-name={part.number}:{part.label}",
            ]
        return ((*argv, self.disk), *(update_kernel(self.disk, part.number) for part in self.slices))

    def after(self, pool: Pool) -> Pool:
        def cut(disk: Disk) -> Disk:
            return replace(
                disk,
                has_gpt=True,
                gpt_end=disk.usable_end if self.fresh else disk.gpt_end,
                partitions=(() if self.fresh else disk.partitions) + self.slices,
            )

        return with_disk(pool, self.disk, cut)


@dataclass(frozen=True)
class ReleaseDisk(PoolStep):
    """Take the pool's superblocks off a disk that was replaced, so that it never comes back as a member."""

    disk: str
    display: str
    partitions: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Release {self.display} from the pool"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("mdadm", "--zero-superblock", *self.partitions),)

    def after(self, pool: Pool) -> Pool:
        def released(disk: Disk) -> Disk:
            parts = tuple(
                replace(part, superblock=None) if part.node in self.partitions else part for part in disk.partitions
            )
            return replace(disk, partitions=parts)

        arrays = tuple(
            replace(array, strays=tuple(node for node in array.strays if node not in self.partitions))
            for array in pool.arrays
        )
        return replace(with_disk(pool, self.disk, released), arrays=arrays)


@dataclass(frozen=True)
class ClearSpare(ReleaseDisk):
    """Take superblocks off a disk which say that it was to be a member, and that it held no data yet."""

    @property
    def title(self) -> str:
        return f"Clear the superblock of {', '.join(self.partitions)}, which holds no data"
