# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Binary packages of kernel modules, and the host that they are installed on. Pure values."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ..model import INSTALLED, Loaded, Loading, NextBoot

#: The word for the kernel that boots next.
NEXT = "next"


@dataclass(frozen=True)
class Package:
    """A package for one kernel, as kernel_module_package returns it. ``path`` is where it lies on this host."""

    name: str
    version: str
    architecture: str
    kernel: str
    modules: tuple[str, ...]
    path: str
    digest: str = ""

    @property
    def module_names(self) -> tuple[str, ...]:
        """The modules in it, by name."""
        return tuple(path.rsplit("/", 1)[-1].split(".ko")[0] for path in self.modules)


@dataclass(frozen=True)
class Wanted:
    """What kernel_module_binary was asked for."""

    name: str
    state: str = INSTALLED
    packages: tuple[Package, ...] = ()
    kernels: tuple[str, ...] = ()
    loading: Loading = field(default_factory=Loading)
    allow_downgrade: bool = False
    wait_seconds: float = 600.0


@dataclass(frozen=True)
class Installed:
    """A package that is installed. ``changed`` are files of it that are not what dpkg has put there."""

    version: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Module:
    """The file that a kernel would load."""

    path: str
    srcversion: str = ""


@dataclass(frozen=True)
class Target:
    """The host that packages are installed on."""

    name: str
    running: str = ""
    next_boot: NextBoot = field(default_factory=NextBoot)
    kernels: frozenset[str] = frozenset()  #: that are installed
    installed: t.Mapping[str, Installed] = field(default_factory=dict)  #: packages of this name, by package
    newer: frozenset[str] = frozenset()  #: packages that are installed in a version that is newer than the wanted one
    found: t.Mapping[str, t.Mapping[str, Module]] = field(default_factory=dict)  #: by kernel, then by module
    loaded: t.Mapping[str, Loaded] = field(default_factory=dict)
    files: t.Mapping[str, str] = field(default_factory=dict)  #: that say how the module is loaded

    def fault(self, package: Package) -> str:
        """Why a package is not in place; empty when it is."""
        there = self.installed.get(package.name)
        if there is None:
            return "it is not installed"
        if there.version != package.version:
            return f"{there.version} is installed"
        if there.changed:
            return f"{there.changed[0]} is not what was installed"
        return self.misplaced(package)

    def misplaced(self, package: Package) -> str:
        """Which module of an installed package the kernel would not load."""
        found = self.found.get(package.kernel, {})
        for name, path in zip(package.module_names, package.modules):
            if name not in found:
                return f"modinfo -k {package.kernel} does not find {name}"
            if found[name].path != path:
                return f"modinfo -k {package.kernel} finds {found[name].path} before {path}"
        return ""
