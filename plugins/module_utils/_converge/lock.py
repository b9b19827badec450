# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A lock per resource that child processes inherit (flock(2))."""

from __future__ import annotations

import errno
import fcntl
import os
import time
import types
import typing as t

#: Not below /run/lock, where everybody may make files and links.
LOCK_DIRECTORY = "/run/baremetal.fabric/locks"


class LockHeld(Exception):
    """Another run, or a process that one left behind, still works on the resource."""


def _holders(path: str) -> list[str]:
    """Name the processes that have ``path`` open, from /proc, as 'name (pid N)'."""
    wanted = os.stat(path)
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                status = os.stat(f"/proc/{pid}/fd/{descriptor}")
                if (status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino):
                    with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
                        found.append(f"{comm.read().strip()} (pid {pid})")
                    break
        except OSError:
            continue  # the process has ended meanwhile
    return found


class Lock:
    """An exclusive lock, held until :meth:`release`; and while a killed run has children that inherited the descriptor.

    Without a release the kernel drops it when the last holder of the descriptor ends, however it ends.
    """

    def __init__(self, resource: str, directory: str = LOCK_DIRECTORY) -> None:
        os.makedirs(directory, mode=0o755, exist_ok=True)
        self.resource = resource
        self.path = os.path.join(directory, resource + ".lock")
        self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def acquire(self, timeout: float) -> None:
        """Take the lock within ``timeout`` seconds, or raise :class:`LockHeld` that names the holders."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EAGAIN, errno.EACCES):
                    raise
            if time.monotonic() >= deadline:
                holders = ", ".join(_holders(self.path)) or "a process that has just ended"
                raise LockHeld(
                    f"Another run works on {self.resource}: {holders} still holds {self.path} after {timeout:.0f} s. "
                    "Wait until it has ended, then run again."
                )
            time.sleep(0.2)

    def release(self) -> None:
        """Give the lock up, also for processes that inherited it: who is left when a run ends is a daemon."""
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        os.close(self.descriptor)

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:
        self.release()


__all__: t.Sequence[str] = ("LOCK_DIRECTORY", "Lock", "LockHeld")
