# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What dpkg has installed, read from its database (/var/lib/dpkg/status, deb822(5)). Pure."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

_FIELD = re.compile(r"^(Package|Status|Version|Architecture): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Installed:
    """A package that is installed."""

    version: str
    architecture: str


def installed(text: str) -> dict[str, Installed]:
    """Return the packages that are installed, by name."""
    found = {}
    for stanza in text.split("\n\n"):
        fields = dict(_FIELD.findall(stanza))
        if fields.get("Status", "").endswith(" installed") and "Package" in fields:
            found[fields["Package"]] = Installed(fields.get("Version", ""), fields.get("Architecture", ""))
    return found


#: Each can change what comes of a build, whatever the kernel.
_ALWAYS = {"dkms", "make", "patch", "xz-utils", "zstd", "gzip", "dpkg", "pahole", "dwarves", "sbsigntool"}


def tools(packages: t.Mapping[str, Installed], compiler: str, further: t.Collection[str]) -> dict[str, str]:
    """Return the versions of what a build for a kernel uses.

    ``compiler`` is the program that the kernel was built with, such as C(gcc-14); ``further`` are packages by name.
    """
    family = _family(compiler)
    return {
        name: package.version
        for name, package in packages.items()
        if name in _ALWAYS or name in further or name.startswith("binutils") or family.match(name)
    }


def _family(compiler: str) -> t.Pattern[str]:
    match = re.search(r"(?:gcc|clang)-(?P<number>\d+)$", compiler)
    number = f"-{match['number']}" if match else ""
    return re.compile(rf"(?:gcc|cpp|clang|llvm|lld){number}(?![0-9])")
