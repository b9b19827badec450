# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Kernel modules as DKMS, the disk and the kernel have them. Pure values."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

#: What states of dkms_module are; each contains those before it.
PRESENT, BUILT, INSTALLED, ABSENT = "present", "built", "installed", "absent"
#: Words that stand for kernels.
ALL_INSTALLED, RUNNING = "installed", "running"


@dataclass(frozen=True)
class File:
    """A module's file. ``digest`` is the SHA-256 of its bytes, as they are on the disk."""

    path: str
    digest: str
    version: str = ""
    srcversion: str = ""
    vermagic: str = ""
    signed: bool = False


@dataclass(frozen=True)
class Part:
    """One module of a package: its name, and the directory below /lib/modules/KERNEL that dkms.conf names."""

    name: str
    location: str = "/updates/dkms"


@dataclass(frozen=True)
class Conf:
    """What dkms.conf says for one kernel, as bash evaluates it."""

    name: str = ""
    version: str = ""
    parts: tuple[Part, ...] = ()
    excluded: str = ""  #: why it is not to be built for the kernel
    needs: tuple[str, ...] = ()  #: BUILD_DEPENDS


@dataclass(frozen=True)
class Build:
    """What is built of a version for a kernel."""

    files: t.Mapping[str, File] = field(default_factory=dict)  #: by name of the module
    stale: bool = False  #: made of a source that has been replaced since


@dataclass(frozen=True)
class Kernel:
    """A kernel, and what there is of a package for it."""

    release: str
    arch: str = "x86_64"
    exists: bool = True  #: has a directory below /lib/modules
    headers: bool = True
    confs: t.Mapping[str, Conf] = field(default_factory=dict)  #: by version
    builds: t.Mapping[str, Build] = field(default_factory=dict)  #: by version
    active: str = ""  #: the version that DKMS says is installed
    found: t.Mapping[str, File] = field(default_factory=dict)  #: files that modinfo -k finds, by name
    installed: t.Mapping[str, File] = field(default_factory=dict)  #: files where DKMS installs, by name

    def conf(self, version: str) -> Conf:
        """What dkms.conf of a version says."""
        return self.confs.get(version, Conf())

    def is_built(self, version: str) -> bool:
        """Whether all modules of a version are there, of its present source, and fit the kernel."""
        build, parts = self.builds.get(version), self.conf(version).parts
        if build is None or build.stale or not parts:
            return False
        files = [build.files.get(part.name) for part in parts]
        return all(file is not None and self.fits(file) for file in files)

    def fits(self, file: File) -> bool:
        """Whether a module was built for this kernel; one that does not tell is believed."""
        return not file.vermagic or file.vermagic.split(" ", 1)[0] == self.release

    def is_in_place(self, version: str) -> bool:
        """Whether the kernel would load what is built of a version."""
        return self.is_built(version) and self.active == version and not self.faults(version)

    def faults(self, version: str) -> tuple[str, ...]:
        """What is wrong with the installed files of a version that is built."""
        build = self.builds.get(version, Build())
        found = (self._fault(part.name, build.files.get(part.name)) for part in self.conf(version).parts)
        return tuple(fault for fault in found if fault)

    def _fault(self, name: str, built: File | None) -> str:
        first = self.found.get(name)
        if built is None:
            return f"{name} is not built"
        if first is None:
            there = self.installed.get(name)
            return f"modinfo does not find {name}" if there else f"the file of {name} is gone"
        if first.digest != built.digest:
            there = self.installed.get(name)
            if there is not None and there.digest == built.digest:
                return f"modinfo finds {first.path} before {there.path}"
            return f"{first.path} is not what was built"
        return ""

    def version_in_place(self) -> str:
        """The version whose files the kernel would load, whatever DKMS says; empty when it is none of them."""
        for version, build in self.builds.items():
            parts = self.conf(version).parts
            files = [(self.found.get(part.name), build.files.get(part.name)) for part in parts]
            if files and all(one and other and one.digest == other.digest for one, other in files):
                return version
        return ""


@dataclass(frozen=True)
class Tree:
    """What DKMS has of a version. ``source`` is where its link leads; ``broken`` says what is wrong with it."""

    source: str
    broken: str = ""


@dataclass(frozen=True)
class Loaded:
    """A module in the running kernel."""

    srcversion: str = ""
    parameters: t.Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Loading:
    """How a module is to be loaded. ``now`` is for the running kernel."""

    now: bool = False
    persist: bool = False
    parameters: t.Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Signing:
    """The key that DKMS signs with. None stands for what cannot be told, as on a host without EFI."""

    key: str = ""
    certificate: str = ""
    present: bool = False
    enrolled: bool | None = None
    secure_boot: bool | None = None


@dataclass(frozen=True)
class NextBoot:
    """The kernel that boots next, and what tells so. ``missing`` is a file that it may not boot without."""

    kernel: str = ""
    source: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Host:
    """A package of modules on its host. Versions are those that DKMS has, and the one that is wanted."""

    name: str
    version: str = ""  #: that is wanted
    running: str = ""
    kernels: t.Mapping[str, Kernel] = field(default_factory=dict)
    installed: frozenset[str] = frozenset()  #: kernels that are installed
    trees: t.Mapping[str, Tree] = field(default_factory=dict)
    sources: frozenset[str] = frozenset()  #: versions that have a directory in /usr/src
    source_digest: str = ""  #: of the one in /usr/src that is wanted, where it is to be compared
    wanted_digest: str = ""  #: of the source that was given
    ours: frozenset[str] = frozenset()  #: versions whose source we have put in place
    loaded: t.Mapping[str, Loaded] = field(default_factory=dict)
    files: t.Mapping[str, str] = field(default_factory=dict)  #: that are for loading, and hooks, by path
    broken: t.Mapping[str, str] = field(default_factory=dict)  #: NAME/VERSION of any module, and what is wrong
    leftovers: tuple[str, ...] = ()  #: of runs that were cut off
    signing: Signing = Signing()
    skipped: t.Mapping[str, str] = field(default_factory=dict)  #: kernels that a build has left out, and why

    def excluded(self, kernel: Kernel) -> str:
        """Why the wanted version is not for a kernel."""
        return kernel.conf(self.version).excluded or self.skipped.get(kernel.release, "")

    def main_part(self) -> str:
        """The module that is loaded for the package: the one of its name, else the first."""
        for kernel in self.kernels.values():
            names = [part.name for part in kernel.conf(self.version).parts]
            if names:
                return self.name if self.name in names else names[0]
        return self.name


@dataclass(frozen=True)
class Wanted:
    """What the module was asked for."""

    name: str
    version: str = ""
    state: str = INSTALLED
    directory: str = ""
    archive: str = ""
    kernels: tuple[str, ...] = (ALL_INSTALLED,)
    jobs: int = 1
    loading: Loading = Loading()
    replace_older: bool = False
    allow_downgrade: bool = False
    hook: bool | None = None  #: None leaves it as it is
    wait_seconds: float = 600.0
