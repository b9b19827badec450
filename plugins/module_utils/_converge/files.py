# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Write files so that nobody ever meets half of one."""

from __future__ import annotations

import contextlib
import os
import stat


def replace_file(path: str, content: str | bytes, mode: int = 0o644) -> None:
    """Put ``content`` into ``path`` so that a reader, or a host that lost power, finds the old file or the new one.

    An existing file keeps its owner and mode; a new one gets ``mode``. A link is followed.
    """
    path = os.path.realpath(path)
    staged = f"{path}.new"
    try:
        status: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        status = None
    with contextlib.suppress(FileNotFoundError):
        os.unlink(staged)  # of a run that was cut off
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape"))
            file.flush()
            if status is not None:
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, mode if status is None else stat.S_IMODE(status.st_mode))
            os.fsync(descriptor)
        os.replace(staged, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(staged)
        raise
    directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
