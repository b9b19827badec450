# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""See a set at its live paths before it is there: overlays in a mount namespace of one's own.

Whatever else is in the directories is seen, too, so includes, globs and absolute paths resolve as they will.
"""

from __future__ import annotations

import contextlib
import errno
import os
import typing as t

from ..._converge.converge import StepFailed
from ..._converge.namespace import bind, detach, mount, throw_away_mounts

#: Directories that every host has (file-hierarchy(7), FHS 3.0), to hold the overlays for the moment of their mounting.
_MOUNT_POINTS = ("/mnt", "/media", "/srv", "/opt")


@contextlib.contextmanager
def as_if(directories: t.Iterable[str]) -> t.Iterator[None]:
    """Let what is written below ``directories`` inside be seen by this process and its commands only, and vanish.

    Raises :class:`StepFailed` where the kernel has no overlays.
    """
    present = sorted({_nearest(each) for each in directories})
    if "/" in present:
        raise StepFailed("A file directly in / cannot be validated as it will be seen; make its directory first.")
    with contextlib.ExitStack() as apart:
        try:
            apart.enter_context(throw_away_mounts())
            _overlay(present)
        except OSError as error:
            raise StepFailed(f"The set cannot be laid over the live files to validate it: {_why(error)}.") from error
        yield


def _why(error: OSError) -> str:
    if error.errno == errno.ENODEV:
        return "the kernel has no overlayfs; load its module 'overlay'"
    if error.errno == errno.EPERM:
        return "root may not mount here (CAP_SYS_ADMIN), as in most containers"
    return error.strerror or str(error)


def _nearest(directory: str) -> str:
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    return directory


def _overlay(directories: t.Sequence[str]) -> None:
    free = (each for each in _MOUNT_POINTS if os.path.isdir(each) and not _holds_any(each, directories))
    place = next(free, _MOUNT_POINTS[0])
    # By their descriptors, since one may come to lie below another's overlay; and no character needs an escape.
    with _held(directories) as lower, _held(_mounted_below(directories)) as covered:
        mount("tmpfs", place, "mode=0700")
        for number, directory in enumerate(directories):
            upper, work = f"{place}/{number}", f"{place}/{number}.work"
            for made in (upper, work):
                os.mkdir(made)
            status = os.stat(directory)
            os.chown(upper, status.st_uid, status.st_gid)
            os.chmod(upper, status.st_mode & 0o7777)
            # Nothing of it shall last, so nothing is put through to a disk (overlayfs.rst, "Volatile mount").
            options = f"lowerdir=/proc/self/fd/{lower[directory]},upperdir={upper},workdir={work},volatile"
            mount("overlay", directory, options)
        for path, descriptor in covered.items():
            bind(f"/proc/self/fd/{descriptor}", path)
        detach(place)


def _holds_any(place: str, directories: t.Iterable[str]) -> bool:
    return any(each == place or each.startswith(place + "/") for each in directories)


@contextlib.contextmanager
def _held(paths: t.Iterable[str]) -> t.Iterator[dict[str, int]]:
    descriptors: dict[str, int] = {}
    try:
        for path in paths:
            descriptors[path] = os.open(path, os.O_PATH | os.O_CLOEXEC)
        yield descriptors
    finally:
        for descriptor in descriptors.values():
            os.close(descriptor)


def _mounted_below(directories: t.Sequence[str]) -> list[str]:
    """Return what is mounted below these, outermost first; an overlay does not show it (mount points in proc(5))."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        points = [_unescaped(line.split(" ", 5)[4]) for line in file]
    found = {point for point in points for directory in directories if point.startswith(directory + "/")}
    return sorted(point for point in found if not any(point != each and point.startswith(each + "/") for each in found))


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
