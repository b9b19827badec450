# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What a storage pool is: disks cut into slices, one md array per slice, one volume group over the arrays.

Everything here is a frozen value. Sizes and offsets are in bytes unless the name says otherwise. A *node* is
a kernel device path such as /dev/vda; a *path* is what the user declared, such as /dev/disk/by-id/NAME.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

#: Partitions start on this boundary: the usual one of fdisk and parted, a multiple of every block size.
ALIGNMENT = MIB
#: GPT partition type "Linux RAID" (sgdisk's fd00).
LINUX_RAID = "a19d880f-05fc-4d3b-a006-743f0f84911e"
#: md stores "any:NAME" in 32 bytes, and NAME is POOL-N.
LONGEST_POOL_NAME = 22


@dataclass(frozen=True)
class Superblock:
    """An md version 1.x superblock as found on a device (include/uapi/linux/raid/md_p.h)."""

    array_uuid: str  #: 32 hexadecimal digits in four groups with colons, as mdadm prints it
    device_uuid: str
    name: str  #: without the home host: "data-0"
    home_host: str  #: "any", a host name, or ""
    level: int
    devices: int
    events: int
    role: int | None  #: slot number; None for a spare, a journal or a failed member
    faulty: bool  #: role 0xfffe: the array has thrown this member out
    data_offset: int
    component_size: int
    chunk: int
    has_bitmap: bool
    has_bad_blocks: bool  #: the bad block log holds entries
    reshaping: bool


@dataclass(frozen=True)
class Partition:
    """A partition as the GPT on the disk tells it; the kernel's own view stands beside it."""

    number: int
    start: int
    size: int
    label: str
    type_guid: str
    node: str  #: /dev/vda1, also when the kernel does not know it yet
    in_kernel: bool = True  #: the kernel's table has it with the same start and size
    superblock: Superblock | None = None
    #: Signatures other than the superblock above, as sentences ("ext4 file system 'home'").
    signatures: tuple[str, ...] = ()

    @property
    def end(self) -> int:
        """First byte after the partition."""
        return self.start + self.size


@dataclass(frozen=True)
class Disk:
    """A whole disk that is declared, or that holds a member of the pool."""

    node: str
    size: int
    path: str = ""  #: as declared; "" for a disk that is not declared
    sector: int = 512  #: logical sector size
    serial: str = ""
    wwn: str = ""
    model: str = ""
    read_only: bool = False
    has_gpt: bool = False
    #: Last byte that the GPT at hand allows partitions to use, plus one. Smaller than :attr:`usable_end` after
    #: the disk grew, until the backup header is moved.
    gpt_end: int = 0
    partitions: tuple[Partition, ...] = ()
    #: Sentences, one for each thing that belongs to somebody else: a signature, a foreign partition, a mount...
    foreign: tuple[str, ...] = ()
    #: The part of `foreign` that `wipe` cannot overrule, because it is in use at this moment.
    in_use: tuple[str, ...] = ()
    #: Nodes of idle md arrays of somebody else that the kernel has assembled from the disk.
    foreign_arrays: tuple[str, ...] = ()

    @property
    def declared(self) -> bool:
        """Whether the user listed the disk."""
        return bool(self.path)

    @property
    def display(self) -> str:
        """How messages name the disk."""
        return self.path or self.node

    @property
    def usable_end(self) -> int:
        """First byte after the last that a partition may use: the backup GPT stands behind (UEFI 2.10, 5.3)."""
        entries = 128 * 128
        return self.size - (entries + self.sector - 1) // self.sector * self.sector - self.sector

    def partition_node(self, number: int) -> str:
        """Return the node of partition ``number``: the kernel puts a p behind a disk name that ends in a digit."""
        return "{}{}{}".format(self.node, "p" if self.node[-1].isdigit() else "", number)


@dataclass(frozen=True)
class Member:
    """One device of an array as the running kernel sees it (/sys/block/mdX/md/dev-*)."""

    node: str  #: partition node; "" when the device is gone
    disk: str  #: node of the disk; "" when it is gone
    slot: int | None  #: None for a spare or a faulty member
    in_sync: bool = True
    faulty: bool = False
    replacement: bool = False
    want_replacement: bool = False

    @property
    def spare(self) -> bool:
        """Whether the member waits without a slot."""
        return self.slot is None and not self.faulty


