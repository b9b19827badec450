# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Namespaces of one's own, to try something where it can do no harm (unshare(2), setns(2), mount(2))."""

from __future__ import annotations

import contextlib
import ctypes
import os
import typing as t

#: linux/sched.h. os.unshare and os.setns came with Python 3.12 only.
_CLONE_NEWNET = 0x40000000
_CLONE_NEWNS = 0x00020000
#: sys/mount.h
_MS_BIND = 0x1000
_MS_REC = 0x4000
_MS_PRIVATE = 0x40000
_MNT_DETACH = 2


def _call(name: str, *arguments: t.Any) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


@contextlib.contextmanager
def _apart(kind: str, flag: int) -> t.Iterator[None]:
    home = os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _call("unshare", flag)
        try:
            yield
        finally:
            _call("setns", home, flag)
    finally:
        os.close(home)


@contextlib.contextmanager
def throw_away_network() -> t.Iterator[None]:
    """Let this process, and the commands that it starts, have an empty network inside; it vanishes at the end."""
    with _apart("net", _CLONE_NEWNET):
        yield


@contextlib.contextmanager
def throw_away_mounts() -> t.Iterator[None]:
    """Let only this process, and the commands that it starts, see what it mounts inside; that vanishes at the end."""
    folder = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with _apart("mnt", _CLONE_NEWNS):
            _call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
            yield
    finally:
        os.fchdir(folder)  # setns(2) has put this process into the root directory
        os.close(folder)


def mount(kind: str, target: str, options: str = "") -> None:
    """Mount a new file system of a kind. Raises OSError."""
    _call("mount", kind.encode(), os.fsencode(target), kind.encode(), 0, options.encode())


def bind(source: str, target: str) -> None:
    """Let what is at ``source`` be seen at ``target``, too, with everything that is mounted below. Raises OSError."""
    _call("mount", os.fsencode(source), os.fsencode(target), None, _MS_BIND | _MS_REC, None)


def detach(target: str) -> None:
    """Take a mount away; whoever uses it still may. Raises OSError."""
    _call("umount2", os.fsencode(target), _MNT_DETACH)
