# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Steps on LVM, file systems and mounts."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._converge.plan import Argv
from ..model import Array, Group, Mount, PhysicalVolume, Pool, Volume
from ..size import human
from .disks import PoolStep


def _physical_volume(pool: Pool, name: str, pe_start: int, extent_size: int) -> PhysicalVolume:
    array: Array = pool.array_named(name)
    empty = PhysicalVolume(array=name, node=array.node, pe_start=pe_start, extents=0)
    return replace(empty, extents=empty.extents_of(array.size_now, extent_size))


def _with_group(pool: Pool, change: t.Callable[[Group], Group]) -> Pool:
    return pool if pool.group is None else replace(pool, group=change(pool.group))


def with_volume(pool: Pool, name: str, change: t.Callable[[Volume], Volume]) -> Pool:
    """Return ``pool`` with the volume ``name`` changed."""
    return replace(pool, volumes=tuple(change(volume) if volume.name == name else volume for volume in pool.volumes))


@dataclass(frozen=True)
class CreateGroup(PoolStep):
    """Make the volume group over the first arrays."""

    group: str
    arrays: tuple[str, ...]
    nodes: tuple[str, ...]
    pe_start: int
    extent_size: int
    reason: str

    @property
    def title(self) -> str:
        return f"Create volume group {self.group} on {', '.join(self.arrays)}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (
            (
                "vgcreate",
                "--yes",
                "--dataalignment",
                f"{self.pe_start}b",
                "--physicalextentsize",
                f"{self.extent_size}b",
                self.group,
                *self.nodes,
            ),
        )

    def after(self, pool: Pool) -> Pool:
        volumes = tuple(_physical_volume(pool, name, self.pe_start, self.extent_size) for name in self.arrays)
        return replace(pool, group=Group(self.group, self.extent_size, volumes))


@dataclass(frozen=True)
class ExtendGroup(PoolStep):
    """Add arrays to the volume group."""

    group: str
    arrays: tuple[str, ...]
    nodes: tuple[str, ...]
    pe_start: int
    reason: str

    @property
    def title(self) -> str:
        return f"Extend volume group {self.group} by {', '.join(self.arrays)}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("vgextend", "--yes", "--dataalignment", f"{self.pe_start}b", self.group, *self.nodes),)

    def after(self, pool: Pool) -> Pool:
        def extended(group: Group) -> Group:
            new = tuple(_physical_volume(pool, name, self.pe_start, group.extent_size) for name in self.arrays)
            return replace(group, volumes=group.volumes + new)

        return _with_group(pool, extended)


@dataclass(frozen=True)
class ResizePhysicalVolume(PoolStep):
    """Let LVM use the whole of an array that grew."""

    array: str
    node: str
    reason: str

    @property
    def title(self) -> str:
        return f"Resize the physical volume on {self.array}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("pvresize", self.node),)

    def after(self, pool: Pool) -> Pool:
        size = pool.array_named(self.array).size_now

        def resized(group: Group) -> Group:
            volumes = tuple(
                replace(volume, extents=volume.extents_of(size, group.extent_size))
                if volume.array == self.array
                else volume
                for volume in group.volumes
            )
            return replace(group, volumes=volumes)

        return _with_group(pool, resized)


@dataclass(frozen=True)
class CreateVolume(PoolStep):
    """Make a logical volume."""

    group: str
    volume: str
    extents: int
    extent_size: int
    reason: str

    @property
    def title(self) -> str:
        return f"Create volume {self.volume} of {human(self.extents * self.extent_size)}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (
            (
                "lvcreate",
                "--yes",
                "--wipesignatures",
                "y",
                "--name",
                self.volume,
                "--extents",
                str(self.extents),
                self.group,
            ),
        )

    def after(self, pool: Pool) -> Pool:
        return replace(pool, volumes=(*pool.volumes, Volume(self.volume, self.extents)))


