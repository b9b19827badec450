# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What can be done to packages of kernel modules, each step a value. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._converge.plan import Argv, Step
from .. import places
from .layout import PACKAGE, RESULT, SIGNING
from .model import BuildHost, Found, Headers, Key, Package

#: Nothing of the host's own environment, be it a time zone or a compiler's flags, reaches a build.
_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C",
    "TZ": "UTC",
    "HOME": "/nonexistent",
    "KBUILD_BUILD_USER": "build",
    "KBUILD_BUILD_HOST": "build",
}
_COMPRESS: t.Mapping[str, Argv] = {
    "xz": ("xz", "--check=crc32", "--lzma2=dict=1MiB", "--threads=1", "--force"),
    "zst": ("zstd", "--quiet", "--rm", "--force", "--single-thread"),
    "gz": ("gzip", "--no-name", "--best", "--force"),
}


def environment(epoch: int) -> dict[str, str]:
    """Return the environment of a build."""
    return {**_ENVIRONMENT, "SOURCE_DATE_EPOCH": str(epoch), "KBUILD_BUILD_TIMESTAMP": f"@{epoch}"}


class PackageStep(Step):
    """A step, and the host that it leads to."""

    def after(self, host: BuildHost) -> BuildHost:
        """Return ``host`` once the step is done."""
        raise NotImplementedError


@dataclass(frozen=True)
class Clear(PackageStep):
    """Remove what a run that was cut off had begun."""

    paths: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Remove {', '.join(self.paths)}"

    def after(self, host: BuildHost) -> BuildHost:
        return replace(host, leftovers=())


@dataclass(frozen=True)
class BuildPackage(PackageStep):
    """Build a source for a kernel, sign it, make a package of it, and bring that to its place."""

    source: str
    version: str
    kernel: str
    machine: str
    package: Package
    destination: str
    root: str
    maintainer: str
    headers: Headers
    key: Key | None
    hindrance: str  #: why it cannot be built at all
    reason: str

    @property
    def title(self) -> str:
        return f"Build {self.destination}/{self.package.file}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        signs = tuple(self.sign(path) for path in self.package.modules) if self.key else ()
        return (self.build, *signs, self.pack)

    def run(self, *argv: str) -> Argv:
        """A command in the room."""
        given = environment(self.package.epoch)
        system = ("chroot", self.root) if self.root else ()
        return (*system, "env", "-i", *(f"{name}={given[name]}" for name in sorted(given)), *argv)

    @property
    def build(self) -> Argv:
        """What builds the modules."""
        words = ("-m", self.source, "-v", self.version, "-k", self.kernel, "-a", self.machine)
        return self.run(places.DKMS, "build", *words)

    def sign(self, module: str) -> Argv:
        """What signs a module, before it is compressed."""
        key, certificate = (f"{places.TREE}/{SIGNING}/{each}" for each in ("key", "certificate"))
        path = f"{places.TREE}/{PACKAGE}{plain(module)}"
        return self.run(self.headers.sign_tool, self.headers.sign_hash, key, certificate, path)

    def compress(self, module: str) -> Argv:
        """What compresses a module; empty where modules are not."""
        argv = _COMPRESS.get(self.headers.compression)
        return self.run(*argv, f"{places.TREE}/{PACKAGE}{plain(module)}") if argv else ()

    @property
    def pack(self) -> Argv:
        """What makes a package of the files. With several threads xz writes other blocks."""
        words = ("--root-owner-group", "-Zxz", "-z6", "--threads-max=1", "--build")
        return self.run("dpkg-deb", *words, f"{places.TREE}/{PACKAGE}", f"{places.TREE}/{RESULT}/{self.package.file}")

    def after(self, host: BuildHost) -> BuildHost:
        # What will come of it is not known; that it will be what its .buildinfo says, is.
        made = Found(self.package.inputs, "built", "built")
        return replace(host, found={**host.found, self.package.file: made})


def plain(module: str) -> str:
    """Return the path of a module without its compression."""
    return module[: module.rindex(".ko") + len(".ko")]
