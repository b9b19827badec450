# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Lines of /etc/fstab (fstab(5)): read them, and change one without touching the others."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..model import Mount

_WORDS = re.compile(r"[^ \t]+")


@dataclass(frozen=True)
class Line:
    """A line that mounts something. Words are unescaped."""

    number: int  #: index among all lines of the file
    device: str
    mount_point: str
    filesystem: str
    options: str

    @property
    def mount(self) -> Mount:
        """The line as the pool's state has it, with the device as it is written."""
        return Mount(self.device, self.mount_point, self.filesystem, self.options)


def _unescape(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), word)


def _escape(word: str) -> str:
    return "".join(f"\\{ord(char):03o}" if char in " \t\n\\#" else char for char in word)


def _lines(text: str) -> list[str]:
    """Return the lines with their ends. Only a line feed ends one, unlike for str.splitlines."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def parse(text: str) -> tuple[Line, ...]:
    """Return the lines that are no comments. The options of a line without any are "defaults"."""
    found = []
    for number, line in enumerate(_lines(text)):
        words = [_unescape(word) for word in _WORDS.findall(line.rstrip("\n"))]
        if len(words) >= 3 and not words[0].startswith("#"):
            found.append(Line(number, words[0], words[1], words[2], words[3] if len(words) > 3 else "defaults"))
    return tuple(found)


def mapper_path(group: str, volume: str) -> str:
    """Return the /dev/mapper path of a logical volume: a hyphen within a name is doubled (lvm(8))."""
    return "/dev/mapper/{}-{}".format(group.replace("-", "--"), volume.replace("-", "--"))


def volume_of(device: str, group: str) -> str:
    """Return the name of the logical volume of ``group`` that ``device`` means, in either form, or ""."""
    prefix = f"/dev/{group}/"
    if device.startswith(prefix):
        return device[len(prefix) :]
    start = mapper_path(group, "")
    if not device.startswith(start):
        return ""
    # "data--x-lv" is volume lv of the group data-x; for the group data it is none: a single hyphen separates.
    rest = device[len(start) :]
    if rest.startswith("-") or rest.replace("--", "").count("-"):
        return ""
    return rest.replace("--", "-")


#: Turns what a line gives as its device, UUID=... for example, into the path that it stands for.
Resolver = t.Callable[[str], str]


def _as_written(device: str) -> str:
    return device


def pool_mounts(text: str, group: str, resolve: Resolver = _as_written) -> tuple[Mount, ...]:
    """Return the lines for logical volumes of ``group``; their device is given as /dev/GROUP/VOLUME."""
    found = []
    for line in parse(text):
        volume = volume_of(line.device, group) or volume_of(resolve(line.device), group)
        if volume:
            found.append(Mount(f"/dev/{group}/{volume}", line.mount_point, line.filesystem, line.options))
    return tuple(found)


def taken_mount_points(
    text: str, wanted: t.Mapping[str, str], group: str, resolve: Resolver = _as_written
) -> tuple[tuple[str, str], ...]:
    """Return the mount points of ``wanted`` (mount point to volume of ``group``) that a line has for something else.

    As (mount point, device as it is written). "/srv/" and "/srv" are one mount point.
    """
    found = []
    for line in parse(text):
        point = normal_point(line.mount_point)
        for wanted_point, volume in wanted.items():
            if point != normal_point(wanted_point):
                continue
            if volume not in (volume_of(line.device, group), volume_of(resolve(line.device), group)):
                found.append((wanted_point, line.device))
    return tuple(found)


def normal_point(path: str) -> str:
    """Return a mount point without a slash at its end, which means nothing."""
    return path.rstrip("/") or "/"


def _changed(line: str, mount: Mount) -> str:
    """Return ``line`` with its mount point, type and options exchanged, the room between the words kept."""
    ending = "\n" if line.endswith("\n") else ""
    spans = [match.span() for match in _WORDS.finditer(line.rstrip("\n"))]
    new = [None, _escape(mount.mount_point), mount.filesystem, mount.options]
    if len(spans) < 4:
        return _written(line[spans[0][0] : spans[0][1]], mount) + ending
    result, at = "", 0
    for (start, end), word in zip(spans, new):
        gap = line[at:start]
        result += gap + (line[start:end] if word is None else word)
        at = end
        if word is not None:
            # A word that became longer or shorter takes its change out of the white space behind it, so that
            # columns stay columns.
            match = re.match(r" +", line[at:])
            room = len(match.group(0)) if match else 0
            if room > 1:
                result += " " * max(1, room - (len(word) - (end - start)))
                at += room
    return result + line[at:]


def _written(device: str, mount: Mount) -> str:
    return f"{device} {_escape(mount.mount_point)} {mount.filesystem} {mount.options} 0 0"


def with_mount(text: str, group: str, mount: Mount, resolve: Resolver = _as_written) -> str:
    """Return ``text`` with the line for the volume ``mount.device`` (/dev/GROUP/VOLUME) as ``mount`` says.

    The first line for the volume is changed, its device kept as written; without one, a line is added at the
    end, padded to the columns of the last line. Every other byte stays.
    """
    volume = volume_of(mount.device, group)
    lines = _lines(text)
    for line in parse(text):
        if volume and volume in (volume_of(line.device, group), volume_of(resolve(line.device), group)):
            if (line.mount_point, line.filesystem, line.options) == (
                mount.mount_point,
                mount.filesystem,
                mount.options,
            ):
                return text
            lines[line.number] = _changed(lines[line.number], mount)
            return "".join(lines)
    joint = "" if not text or text.endswith("\n") else "\n"
    return text + joint + _aligned(lines, parse(text), mount) + "\n"


def _aligned(lines: t.Sequence[str], parsed: t.Sequence[Line], mount: Mount) -> str:
    words = [_escape(mount.device), _escape(mount.mount_point), mount.filesystem, mount.options, "0", "0"]
    if not parsed:
        return " ".join(words)
    model = lines[parsed[-1].number].rstrip("\n")
    starts = [match.start() for match in _WORDS.finditer(model)]
    if "\t" in model:
        return "\t".join(words)
    result = words[0]
    for word, start in zip(words[1:], (starts[1:] + [0] * 5)):
        result = result.ljust(start - 1) + " " + word
    return result
