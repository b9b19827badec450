# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A system below a directory, as chroot(2) would show it."""

from __future__ import annotations

import errno
import os

#: linux/include/linux/namei.h, MAXSYMLINKS
_MOST_LINKS = 40


def within(root: str, path: str) -> str:
    """Return where an absolute path of the system below ``root`` is, with links as that system sees them.

    Without a root it is this very system. Raises OSError for links that lead in a circle.
    """
    if not root:
        return os.path.realpath(path)
    done: list[str] = []
    left, links = _words(path), 0
    while left:
        word = left.pop(0)
        here = "/".join([root, *done, word])
        if word == "..":
            done = done[:-1]
        elif os.path.islink(here):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            target = os.readlink(here)
            done = [] if target.startswith("/") else done
            left = _words(target) + left
        else:
            done.append(word)
    return "/".join([root, *done])


def _words(path: str) -> list[str]:
    return [word for word in path.split("/") if word not in ("", ".")]


def text_within(root: str, path: str) -> str:
    """Return the text of a file of the system below ``root``; empty where there is none."""
    try:
        with open(within(root, path), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
