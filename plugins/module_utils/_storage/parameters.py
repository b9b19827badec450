# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From a module's parameters to the pool that is wanted, with every mistake told in one sentence."""

from __future__ import annotations

import os
import re
import typing as t

from .._converge.converge import Refusal
from .model import KIB, LONGEST_POOL_NAME, MIB, Replacement, Size, Wanted, WantedVolume
from .size import BadSize, parse_size

Parameters = t.Mapping[str, t.Any]

#: lvm(8), "Valid names": these characters, no hyphen in front, and not the directory entries.
_LVM_NAME = re.compile(r"[a-zA-Z0-9+_.][a-zA-Z0-9+_.-]*")
#: A pool's name also becomes part of partition labels and of md's names, which hold a slash as a path.
_POOL_NAME = re.compile(r"[a-zA-Z0-9+_][a-zA-Z0-9+_.-]*")
#: lvm(8): logical volume names that LVM keeps for itself.
_RESERVED_START = ("snapshot", "pvmove")
_RESERVED_PART = (
    "_cdata",
    "_cmeta",
    "_corig",
    "_cpool",
    "_cvol",
    "_imeta",
    "_iorig",
    "_mimage",
    "_mlog",
    "_pmspare",
    "_rimage",
    "_rmeta",
    "_tdata",
    "_tmeta",
    "_vdata",
    "_vorigin",
    "_wcorig",
)
#: device-mapper holds VG-LV in 128 bytes with its final zero, and doubles every hyphen.
_LONGEST_DM_NAME = 127
_PERCENT = re.compile(r"(?P<number>[0-9]+)\s*%(?:VG)?")
_FREE = re.compile(r"100\s*%FREE")
_LEAST_CHUNK = 4 * KIB
_MOST_CHUNK = 64 * MIB

RAID_POOL_SPEC: dict[str, dict[str, t.Any]] = {
    "name": {"type": "str", "required": True},
    "disks": {"type": "list", "elements": "str", "required": True},
    "redundancy": {"type": "int", "choices": [1, 2], "default": 1},
    "volumes": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "name": {"type": "str", "required": True},
            "size": {"type": "str", "required": True},
            "filesystem": {"type": "str", "choices": ["ext4", "xfs"]},
            "mount_point": {"type": "path"},
            "nofail": {"type": "bool", "default": True},
        },
    },
    "chunk": {"type": "str", "default": "512KiB"},
    "bitmap": {"type": "str", "choices": ["internal", "none", "ppl"], "default": "internal"},
    "wait": {"type": "bool", "default": True},
    "wait_timeout": {"type": "int", "default": 3600},
    "replace": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {"old": {"type": "str", "required": True}, "new": {"type": "str", "required": True}},
    },
    "wipe": {"type": "list", "elements": "str", "default": []},
    "smallest_slice": {"type": "str"},
    "members": {"type": "int", "default": 16},
}


def check_pool_name(name: str) -> None:
    """Refuse a name that LVM, md or a file name cannot carry."""
    if not _POOL_NAME.fullmatch(name):
        raise Refusal(f"'{name}' cannot name a pool; use letters, digits, '+', '_', '.' and '-', not first '.' or '-'.")
    if len(name) > LONGEST_POOL_NAME:
        raise Refusal(
            f"The pool name '{name}' has {len(name)} characters, more than the {LONGEST_POOL_NAME} of md; shorten it."
        )


def _check_volume_name(pool: str, name: str) -> None:
    if not _LVM_NAME.fullmatch(name) or name in (".", ".."):
        raise Refusal(
            f"'{name}' cannot name a volume; use letters, digits, '+', '_', '.' and '-', and do not begin with '-'."
        )
    if name.startswith(_RESERVED_START) or any(part in name for part in _RESERVED_PART):
        raise Refusal(f"LVM keeps the volume name '{name}' for itself (see lvm(8)); choose another one.")
    mapped = "{}-{}".format(pool.replace("-", "--"), name.replace("-", "--"))
    if len(mapped) > _LONGEST_DM_NAME:
        raise Refusal(f"The volume name '{name}' is too long for device-mapper; choose a shorter one.")


def _size(text: str | int, what: str) -> int:
    try:
        return parse_size(text)
    except BadSize as error:
        raise Refusal(f"{what}: {error}") from error


def parse_volume_size(text: str, volume: str) -> Size:
    """Return the size that ``text`` means: bytes, "10GiB", "50%" of the pool, or "100%FREE"."""
    text = text.strip()
    if _FREE.fullmatch(text.upper()):
        return Size(free=True)
    match = _PERCENT.fullmatch(text.upper())
    if match is not None:
        percent = int(match.group("number"))
        if not 1 <= percent <= 100:
            raise Refusal(f"The size of volume '{volume}' is {text}; a percentage of the pool is 1% to 100%.")
        return Size(percent=percent)
    if "%" in text:
        raise Refusal(
            f"The size of volume '{volume}' is '{text}'; write bytes, 10GiB, 50% (of the whole pool) "
            "or 100%FREE (what the others leave)."
        )
    return Size(bytes=_size(text, f"The size of volume '{volume}'"))