@dataclass(frozen=True)
class Activity:
    """What md does in an array right now (sync_action, sync_completed, sync_speed; md(4))."""

    action: str  #: resync, recover, reshape, check or repair
    done: int = 0  #: bytes per member
    total: int = 0  #: bytes per member; 0 when the kernel does not tell (PENDING, DELAYED)
    speed: int = 0  #: bytes per second and member
    #: The kernel waits with it: another array on the same disks is at work, or the array is read-only.
    delayed: bool = False

    @property
    def percent(self) -> float | None:
        """How far it is; None when unknown."""
        return 100.0 * self.done / self.total if self.total else None

    @property
    def seconds_left(self) -> float | None:
        """An estimate from the current speed; None when unknown."""
        return (self.total - self.done) / self.speed if self.total and self.speed else None


@dataclass(frozen=True)
class Array:
    """One slice across disks: an md array of the pool, running or not."""

    index: int  #: N of POOL-N
    name: str  #: POOL-N
    node: str  #: /dev/md127, or the /dev/md/POOL-N that it will have
    uuid: str
    level: int  #: 1, 5 or 6
    devices: int  #: raid_disks wanted; during a reshape the new number
    chunk: int
    component_size: int  #: bytes used of each member
    slice_size: int  #: bytes of the smallest partition of a member
    members: tuple[Member, ...]
    previous_devices: int = 0  #: during a reshape the old number of devices; else 0
    active: bool = True  #: False: assembled but not started, or not assembled at all
    assembled: bool = True  #: False: only superblocks tell of it
    scattered: bool = False  #: assembled, but of some of its members only, and the others are there
    auto_read_only: bool = False
    bitmap: bool = True
    activity: Activity | None = None
    #: A reshape has begun and sync_action does not show it (reshape_position is set, the array idle).
    hidden_reshape: bool = False
    #: The reshape of an array that is not started was recorded, and cut off before md had moved anything.
    reshape_unbegun: bool = False
    #: Writes to a range are held back and nobody works on it (suspend_lo, suspend_hi).
    suspended: bool = False
    #: sync_action is "frozen": an mdadm that prepared a change died before it began, and md starts no rebuild.
    frozen: bool = False
    data_offset: int = 0  #: bytes before the data on each member, the largest among them
    size_now: int = 0  #: bytes that the block device has at this moment; 0 when it is not running
    #: Partitions with a superblock of this array that are not among `members`: they were members once.
    strays: tuple[str, ...] = ()
    #: Names of the device-mapper volumes that stand on it, and of those among them that let nothing through.
    mapped: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    kept: bool = False  #: a file keeps the beginning that it, or another array of its name, had before a reshape
    #: It is not started, and its beginning has to come from that file.
    restorable: bool = False
    #: What sync_speed_min and sync_speed_max are set to, KiB/s; "system" where they follow the host's.
    speed_limits: tuple[str, str] = ("system", "system")

    @property
    def redundancy(self) -> int:
        """How many members the array can lose when it is whole."""
        return redundancy_of(self.level, self.devices)

    @property
    def reshaping(self) -> bool:
        """Whether a reshape has begun and not ended."""
        return self.hidden_reshape or (self.activity is not None and self.activity.action == "reshape")

    @property
    def missing(self) -> int:
        """How many slots have no member in sync."""
        synced = {
            member.slot for member in self.members if member.slot is not None and member.in_sync and not member.faulty
        }
        return max(0, self.devices - len(synced))

    @property
    def whole(self) -> bool:
        """Whether every slot has a member in sync."""
        return self.active and self.missing == 0

    @property
    def settled(self) -> bool:
        """Whether md has nothing under way in the array."""
        at_work = self.activity is not None or self.hidden_reshape
        return self.active and not (at_work or self.suspended or self.frozen)

    @property
    def size(self) -> int:
        """Bytes that the array offers in the shape it has, or is being given."""
        return capacity_of(self.level, self.devices, self.component_size)

    @property
    def needed_size(self) -> int:
        """Bytes that a partition must have at least to become a member."""
        return self.data_offset + self.component_size


def redundancy_of(level: int, devices: int) -> int:
    """Return how many of ``devices`` an array of ``level`` can lose."""
    if level == 1:
        return devices - 1
    return {5: 1, 6: 2}[level]


def capacity_of(level: int, devices: int, component_size: int) -> int:
    """Return the bytes that an array of ``devices`` members with ``component_size`` bytes each offers."""
    return component_size if level == 1 else component_size * (devices - redundancy_of(level, devices))


@dataclass(frozen=True)
class PhysicalVolume:
    """An array as LVM sees it."""

    array: str  #: name of the array
    node: str
    pe_start: int
    extents: int

    def extents_of(self, device_size: int, extent_size: int) -> int:
        """Return how many extents fit on a device of ``device_size`` bytes."""
        return max(0, device_size - self.pe_start) // extent_size


