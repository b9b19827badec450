# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What the kernel tells of disks and md arrays in sysfs (Documentation/admin-guide/md.rst, sysfs-block)."""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass

from ..model import KIB, Activity, Member
from .host import Host

_SECTOR = 512  # of every number of sectors in sysfs, whatever the device's own sectors are

_LEVELS = {"raid0": 0, "raid1": 1, "raid4": 4, "raid5": 5, "raid6": 6, "raid10": 10, "linear": -1}
#: Values of array_state in which the array has no data to offer.
_NOT_STARTED = frozenset(("", "clear", "inactive"))
_ACTIONS = frozenset(("resync", "recover", "reshape", "check", "repair"))


@dataclass(frozen=True)
class KernelPartition:
    """A partition as the kernel knows it. Bytes."""

    name: str  #: vda1
    number: int
    start: int
    size: int
    label: str  #: PARTNAME of its uevent
    holders: tuple[str, ...]  #: kernel names


@dataclass(frozen=True)
class KernelDisk:
    """A block device that is no partition. Bytes."""

    name: str  #: vda
    node: str  #: /dev/vda
    size: int
    sector: int
    read_only: bool
    holders: tuple[str, ...]
    partitions: tuple[KernelPartition, ...]
    serial: str
    wwn: str
    model: str


@dataclass(frozen=True)
class KernelMember:
    """A device bound to an array (md/dev-NAME)."""

    name: str  #: vda1
    member: Member
    data_offset: int  #: bytes
    recovered: int | None  #: bytes that are known to be in sync; None when all are


@dataclass(frozen=True)
class KernelArray:
    """An md array that the kernel has assembled, started or not. Bytes."""

    name: str  #: md127
    node: str  #: /dev/md127
    state: str
    uuid: str  #: "" where the kernel does not tell
    level: int | None  #: None when it has not been started
    devices: int
    previous_devices: int
    chunk: int
    component_size: int
    degraded: int
    bitmap: bool
    policy: str  #: consistency_policy: bitmap, resync, ppl, journal
    action: str  #: the word in sync_action
    activity: Activity | None
    hidden_reshape: bool
    suspended: bool  #: a range is suspended, whether or not somebody works on it
    size: int
    read_only: bool
    holders: tuple[str, ...]
    members: tuple[KernelMember, ...]
    speed_limits: tuple[str, str] = ("system", "system")  #: sync_speed_min and sync_speed_max

    @property
    def started(self) -> bool:
        """Whether the array has data to offer."""
        return self.state not in _NOT_STARTED

    @property
    def reshaping(self) -> bool:
        """Whether a reshape has begun and not ended."""
        return self.hidden_reshape or self.action == "reshape" or bool(self.previous_devices)


def kernel_name(name: str) -> str:
    """Return the name below /dev of a name in sysfs, where '!' stands for '/'."""
    return name.replace("!", "/")


def sysfs_name(node: str) -> str:
    """Return the name in sysfs of a node below /dev."""
    return node[len("/dev/") :].replace("/", "!") if node.startswith("/dev/") else ""


def first_number(text: str) -> int:
    """Return the first of the numbers in "4", "4 (3)"; 0 without one."""
    word = text.split(" ", 1)[0]
    return int(word) if word.isdigit() else 0


def second_number(text: str) -> int:
    """Return the number in brackets of "4 (3)", the value before the reshape; 0 without one."""
    _now, bracket, rest = text.partition("(")
    word = rest.partition(")")[0]
    return int(word) if bracket and word.isdigit() else 0


def whole_disk(host: Host, name: str) -> str:
    """Return the name of the disk that the partition ``name`` is on; ``name`` itself when it is no partition."""
    if not name or not host.exists(f"/sys/class/block/{name}/partition"):
        return name
    return os.path.basename(os.path.dirname(host.resolve(f"/sys/class/block/{name}")))


def _udev_properties(host: Host, number: str) -> dict[str, str]:
    properties = {}
    for line in host.text(f"/run/udev/data/b{number}").splitlines():
        if line.startswith("E:"):
            key, _equals, value = line[2:].partition("=")
            properties[key] = value
    return properties


def _identity(host: Host, directory: str) -> tuple[str, str, str]:
    """Return serial, WWN and model as lsblk prints them: from udev's database, else from sysfs."""
    known = _udev_properties(host, host.text(f"{directory}/dev"))
    serial = known.get("ID_SCSI_SERIAL") or known.get("ID_SERIAL_SHORT") or known.get("ID_SERIAL") or ""
    wwn = known.get("ID_WWN_WITH_EXTENSION") or known.get("ID_WWN") or ""
    model = known.get("ID_MODEL", "").replace("_", " ").strip()
    if not serial:
        serial = host.text(f"{directory}/serial") or host.text(f"{directory}/device/serial")
    if not wwn:
        wwn = host.text(f"{directory}/wwid") or host.text(f"{directory}/device/wwid")
        if wwn.startswith("naa."):
            wwn = "0x" + wwn[len("naa.") :]
    return serial, wwn, model or host.text(f"{directory}/device/model")


