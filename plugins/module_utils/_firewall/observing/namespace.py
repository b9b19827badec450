# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A network namespace of one's own, to try a table where it can do no harm (unshare(2), setns(2))."""

from __future__ import annotations

import contextlib
import ctypes
import os
import typing as t

#: linux/sched.h. os.unshare and os.setns came with Python 3.12 only.
_CLONE_NEWNET = 0x40000000


def _call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


@contextlib.contextmanager
def throw_away_network() -> t.Iterator[None]:
    """Let this process, and the commands that it starts, have an empty network inside; it vanishes at the end."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("unshare", _CLONE_NEWNET)
        try:
            yield
        finally:
            _call("setns", home, _CLONE_NEWNET)
    finally:
        os.close(home)