def _mount_point(volume: str, path: str) -> str:
    if not path.startswith("/"):
        raise Refusal(f"The mount point '{path}' of volume '{volume}' must begin with '/'.")
    normal = os.path.normpath(path)
    normal = "/" + normal.lstrip("/")  # POSIX lets normpath keep two leading slashes
    if normal == "/":
        raise Refusal(f"Volume '{volume}' cannot be mounted on '/'; choose a directory below it.")
    if any(ord(character) < 32 for character in normal):
        raise Refusal(f"The mount point of volume '{volume}' holds a control character; choose another one.")
    return normal


def _volume(pool: str, given: Parameters) -> WantedVolume:
    name = given["name"]
    _check_volume_name(pool, name)
    filesystem = given.get("filesystem") or ""
    mount_point = given.get("mount_point") or ""
    if mount_point and not filesystem:
        raise Refusal(f"Volume '{name}' has a mount point but no file system; declare its filesystem (ext4 or xfs).")
    return WantedVolume(
        name=name,
        size=parse_volume_size(str(given["size"]), name),
        filesystem=filesystem,
        mount_point=_mount_point(name, mount_point) if mount_point else "",
        nofail=given["nofail"],
    )


def _refuse_twice(values: t.Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            raise Refusal(f"{what} '{value}' is declared twice; remove one of the two.")
        seen.add(value)


def _check_volumes(volumes: t.Sequence[WantedVolume]) -> None:
    _refuse_twice((volume.name for volume in volumes), "Volume")
    _refuse_twice((volume.mount_point for volume in volumes if volume.mount_point), "Mount point")
    rest = [volume.name for volume in volumes if volume.size.free]
    if len(rest) > 1:
        raise Refusal(f"Only one volume can take 100%FREE; these do: {', '.join(rest)}.")
    total = sum(volume.size.percent for volume in volumes)
    if total > 100:
        raise Refusal(f"The percentages of the volumes add up to {total}%; they must not exceed 100%.")


def _check_disks(disks: t.Sequence[str], replace: t.Sequence[Replacement]) -> None:
    if not disks:
        raise Refusal("No disks are declared; list the pool's disks, best by /dev/disk/by-id/NAME.")
    for path in (*disks, *(path for pair in replace for path in (pair.old, pair.new))):
        if not path.startswith("/dev/"):
            raise Refusal(f"The disk '{path}' is not a path below /dev; give one such as /dev/disk/by-id/NAME.")
    _refuse_twice(disks, "Disk")
    _refuse_twice((pair.old for pair in replace), "The disk to replace")
    _refuse_twice((pair.new for pair in replace), "The replacement")
    for pair in replace:
        if pair.old == pair.new:
            raise Refusal(f"The disk '{pair.old}' cannot replace itself; give its successor as 'new'.")


def _chunk(text: str) -> int:
    chunk = _size(text, "The chunk")
    if chunk & (chunk - 1) or not _LEAST_CHUNK <= chunk <= _MOST_CHUNK:
        raise Refusal(f"The chunk '{text}' must be a power of two from 4KiB to 64MiB, such as 512KiB.")
    return chunk


def wanted_pool(parameters: Parameters) -> Wanted:
    """Return the pool that the parameters of raid_pool declare. Raises :class:`Refusal`."""
    name = parameters["name"]
    check_pool_name(name)
    replace = tuple(Replacement(pair["old"], pair["new"]) for pair in parameters["replace"])
    disks = tuple(parameters["disks"])
    _check_disks(disks, replace)
    volumes = tuple(_volume(name, given) for given in parameters["volumes"])
    _check_volumes(volumes)
    if parameters["bitmap"] == "ppl":
        raise Refusal(
            "A partial parity log (bitmap: ppl) works for raid5 only, and md cannot reshape an array that has one, "
            "so the pool could not grow; use internal, which keeps the resync after a crash short."
        )
    redundancy = parameters["redundancy"]
    least = 2 if redundancy == 1 else 4
    members = parameters["members"]
    if members < least:
        raise Refusal(f"members is {members}; with redundancy {redundancy} a slice needs at least {least} members.")
    if parameters["wait_timeout"] < 1:
        raise Refusal(f"wait_timeout is {parameters['wait_timeout']}; give a number of seconds from 1 up.")
    smallest = parameters.get("smallest_slice")
    return Wanted(
        name=name,
        disks=disks,
        redundancy=redundancy,
        volumes=volumes,
        chunk=_chunk(parameters["chunk"]),
        bitmap=parameters["bitmap"] == "internal",
        replace=replace,
        wipe=frozenset(parameters["wipe"]),
        smallest_slice=_size(smallest, "smallest_slice") if smallest else 0,
        most_members=members,
    )


def tools_for(want: Wanted) -> dict[str, str]:
    """Return the programs that the pool needs on the host, each with the Debian package that brings it."""
    tools = {
        "mdadm": "mdadm",
        "sgdisk": "gdisk",
        "partx": "util-linux",
        "wipefs": "util-linux",
        "blkid": "util-linux",
        "lvm": "lvm2",
        "dmsetup": "dmsetup",
    }
    filesystems = {volume.filesystem for volume in want.volumes}
    if "ext4" in filesystems:
        tools.update({"mkfs.ext4": "e2fsprogs", "resize2fs": "e2fsprogs"})
    if "xfs" in filesystems:
        tools.update({"mkfs.xfs": "xfsprogs", "xfs_growfs": "xfsprogs"})
    return tools