def _label(host: Host, directory: str) -> str:
    for line in host.text(f"{directory}/uevent").splitlines():
        if line.startswith("PARTNAME="):
            return line[len("PARTNAME=") :]
    return ""


def _partition(host: Host, directory: str, name: str) -> KernelPartition:
    return KernelPartition(
        name=name,
        number=host.number(f"{directory}/partition"),
        start=host.number(f"{directory}/start") * _SECTOR,
        size=host.number(f"{directory}/size") * _SECTOR,
        label=_label(host, directory),
        holders=tuple(host.names(f"{directory}/holders")),
    )


def partition_labels(host: Host, disk: str) -> tuple[str, ...]:
    """Return the labels of the partitions that the kernel has on the disk ``disk`` (a name in sysfs)."""
    directory = f"/sys/block/{disk}"
    return tuple(_label(host, f"{directory}/{name}") for name in host.names(directory) if name.startswith(disk))


def read_disk(host: Host, name: str) -> KernelDisk:
    """Return the block device ``name`` (as in /sys/block) with its partitions."""
    directory = f"/sys/block/{name}"
    partitions = []
    for entry in host.names(directory):
        if entry.startswith(name) and host.exists(f"{directory}/{entry}/partition"):
            partitions.append(_partition(host, f"{directory}/{entry}", entry))
    serial, wwn, model = _identity(host, directory)
    return KernelDisk(
        name=name,
        node="/dev/" + kernel_name(name),
        size=host.number(f"{directory}/size") * _SECTOR,
        sector=host.number(f"{directory}/queue/logical_block_size", 512),
        read_only=host.text(f"{directory}/ro") == "1",
        holders=tuple(host.names(f"{directory}/holders")),
        partitions=tuple(sorted(partitions, key=lambda partition: partition.number)),
        serial=serial,
        wwn=wwn,
        model=model,
    )


def _member(host: Host, array: str, entry: str) -> KernelMember:
    directory = f"/sys/block/{array}/md/{entry}"
    name = entry[len("dev-") :]
    states = host.text(f"{directory}/state").split(",")
    slot = host.text(f"{directory}/slot")
    recovered = host.text(f"{directory}/recovery_start")
    # A disk that was pulled leaves its entry behind, and the next disk in the same place gets the same name.
    # Only the device that is really bound has the array among its holders.
    there = host.exists(f"/sys/class/block/{name}/holders/{array}")
    disk = whole_disk(host, name) if there else ""
    return KernelMember(
        name=name,
        member=Member(
            node="/dev/" + kernel_name(name) if there else "",
            disk="/dev/" + kernel_name(disk) if disk else "",
            slot=int(slot) if slot.isdigit() else None,
            in_sync="in_sync" in states,
            faulty="faulty" in states,
            replacement="replacement" in states,
            want_replacement="want_replacement" in states,
        ),
        data_offset=host.number(f"{directory}/offset") * _SECTOR,
        recovered=int(recovered) * _SECTOR if recovered.isdigit() else None,
    )


def _activity(
    action: str, completed: str, speed: int, state: str, resync_start: str, members: t.Sequence[KernelMember]
) -> Activity | None:
    """Return what md does or is about to do.

    sync_action is "idle" in an array that nobody has written to since it was started, although a resync or a
    rebuild waits for the first write (mdstat: PENDING). resync_start and recovery_start tell of those.
    """
    if action in _ACTIONS:
        done, slash, total = completed.partition("/")
        if not slash:
            return Activity(action, speed=0, delayed=completed == "delayed")
        return Activity(action, done=int(done) * _SECTOR, total=int(total) * _SECTOR, speed=speed * KIB)
    if state not in ("read-auto", "readonly"):
        return None
    if resync_start.isdigit():
        return Activity("resync", delayed=True)
    rebuilding = [
        each for each in members if each.member.slot is not None and not (each.member.in_sync or each.member.faulty)
    ]
    if rebuilding:
        return Activity("recover", done=min(each.recovered or 0 for each in rebuilding), delayed=True)
    return None


def _local(limit: str) -> str:
    """Return the number in "1000 (local)"; "system" for "1000 (system)", and where there is nothing."""
    number, _space, whose = limit.partition(" ")
    return number if whose == "(local)" else "system"


