# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A pool as a person draws it: disks with their slices, arrays, the volume group, volumes. Plain ASCII.

The picture goes into the diff, so it holds nothing that changes by itself: no progress, no speed, no kernel
numbers. :func:`draw` adds progress only when asked to.
"""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass

from .model import ALIGNMENT, Activity, Array, Disk, Partition, Pool, Volume, slice_index
from .size import human
from .steps.arrays import noun

#: Columns of the bar of the largest disk; names and sizes in front of it keep a line below 100.
BAR = 52
#: More lines of one kind than this, and lines that say the same of different things become one.
MANY = 12
#: Longest name before its middle is left out: a serial number stands at the end.
NAME = 26

Row = t.Tuple[str, ...]


def shortened(name: str, longest: int = NAME) -> str:
    """Return ``name`` with its middle left out when it has more than ``longest`` characters."""
    if len(name) <= longest:
        return name
    head = (longest - 2) // 2
    return name[:head] + ".." + name[len(name) - (longest - 2 - head) :]


def _disk_name(disk: Disk) -> str:
    node = disk.node[5:] if disk.node.startswith("/dev/") else disk.node
    given = os.path.basename(disk.path)
    return node if given in ("", node) else f"{node} {shortened(given, NAME - 1 - len(node))}"


@dataclass(frozen=True)
class _Segment:
    """A run of bytes on a disk: a slice, something else's partition, or free room."""

    size: int
    fill: str
    label: str
    short: str


def _members(pool: Pool) -> dict[str, tuple[Array, str]]:
    """Return for each member partition its array and what is the matter with it, in a word or none."""
    result = {}
    for array in pool.arrays:
        for member in array.members:
            if member.faulty:
                word = "failed"
            elif member.slot is None:
                word = "spare"
            elif not member.in_sync:
                word = "rebuilding"
            else:
                word = ""
            result[member.node] = (array, word)
    return result


def _segment(pool: Pool, part: Partition, members: dict[str, tuple[Array, str]]) -> _Segment:
    if part.node in members:
        array, word = members[part.node]
        return _Segment(part.size, "-", f"{array.name} {word}".strip(), f"{array.index}{'!' if word else ''}")
    index = slice_index(pool.name, part.label)
    if index is not None:
        return _Segment(part.size, " ", f"{part.label} unused", f"{index}?")
    label = shortened(part.label, 16) or f"partition {part.number}"
    return _Segment(part.size, "#", f"{label} (not ours)", "#")


def _segments(pool: Pool, disk: Disk, members: dict[str, tuple[Array, str]]) -> list[_Segment]:
    segments = []
    position = ALIGNMENT
    for part in sorted(disk.partitions, key=lambda part: part.start):
        if part.start - position >= ALIGNMENT:
            segments.append(_free(part.start - position))
        segments.append(_segment(pool, part, members))
        position = max(position, part.end)
    end = max(disk.usable_end, position)
    if end - position >= ALIGNMENT:
        segments.append(_free(end - position))
    return segments


def _free(size: int) -> _Segment:
    return _Segment(size, ".", f"{human(size)} free", "free")


def _bar(segments: t.Sequence[_Segment], scale: float) -> str:
    """Draw segments in proportion, each wide enough for its label; fall back to short labels, then to a count."""
    for labels in ([each.label for each in segments], [each.short for each in segments]):
        widths = [max(len(label) + 2, round(each.size * scale) - 1) for label, each in zip(labels, segments)]
        if sum(widths) + len(widths) < BAR + BAR // 4:
            cells = [f" {label} ".center(width, each.fill) for label, width, each in zip(labels, widths, segments)]
            return "[" + "|".join(cells) + "]"
    free = sum(each.size for each in segments if each.fill == ".")
    slices = sum(1 for each in segments if each.fill != ".")
    return f"[{slices} slices{f', {human(free)} free' if free else ''}]"


