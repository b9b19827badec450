# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Packages of kernel modules, and what they are made of. Pure values."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..model import ALL_INSTALLED, Conf


@dataclass(frozen=True)
class Key:
    """What modules are signed with. The private key is a path only; ``digest`` is the SHA-256 of the certificate."""

    path: str
    certificate: str
    digest: str = ""


@dataclass(frozen=True)
class Wanted:
    """What kernel_module_package was asked for. ``root`` is the system in which is built, empty for the host itself."""

    name: str
    destination: str
    maintainer: str
    version: str = ""
    directory: str = ""
    archive: str = ""
    kernels: tuple[str, ...] = (ALL_INSTALLED,)
    revision: str = "1"
    epoch: int | None = None
    key: Key | None = None
    root: str = ""
    jobs: int = 1
    wait_seconds: float = 600.0


@dataclass(frozen=True)
class Headers:
    """The headers of a kernel, and the tools that belong to them."""

    version: str = ""  #: of the package that they are from; empty when they are from none
    released: int | None = None  #: seconds since 1970
    compression: str = ""  #: of modules: none, C(xz), C(zst) or C(gz)
    sign_hash: str = ""  #: that the kernel's own modules are signed with
    sign_tool: str = ""  #: where sign-file or kmodsign is
    base: str = "/lib/modules"  #: where the kernel's own packages have its modules
    tools: tuple[tuple[str, str], ...] = ()  #: packages of Debian, and their versions


@dataclass(frozen=True)
class Kernel:
    """A kernel that is built for; without headers nothing can be."""

    release: str
    conf: Conf = field(default_factory=Conf)
    headers: Headers | None = None


@dataclass(frozen=True)
class Package:
    """A package as it shall be."""

    name: str
    version: str
    architecture: str
    kernel: str
    modules: tuple[str, ...]  #: their paths, where the package is installed
    inputs: str  #: its .buildinfo, but for what came of it
    epoch: int = 0
    signed: bool = False

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}_{self.version}_{self.architecture}.deb"

    @property
    def buildinfo(self) -> str:
        """The name of the file that says what it was built of."""
        return f"{self.name}_{self.version}_{self.architecture}.buildinfo"


@dataclass(frozen=True)
class Found:
    """What lies in the destination under a package's name."""

    inputs: str = ""  #: what its .buildinfo says that it was built of; empty without one
    promised: str = ""  #: the SHA-256 that its .buildinfo has
    digest: str = ""  #: the SHA-256 of the package; empty where there is none

    @property
    def intact(self) -> bool:
        """Whether the package is the one that its .buildinfo speaks of."""
        return bool(self.inputs) and bool(self.digest) and self.digest == self.promised


@dataclass(frozen=True)
class BuildHost:
    """The host that packages are built on."""

    name: str
    version: str = ""
    architecture: str = ""  #: as dpkg calls it
    machine: str = ""  #: as the kernel calls it
    source_digest: str = ""
    conf_name: str = ""  #: what the dkms.conf has
    conf_version: str = ""
    kernels: t.Mapping[str, Kernel] = field(default_factory=dict)
    installed: frozenset[str] = frozenset()  #: kernels that are installed, or have headers
    found: t.Mapping[str, Found] = field(default_factory=dict)  #: in the destination, by the package's file
    leftovers: tuple[str, ...] = ()  #: of runs that were cut off
    skipped: t.Mapping[str, str] = field(default_factory=dict)  #: kernels that a build has left out, and why

    def excluded(self, kernel: Kernel) -> str:
        """Why the source is not for a kernel."""
        return kernel.conf.excluded or self.skipped.get(kernel.release, "")
