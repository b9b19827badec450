# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The file beside a package that says what it was built of (deb-buildinfo(5)). Pure.

It has nothing in it that differs between hosts which build the same, such as the host's name or the time.
"""

from __future__ import annotations

import re
import typing as t

from .model import Found

#: Raised when the same inputs come to be made into something else.
RECIPE = 1

_SUMS = re.compile(r"^Checksums-Sha256:\n (?P<digest>[0-9a-f]{64}) \d+ \S+\n", re.MULTILINE)
_FIELD = re.compile(r"^(?P<name>[A-Z][A-Za-z0-9-]*):(?P<value>.*(?:\n .*)*)$", re.MULTILINE)

#: What it means when a field is not what it was.
_MEANING = {
    "X-Source-Digest": "the source is another one",
    "Installed-Build-Depends": "the headers or the tools are others",
    "Environment": "its date is another one",
    "X-Signed-By": "it is to be signed otherwise",
    "X-Maintainer": "its maintainer is another one",
}


def inputs_of(
    source: str,
    binary: str,
    version: str,
    architecture: str,
    build_path: str,
    tools: t.Mapping[str, str],
    environment: t.Mapping[str, str],
    further: t.Mapping[str, str],
) -> str:
    """Return all of a .buildinfo but for what came of the build."""
    lines = [
        "Format: 1.0",
        f"Source: {source}",
        f"Binary: {binary}",
        f"Architecture: {architecture}",
        f"Version: {version}",
        f"Build-Architecture: {architecture}",
        f"Build-Path: {build_path}",
        "Installed-Build-Depends:",
        *_joined(f"{name} (= {tools[name]})" for name in sorted(tools)),
        "Environment:",
        *(f' {name}="{environment[name]}"' for name in sorted(environment)),
        *(f"{name}: {further[name]}" for name in sorted(further)),
        f"X-Recipe: {RECIPE}",
    ]
    return "\n".join(lines) + "\n"


def _joined(entries: t.Iterable[str]) -> list[str]:
    return [f" {entry}," for entry in entries]


def buildinfo(inputs: str, digest: str, size: int, file: str) -> str:
    """Return a .buildinfo whole; ``size`` is in bytes."""
    return f"{inputs}Checksums-Sha256:\n {digest} {size} {file}\n"


def read(text: str, digest: str) -> Found:
    """Return what a .buildinfo says, beside the digest of the package as it is."""
    match = _SUMS.search(text)
    if match is None:
        return Found(digest=digest)
    return Found(text[: match.start()] + text[match.end() :], match["digest"], digest)


def difference(former: str, now: str) -> str:
    """Tell in what two inputs differ."""
    old, new = _fields(former), _fields(now)
    changed = [name for name in {**new, **old} if old.get(name) != new.get(name)]
    words = list(dict.fromkeys(_MEANING.get(name, "it is built in another way now") for name in changed))
    return ", and ".join(words)


def _fields(text: str) -> dict[str, str]:
    return {match["name"]: match["value"] for match in _FIELD.finditer(text)}
