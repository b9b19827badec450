# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From a host and the packages that it shall have to the steps in between. Pure."""

from __future__ import annotations

import os
import typing as t

from ..._converge.converge import Refusal
from ..._converge.plan import Plan
from ..loading import differing, is_due, is_ours, loading_files
from ..model import ABSENT, ALL_INSTALLED, RUNNING
from ..versions import version_key
from .model import NEXT, Package, Target, Wanted
from .steps import BinaryStep, InstallPackages, LoadModule, PurgePackages, WriteFile

_NOTHING = "Nothing was changed."


def plan_binary(host: Target, want: Wanted) -> Plan:
    """Return the steps that are left. Raises :class:`Refusal`; nothing was touched then."""
    return Plan(_removal(host) if want.state == ABSENT else _installation(host, want))


def selected(host: Target, want: Wanted) -> tuple[Package, ...]:
    """Return the packages for the kernels that are wanted. Raises :class:`Refusal` when one has none."""
    chosen: dict[str, str] = {}
    for word in want.kernels:
        chosen.update(_kernels(host, word))
    if not chosen:
        raise Refusal(f"No kernel is installed that runs or boots next here; name releases in kernels. {_NOTHING}")
    packages = {package.kernel: package for package in want.packages}
    for kernel, role in chosen.items():
        if kernel not in host.kernels:
            raise Refusal(f"{kernel} is not installed here; install linux-image-{kernel}. {_NOTHING}")
        if kernel not in packages:
            raise Refusal(f"There is no package of {want.name} for {kernel}{role}. {_NOTHING}")
    return tuple(packages[kernel] for kernel in sorted(chosen, key=version_key))


def _kernels(host: Target, word: str) -> dict[str, str]:
    """Return the kernels that a word stands for, and what each is here. In a container none runs that is its own."""
    if word == ALL_INSTALLED:
        return dict.fromkeys(host.kernels, ", which is installed here")
    if word == RUNNING:
        return {host.running: ", which runs here"} if host.running in host.kernels else {}
    if word == NEXT:
        boot = host.next_boot
        return {boot.kernel: f", which boots next here ({boot.source})"} if boot.kernel in host.kernels else {}
    return {word: ""}


def _installation(host: Target, want: Wanted) -> t.Iterator[BinaryStep]:
    packages = selected(host, want)
    wrong = {package: fault for package in packages for fault in [host.fault(package)] if fault}
    for package in wrong:
        if package.name in host.newer and not want.allow_downgrade:
            raise Refusal(
                f"{package.name} {host.installed[package.name].version} is installed, which is newer than "
                f"{package.version}; to downgrade it, set allow_downgrade. {_NOTHING}"
            )
    install = _install(host, want, wrong)
    if install is not None:
        yield install
    module = main_module(want, packages[0])
    for path, content in loading_files(want.name, module, want.loading).items():
        if is_due(path, host.files.get(path), content):
            yield WriteFile(path, content, "so it is loaded at boot" if "load" in path else "its parameters")
    running = next((package for package in packages if package.kernel == host.running), None)
    if want.loading.now and running is not None:
        yield from _load(host, want, running, install)


def _install(host: Target, want: Wanted, wrong: t.Mapping[Package, str]) -> InstallPackages | None:
    if not wrong:
        return None
    former = tuple((package.name, former_file(host, package)) for package in wrong if package.name in host.installed)
    reasons = dict.fromkeys(f"{package.kernel}: {fault}" for package, fault in wrong.items())
    return InstallPackages(tuple(wrong), former, want.allow_downgrade, "; ".join(reasons))


def former_file(host: Target, package: Package) -> str:
    """Return where the file of the package that is installed now lies, if it was brought here the same way."""
    version = host.installed[package.name].version
    return f"{os.path.dirname(package.path)}/{package.name}_{version}_{package.architecture}.deb"


def main_module(want: Wanted, package: Package) -> str:
    """Return the module that is loaded: the one that is called as the whole is, or the first."""
    names = package.module_names
    return next((each for each in names if each.replace("-", "_") == want.name.replace("-", "_")), names[0])


def _load(host: Target, want: Wanted, package: Package, install: InstallPackages | None) -> t.Iterator[LoadModule]:
    module, parameters = main_module(want, package), want.loading.parameters
    loaded, there = host.loaded.get(module), host.installed.get(package.name)
    found = host.found.get(package.kernel, {}).get(module)
    replaced = install is not None and package in install.packages and there is not None
    reason = "it is not loaded"
    if loaded is not None:
        other = differing(parameters, loaded.parameters)
        if replaced and there is not None and there.version != package.version:
            reason = f"it may be that of {there.version}"
        elif install is None and found and found.srcversion and loaded.srcversion not in ("", found.srcversion):
            reason = f"srcversion {loaded.srcversion} is loaded, {found.srcversion} is installed"
        elif other:
            reason = f"{other[0]} is {loaded.parameters[other[0]]}"
        elif install is not None and package in install.packages and there is None:
            reason = "it may be another build"
        else:
            return
    former = dict(install.former).get(package.name, "") if install is not None else ""
    yield LoadModule(module, tuple(sorted(parameters.items())), loaded is not None, former, reason)


def _removal(host: Target) -> t.Iterator[BinaryStep]:
    if host.installed:
        yield PurgePackages(tuple(sorted(host.installed)), "they are not wanted")
    for path, text in sorted(host.files.items()):
        if is_ours(text):
            yield WriteFile(path, None, "nothing is left to load")