def _disk_rows(pool: Pool) -> list[Row]:
    members = _members(pool)
    largest = max((disk.size for disk in pool.disks), default=0)
    scale = BAR / largest if largest else 0.0
    rows: list[Row] = []
    for disk in pool.disks:
        notes = list(disk.foreign[:1])
        if len(disk.foreign) > 1:
            notes.append(f"{len(disk.foreign) - 1} more")
        if not disk.declared:
            notes.append("not declared")
        if disk.read_only:
            notes.append("read-only")
        drawn = "" if disk.foreign else _bar(_segments(pool, disk, members), scale)
        rows.append((_disk_name(disk), human(disk.size), " ".join(filter(None, (drawn, ", ".join(notes))))))
    rows.extend((shortened(os.path.basename(path)), "absent", "") for path in pool.absent)
    return rows


def progress_bar(percent: float, width: int = 12) -> str:
    """Return ``percent`` as a bar of ``width`` cells: [###.........]."""
    filled = min(width, int(width * percent / 100))
    return "[" + "#" * filled + "." * (width - filled) + "]"


def duration(seconds: float) -> str:
    """Return ``seconds`` in the two largest units that matter: "45 s", "12 min", "3 h 20 min", "2 d 4 h"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def _activity(activity: Activity) -> str:
    if activity.delayed:
        return "waiting its turn"
    if activity.percent is None:
        return "no figures yet"
    text = f"{progress_bar(activity.percent)} {activity.percent:.0f} %"
    left = activity.seconds_left
    return text if left is None else f"{text}, {duration(left)} left"


def _state(array: Array, progress: bool) -> str:
    if not array.assembled:
        return "not assembled"
    if not array.active:
        return "not started"
    words = []
    if array.reshaping:
        words.append(f"reshape from {array.previous_devices} to {array.devices} members")
    elif array.activity is not None:
        words.append(noun(array.activity.action))
    if array.missing:
        words.append(f"lacks {array.missing} of {array.devices}")
    if array.suspended:
        words.append("writes held back")
    if progress and array.activity is not None:
        words.append(_activity(array.activity))
    return ", ".join(words) or "whole"


def _array_rows(pool: Pool, progress: bool) -> list[Row]:
    return [
        (
            array.name,
            f"raid{array.level}",
            f"{array.devices} x {human(array.component_size)}",
            human(array.size),
            _state(array, progress),
        )
        for array in pool.arrays
    ]


def _volume_row(volume: Volume, extent_size: int) -> Row:
    size = volume.extents * extent_size
    words = (volume.filesystem or "no file system") if volume.active else "not active"
    if volume.filesystem_size and volume.filesystem_size <= size - extent_size:
        words += f" of {human(volume.filesystem_size)}"
    return (shortened(volume.name), human(size), words, ", ".join(volume.mounted_on) or "not mounted")


def _merged(rows: list[Row]) -> list[Row]:
    """Put rows that differ only in their name on one line when there are many."""
    if len(rows) <= MANY:
        return rows
    names: dict[Row, list[str]] = {}
    for row in rows:
        names.setdefault(row[1:], []).append(row[0])
    return [(_together(same), *rest) for rest, same in names.items()]


def _together(names: list[str]) -> str:
    first = names[0].split(" ")[0]
    return f"{first} and {len(names) - 1} like it" if len(names) > 1 else names[0]


def _table(title: str, rows: list[Row]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [title] + ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _headline(pool: Pool) -> str:
    if pool.group is None:
        return f"Pool {pool.name}: no volume group yet"
    group = pool.group
    free = (group.extents - sum(volume.extents for volume in pool.volumes)) * group.extent_size
    text = f"Pool {pool.name}: {human(group.size)}, {human(free) if free > 0 else 'nothing'} free"
    return text + (f", {group.missing} physical volumes missing" if group.missing else "")


def draw(pool: Pool, progress: bool = False) -> str:
    """Return the picture of ``pool``; with ``progress`` also how far md is and how long it still needs."""
    extent_size = pool.group.extent_size if pool.group is not None else 0
    lines = [_headline(pool)]
    lines += _table("Disks", _merged(_disk_rows(pool)))
    lines += _table("Arrays", _merged(_array_rows(pool, progress)))
    lines += _table("Volumes", _merged([_volume_row(volume, extent_size) for volume in pool.volumes]))
    return "\n".join(lines) + "\n"