def read_array(host: Host, name: str) -> KernelArray:
    """Return the md array ``name`` (as in /sys/block)."""
    block = f"/sys/block/{name}"
    md = f"{block}/md"
    state = host.text(f"{md}/array_state")
    members = tuple(_member(host, name, entry) for entry in host.names(md) if entry.startswith("dev-"))
    raid_disks = host.text(f"{md}/raid_disks")
    action = host.text(f"{md}/sync_action")
    activity = _activity(
        action,
        host.text(f"{md}/sync_completed"),
        host.number(f"{md}/sync_speed"),
        state,
        host.text(f"{md}/resync_start"),
        members,
    )
    reshape_at = host.text(f"{md}/reshape_position")
    policy = host.text(f"{md}/consistency_policy")
    component = host.text(f"{md}/component_size")
    low, high = host.number(f"{md}/suspend_lo"), host.number(f"{md}/suspend_hi")
    return KernelArray(
        name=name,
        node="/dev/" + kernel_name(name),
        state=state,
        uuid=host.text(f"{md}/uuid"),
        level=_LEVELS.get(host.text(f"{md}/level")),
        devices=first_number(raid_disks),
        previous_devices=second_number(raid_disks),
        chunk=first_number(host.text(f"{md}/chunk_size")),
        component_size=first_number(component) * KIB,
        degraded=host.number(f"{md}/degraded"),
        bitmap=policy == "bitmap" or host.text(f"{md}/bitmap/location") not in ("", "none"),
        policy=policy,
        action=action,
        activity=activity,
        hidden_reshape=reshape_at.isdigit() and action != "reshape",
        suspended=high > low,
        size=host.number(f"{block}/size") * _SECTOR,
        read_only=state in ("read-auto", "readonly"),
        holders=tuple(host.names(f"{block}/holders")),
        speed_limits=(_local(host.text(f"{md}/sync_speed_min")), _local(host.text(f"{md}/sync_speed_max"))),
        members=tuple(sorted(members, key=lambda each: (each.member.slot is None, each.member.slot or 0, each.name))),
    )


def array_names(host: Host) -> tuple[str, ...]:
    """Return the names of all md arrays that the kernel has assembled."""
    return tuple(name for name in host.names("/sys/block") if host.exists(f"/sys/block/{name}/md/array_state"))


def standing_arrays(host: Host) -> tuple[tuple[str, bool, tuple[str, ...]], ...]:
    """Return what changes when arrays come, start, stop or go: names, whether they are started, and their members."""
    return tuple(
        (
            name,
            host.text(f"/sys/block/{name}/md/array_state") not in _NOT_STARTED,
            tuple(sorted(each for each in host.names(f"/sys/block/{name}/md") if each.startswith("dev-"))),
        )
        for name in array_names(host)
    )


def reshape_has_a_helper(host: Host, array: KernelArray) -> bool:
    """Whether an mdadm process works on ``array``, as on a reshape that needs help.

    Where a reshape has no room to move the data aside, mdadm copies each critical range to a backup: it sets
    suspend_lo and suspend_hi, and it has the members open all the time (mdadm's Grow.c, child_monitor). The
    unit mdadm-grow-continue@.service proves nothing, for mdadm runs without it where there is no systemd.
    """
    wanted = {array.node} | {each.member.node for each in array.members if each.member.node}
    for pid in filter(str.isdigit, host.names("/proc")):
        if host.text(f"/proc/{pid}/comm") != "mdadm":
            continue
        for descriptor in host.names(f"/proc/{pid}/fd"):
            try:
                target = os.readlink(host.at(f"/proc/{pid}/fd/{descriptor}"))
            except OSError:
                continue
            if target in wanted or f"/{array.name}/md/" in target:
                return True
    return False


@dataclass(frozen=True)
class Use:
    """A mount, or a device used as swap."""

    number: str  #: "MAJOR:MINOR"
    mount_point: str  #: "" for swap
    kind: str  #: type of the file system; "swap"
    source: str


def _unescape(word: str) -> str:
    """Return a word of /proc with its octal escapes resolved (proc(5))."""
    head, *rest = word.split("\\")
    return head + "".join(
        chr(int(part[:3], 8)) + part[3:] if part[:3].isdigit() and len(part) >= 3 else "\\" + part for part in rest
    )


def parse_mounts(text: str) -> tuple[Use, ...]:
    """Return the mounts that /proc/self/mountinfo lists (proc(5))."""
    found = []
    for line in text.splitlines():
        left, dash, right = line.partition(" - ")
        words, more = left.split(" "), right.split(" ")
        if dash and len(words) > 4 and len(more) > 1:
            found.append(Use(words[2], _unescape(words[4]), more[0], _unescape(more[1])))
    return tuple(found)


def read_uses(host: Host) -> tuple[Use, ...]:
    """Return all mounts and swap devices, as this process sees them."""
    uses = list(parse_mounts(host.text("/proc/self/mountinfo")))
    for line in host.text("/proc/swaps").splitlines()[1:]:
        source = _unescape(line.split(" ", 1)[0].split("\t", 1)[0])
        number = host.device_number(source)
        if number:
            uses.append(Use(number, "", "swap", source))
    return tuple(uses)
