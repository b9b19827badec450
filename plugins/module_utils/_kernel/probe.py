# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What a host tells of its kernels in one go, before anything is installed on it. Pure.

The role kernel_module asks with a script, as a module costs a second or more on each host. Lines are a word and what
belongs to it: ``running RELEASE``, ``kernel RELEASE``, ``headers RELEASE``, ``image RELEASE``, ``link PATH TARGET``,
``grub LINE``, ``grubenv LINE``, ``package STATUS NAME VERSION``.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from .booting import BootFiles, next_boot_of
from .model import ALL_INSTALLED, RUNNING, NextBoot
from .versions import version_key

#: What DKMS needs. The compiler of a kernel comes with its headers.
TOOLS = ("dkms", "gcc", "make", "xz-utils")
_RELEASE = re.compile(r"[0-9]")


class NoProbe(Exception):
    """The text is none that a host has given."""


@dataclass(frozen=True)
class Probe:
    """A host's kernels, and its packages that are installed, with their versions."""

    running: str
    kernels: tuple[str, ...]
    headers: frozenset[str]
    packages: t.Mapping[str, str]
    next_boot: NextBoot

    def boots(self) -> tuple[str, ...]:
        """The kernel that runs, unless it is another host's, and the one that boots next."""
        chosen = {each for each in (self.running, self.next_boot.kernel) if each in self.kernels}
        return tuple(sorted(chosen, key=version_key))

    def selected(self, words: t.Sequence[str]) -> tuple[str, ...]:
        """The kernels that words stand for; without any, those of :meth:`boots`."""
        chosen: set[str] = set()
        for word in words:
            chosen |= set(self.kernels) if word == ALL_INSTALLED else {self.running if word == RUNNING else word}
        return tuple(sorted(chosen, key=version_key)) if words else self.boots()

    def missing(self, words: t.Sequence[str]) -> tuple[str, ...]:
        """The packages that are needed to build for these kernels, and for those that follow them."""
        wanted = [*TOOLS]
        wanted += [f"linux-headers-{kernel}" for kernel in self.selected(words) if kernel not in self.headers]
        for name in self.packages:
            flavour = name[len("linux-image-") :]
            if name.startswith("linux-image-") and not _RELEASE.match(flavour) and not flavour.endswith("-dbg"):
                wanted.append(f"linux-headers-{flavour}")
        return tuple(name for name in wanted if name not in self.packages)


def probe_of(text: str) -> Probe:
    """Read what a host told. Raises :class:`NoProbe`."""
    lines: dict[str, list[str]] = {}
    for line in text.splitlines():
        word, _blank, rest = line.partition(" ")
        lines.setdefault(word, []).append(rest)
    if not lines.get("running"):
        raise NoProbe("it does not say which kernel runs")
    links = dict(_pairs(lines.get("link", ())))
    files = BootFiles(
        "\n".join(lines.get("grub", ())),
        "\n".join(lines.get("grubenv", ())),
        tuple(lines.get("image", ())),
        lambda path: links.get(path, path),
    )
    installed = [each.split() for each in lines.get("package", ()) if each.startswith("installed ")]
    return Probe(
        lines["running"][0],
        tuple(sorted(lines.get("kernel", ()), key=version_key)),
        frozenset(lines.get("headers", ())),
        {each[1]: each[2] for each in installed if len(each) == 3},
        next_boot_of(files),
    )


def _pairs(lines: t.Iterable[str]) -> t.Iterator[tuple[str, str]]:
    for line in lines:
        path, _blank, target = line.partition(" ")
        yield path, target
