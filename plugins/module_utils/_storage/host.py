# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A host as files: sysfs, proc, device nodes. Reads only."""

from __future__ import annotations

import errno
import mmap
import os
import stat


class Host:
    """Reads the files of a host below ``root``; another root serves captured trees."""

    def __init__(self, root: str = "") -> None:
        self.root = os.path.realpath(root) if root else ""

    def at(self, path: str) -> str:
        """Return where ``path`` is on this machine."""
        return self.root + path

    def text(self, path: str) -> str:
        """Return the text of a file without white space around it; "" when it cannot be read.

        Attributes of sysfs vanish while they are read, and some answer with an error for a state of the device.
        """
        try:
            with open(self.at(path), "rb") as file:
                return file.read().decode("utf-8", "replace").strip()
        except OSError:
            return ""

    def number(self, path: str, default: int = 0) -> int:
        """Return the whole number in a file, ``default`` when there is none."""
        text = self.text(path)
        return int(text) if text.lstrip("-").isdigit() else default

    def names(self, path: str) -> list[str]:
        """Return the sorted names in a directory; none when it cannot be read."""
        try:
            return sorted(os.listdir(self.at(path)))
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        """Whether ``path`` leads to something."""
        return os.path.exists(self.at(path))

    def resolve(self, path: str) -> str:
        """Return ``path`` with all symbolic links followed, also when it ends in nothing."""
        return os.path.realpath(self.at(path))[len(self.root) :]

    def link_target(self, path: str) -> str:
        """Return the last name of what the symbolic link ``path`` points to; "" for anything else."""
        try:
            return os.path.basename(os.readlink(self.at(path)))
        except OSError:
            return ""

    def modified(self, path: str) -> int | None:
        """Return the time of the last change in nanoseconds; None when there is no such file."""
        try:
            return os.stat(self.at(path)).st_mtime_ns
        except OSError:
            return None

    def device_number(self, path: str) -> str:
        """Return "MAJOR:MINOR" of a block device; "" for anything else."""
        try:
            status = os.stat(self.at(path))
        except OSError:
            return ""
        if not stat.S_ISBLK(status.st_mode):
            return ""
        return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"

    def file_system_number(self, path: str) -> str:
        """Return "MAJOR:MINOR" of the device that the file system at ``path`` is on; "" without such a path."""
        try:
            device = os.stat(self.at(path)).st_dev
        except OSError:
            return ""
        return f"{os.major(device)}:{os.minor(device)}"

    def busy(self, node: str) -> bool:
        """Whether the kernel or a process holds the device ``node``, or a partition of it, for itself (open(2))."""
        try:
            os.close(os.open(self.at(node), os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except OSError as error:
            return error.errno == errno.EBUSY
        return False


class Device:
    """A block device open for reading.

    ``direct`` goes past the page cache. It is needed for what the kernel writes past that cache: md writes its
    superblocks with requests of its own, and a page read before would be shown for as long as the array runs.
    A mounted ext4 is the other way round: its superblock is newest in the page cache.
    """

    def __init__(self, host: Host, node: str, direct: bool = True) -> None:
        path = host.at(node)
        flags = os.O_RDONLY | os.O_CLOEXEC
        self.node = node
        self._direct = direct
        try:
            self._descriptor = os.open(path, flags | (os.O_DIRECT if direct else 0))
        except OSError as error:
            if not direct or error.errno != errno.EINVAL:
                raise
            # The file system below a captured tree may not know it.
            self._direct = False
            self._descriptor = os.open(path, flags)

    def read(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes from ``offset``, fewer only at the end of the device. Raises OSError."""
        if not self._direct:
            return os.pread(self._descriptor, length, offset)
        # Anonymous memory begins on a page, as direct reads ask for.
        with mmap.mmap(-1, length) as memory:
            got = os.preadv(self._descriptor, [memory], offset)
            return memory[:got]

    def close(self) -> None:
        """Close the device."""
        os.close(self._descriptor)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
