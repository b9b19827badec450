# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Steps on a host that packages are installed on."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._converge.plan import Argv, Step
from ..loading import load_commands, with_file
from ..model import Loaded
from .model import Installed, Module, Package, Target

_APT: Argv = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300")


class BinaryStep(Step):
    """A step whose effect on a host is known."""

    def after(self, host: Target) -> Target:
        """Return the host as it is once the step is done. Pure."""
        raise NotImplementedError


def apt_install(paths: t.Sequence[str], downgrade: bool) -> Argv:
    """Return the command that installs packages which lie on the host, also those that are installed already."""
    options = ["--no-install-recommends", "--reinstall", *(["--allow-downgrades"] if downgrade else [])]
    return (*_APT, *options, "install", *paths)


@dataclass(frozen=True)
class InstallPackages(BinaryStep):
    """Install packages in one go. ``former`` are the files of those that they replace, by package."""

    packages: tuple[Package, ...]
    former: tuple[tuple[str, str], ...]
    downgrade: bool
    reason: str

    @property
    def title(self) -> str:
        return f"Install {', '.join(f'{each.name} {each.version}' for each in self.packages)}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (apt_install([each.path for each in self.packages], self.downgrade),)

    def after(self, host: Target) -> Target:
        there, found = dict(host.installed), dict(host.found)
        for each in self.packages:
            there[each.name] = Installed(each.version)
            found[each.kernel] = {name: Module(path) for name, path in zip(each.module_names, each.modules)}
        return replace(host, installed=there, found=found, newer=frozenset())


@dataclass(frozen=True)
class WriteFile(BinaryStep):
    """Write, or remove, a file that says how a module is loaded."""

    path: str
    content: str | None
    reason: str

    @property
    def title(self) -> str:
        return f"Remove {self.path}" if self.content is None else f"Write {self.path}"

    def after(self, host: Target) -> Target:
        return replace(host, files=with_file(host.files, self.path, self.content))


@dataclass(frozen=True)
class LoadModule(BinaryStep):
    """Load a module into the running kernel, or the new one in place of the one that is loaded.

    ``former`` is the file of the package that is installed and loaded again when this one cannot be loaded.
    """

    module: str
    parameters: tuple[tuple[str, str], ...]
    again: bool
    former: str
    reason: str

    @property
    def title(self) -> str:
        return f"{'Reload' if self.again else 'Load'} {self.module}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return load_commands(self.module, self.parameters, self.again)

    def after(self, host: Target) -> Target:
        found = host.found.get(host.running, {}).get(self.module)
        loaded = Loaded(found.srcversion if found else "", dict(self.parameters))
        return replace(host, loaded={**host.loaded, self.module: loaded})


@dataclass(frozen=True)
class PurgePackages(BinaryStep):
    """Remove packages."""

    packages: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Purge {', '.join(self.packages)}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return ((*_APT, "purge", *self.packages),)

    def after(self, host: Target) -> Target:
        there = {name: package for name, package in host.installed.items() if name not in self.packages}
        return replace(host, installed=there)