@dataclass(frozen=True)
class ExtendVolume(PoolStep):
    """Grow a logical volume."""

    group: str
    volume: str
    extents: int
    extent_size: int
    reason: str

    @property
    def title(self) -> str:
        return f"Extend volume {self.volume} to {human(self.extents * self.extent_size)}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("lvextend", "--extents", str(self.extents), f"{self.group}/{self.volume}"),)

    def after(self, pool: Pool) -> Pool:
        return with_volume(pool, self.volume, lambda volume: replace(volume, extents=self.extents))


@dataclass(frozen=True)
class ActivateVolumes(PoolStep):
    """Make the devices of volumes that the boot left inactive, as when their arrays came late."""

    group: str
    volumes: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Activate {', '.join(self.volumes)} of volume group {self.group}"

    @property
    def reveals(self) -> bool:
        return True  # the file systems on them

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("lvchange", "--activate", "y", *(f"{self.group}/{volume}" for volume in self.volumes)),)

    def after(self, pool: Pool) -> Pool:
        for name in self.volumes:
            pool = with_volume(pool, name, lambda volume: replace(volume, active=True))
        return pool


@dataclass(frozen=True)
class MakeFilesystem(PoolStep):
    """Make a file system on a blank volume."""

    volume: str
    device: str
    filesystem: str
    size: int
    reason: str

    @property
    def title(self) -> str:
        return f"Make an {self.filesystem} file system on {self.volume}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        quiet = "-q"
        return ((f"mkfs.{self.filesystem}", quiet, self.device),)

    def after(self, pool: Pool) -> Pool:
        return with_volume(
            pool, self.volume, lambda volume: replace(volume, filesystem=self.filesystem, filesystem_size=self.size)
        )


@dataclass(frozen=True)
class GrowFilesystem(PoolStep):
    """Grow a file system to the end of its volume, online; an unmounted one is mounted for that moment."""

    volume: str
    device: str
    filesystem: str
    size: int
    mounted_on: str  #: "" when it has to be mounted for the purpose
    reason: str

    @property
    def title(self) -> str:
        return f"Grow the {self.filesystem} file system on {self.volume} to {human(self.size)}"

    @property
    def private_mount_point(self) -> str:
        """Where a file system that is not mounted is mounted for the purpose."""
        return f"/run/baremetal.fabric/{self.device.replace('/', '_').lstrip('_')}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        tool = "xfs_growfs -d" if self.filesystem == "xfs" else "resize2fs"
        if self.mounted_on:
            return ((*tool.split(), self.mounted_on if self.filesystem == "xfs" else self.device),)
        # In a mount namespace of its own: nobody sees it, and it is gone with its last process, however that ends.
        script = f'mount -t "$1" "$2" "$3" && {tool} "{"$3" if self.filesystem == "xfs" else "$2"}"'
        return (
            (
                "unshare",
                "--mount",
                "sh",
                "-c",
                script,
                "grow",
                self.filesystem,
                self.device,
                self.private_mount_point,
            ),
        )

    def after(self, pool: Pool) -> Pool:
        return with_volume(pool, self.volume, lambda volume: replace(volume, filesystem_size=self.size))


@dataclass(frozen=True)
class RecordMount(PoolStep):
    """Write a volume's line into fstab."""

    mount: Mount
    reason: str

    @property
    def title(self) -> str:
        return f"Record {self.mount.mount_point} in fstab"

    def after(self, pool: Pool) -> Pool:
        others = tuple(mount for mount in pool.mounts if mount.device != self.mount.device)
        return replace(pool, mounts=(*others, self.mount))


@dataclass(frozen=True)
class MountVolume(PoolStep):
    """Mount a volume where fstab says."""

    volume: str
    device: str
    mount_point: str
    reason: str

    @property
    def title(self) -> str:
        return f"Mount {self.volume} on {self.mount_point}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("mount", self.mount_point),)

    def after(self, pool: Pool) -> Pool:
        return with_volume(
            pool, self.volume, lambda volume: replace(volume, mounted_on=(*volume.mounted_on, self.mount_point))
        )