@dataclass(frozen=True)
class Volume:
    """A logical volume with its file system, sizes observed apart."""

    name: str
    extents: int
    #: ext4, xfs, another type's name, "unknown" for data without a signature, or "" when blank.
    filesystem: str = ""
    filesystem_size: int = 0  #: bytes; 0 without a file system
    mounted_on: tuple[str, ...] = ()
    active: bool = True  #: the device node exists


@dataclass(frozen=True)
class Group:
    """The volume group of the pool."""

    name: str
    extent_size: int
    volumes: tuple[PhysicalVolume, ...] = ()  #: physical volumes on arrays of the pool
    foreign: tuple[str, ...] = ()  #: physical volumes that are not arrays of the pool
    missing: int = 0  #: physical volumes that LVM cannot find

    @property
    def extents(self) -> int:
        """All extents."""
        return sum(volume.extents for volume in self.volumes)

    @property
    def size(self) -> int:
        """Bytes of all extents."""
        return self.extents * self.extent_size


@dataclass(frozen=True)
class Mount:
    """A line of fstab for one of the pool's volumes."""

    device: str
    mount_point: str
    filesystem: str
    options: str


@dataclass(frozen=True)
class Refuge:
    """The place where the beginning of an array is kept while md moves it."""

    free: int = 1 << 62  #: bytes
    array: str = ""  #: name of the array of the pool that it is on; "" when it is on none


@dataclass(frozen=True)
class Pool:
    """The whole state: what a host has of one pool, and of the disks declared for it."""

    name: str
    disks: tuple[Disk, ...] = ()
    absent: tuple[str, ...] = ()  #: declared paths that lead to no device
    #: Every path that the user named, in `disks` or `replace`, and the node of the disk that it leads to.
    resolved: tuple[tuple[str, str], ...] = ()
    arrays: tuple[Array, ...] = ()  #: in the order of their index
    group: Group | None = None
    volumes: tuple[Volume, ...] = ()
    mounts: tuple[Mount, ...] = ()
    #: Lines of fstab that use a wanted mount point for something else: mount point to device.
    taken_mount_points: tuple[tuple[str, str], ...] = ()
    #: ARRAY lines of mdadm.conf that concern the pool, as (device, UUID): by its name or by an array's UUID.
    recorded: tuple[tuple[str, str], ...] = ()
    initramfs_stale: bool = False  #: an initramfs on the host holds an older mdadm.conf
    has_initramfs: bool = True  #: the host has initramfs-tools at all
    #: Two declared paths that lead to one disk, as (path, path).
    twins: tuple[tuple[str, str], ...] = ()
    refuge: Refuge = Refuge()

    def disk(self, node: str) -> Disk | None:
        """Return the disk with this node."""
        return next((disk for disk in self.disks if disk.node == node), None)

    def node_of(self, path: str) -> str:
        """Return the node that a declared path leads to, or ""."""
        return dict(self.resolved).get(path, "")

    def array(self, name: str) -> Array | None:
        """Return the array with this name."""
        return next((array for array in self.arrays if array.name == name), None)

    def array_named(self, name: str) -> Array:
        """Return the array with this name, or raise KeyError."""
        array = self.array(name)
        if array is None:
            raise KeyError(name)
        return array


_LABEL = re.compile(r"(?P<pool>.+)-(?P<index>0|[1-9][0-9]*)")


def slice_name(pool: str, index: int) -> str:
    """Return the name of slice and array ``index``: partition label, md name and /dev/md entry."""
    return f"{pool}-{index}"


def slice_index(pool: str, label: str) -> int | None:
    """Return N when ``label`` is POOL-N, else None."""
    match = _LABEL.fullmatch(label)
    if match is None or match.group("pool") != pool:
        return None
    return int(match.group("index"))


@dataclass(frozen=True)
class Size:
    """A wanted volume size: ``bytes``, or ``percent`` of the pool, or all that is ``free``."""

    bytes: int = 0
    percent: int = 0
    free: bool = False


@dataclass(frozen=True)
class WantedVolume:
    """A volume as declared."""

    name: str
    size: Size
    filesystem: str = ""  #: ext4, xfs or "" for none
    mount_point: str = ""
    nofail: bool = True


@dataclass(frozen=True)
class Replacement:
    """A declared hot replacement: both are paths."""

    old: str
    new: str


@dataclass(frozen=True)
class Wanted:
    """A pool as declared."""

    name: str
    disks: tuple[str, ...]
    redundancy: int = 1
    volumes: tuple[WantedVolume, ...] = ()
    chunk: int = 512 * KIB
    bitmap: bool = True
    replace: tuple[Replacement, ...] = ()
    wipe: frozenset[str] = field(default_factory=frozenset)  #: serials and WWNs
    smallest_slice: int = 0  #: bytes; 0 lets the planner choose
    most_members: int = 16
    extent_size: int = 4 * MIB
