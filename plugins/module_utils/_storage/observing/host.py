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

#: How fstab names a device other than by path, and udev's folder for it (fstab(5)).
_TAGS = {"UUID": "by-uuid", "LABEL": "by-label", "PARTUUID": "by-partuuid", "PARTLABEL": "by-partlabel", "ID": "by-id"}


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

    def text_of(self, path: str) -> str:
        """Return the whole text of a configuration file; "" when there is none. Raises OSError otherwise.

        Bytes that are no UTF-8 are kept as surrogates, so that writing the text back changes none of them.
        """
        try:
            with open(self.at(path), encoding="utf-8", errors="surrogateescape", newline="") as file:
                return file.read()
        except FileNotFoundError:
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

    def resolve_tag(self, device: str) -> str:
        """Return the node that a device in fstab means: UUID=..., LABEL=..., ID=... or a path.

        A device-mapper device comes back as /dev/mapper/NAME, which tells its volume; what leads to nothing
        comes back as it is.
        """
        tag, equals, value = device.partition("=")
        path = f"/dev/disk/{_TAGS[tag]}/" + value.strip('"') if equals and tag in _TAGS else device
        number = self.device_number(path) if path.startswith("/dev/") else ""
        if not number:
            return device
        name = self.text(f"/sys/dev/block/{number}/dm/name")
        return f"/dev/mapper/{name}" if name else self.resolve(path)

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
