# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Contents of files on their way to the module, and secrets on their way out. Pure."""

from __future__ import annotations

import base64
import hashlib
import typing as t
import zlib

_PREFIX = "zlib+base64:"
#: Shorter lines (a brace, 'end') are everywhere, and masking them would make any message unreadable.
_SHORTEST = 6
MASK = "********"


def encoded(content: bytes) -> str:
    """Return ``content`` in a form that no log shows by accident and that Ansible's masking does not find in a diff."""
    return _PREFIX + base64.b64encode(zlib.compress(content)).decode("ascii")


def decoded(text: str) -> bytes:
    """Return what :func:`encoded` was given; any other text stands for itself."""
    if not text.startswith(_PREFIX):
        return text.encode("utf-8", "surrogateescape")
    return zlib.decompress(base64.b64decode(text[len(_PREFIX) :]))


def digest(content: bytes) -> str:
    """Return the SHA-256 of ``content`` in hex."""
    return hashlib.sha256(content).hexdigest()


def masked(text: str, secrets: t.Iterable[bytes]) -> str:
    """Return ``text`` without the lines of secret files: daemons quote what they do not understand."""
    lines: set[str] = set()
    for secret in secrets:
        stripped = (line.strip() for line in secret.decode("utf-8", "replace").splitlines())
        lines.update(line for line in stripped if len(line) >= _SHORTEST)
    for line in sorted(lines, key=len, reverse=True):
        text = text.replace(line, MASK)
    return text
