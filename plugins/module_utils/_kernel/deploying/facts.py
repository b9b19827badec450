# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What kernel_module_binary tells. Pure."""

from __future__ import annotations

import typing as t

from ..model import ABSENT
from ..versions import version_key
from .model import Package, Target, Wanted
from .planning import main_module, selected


def facts(host: Target, want: Wanted) -> dict[str, t.Any]:
    """Return what the module tells besides what it did."""
    packages = () if want.state == ABSENT else selected(host, want)
    return {
        "packages": [_package(host, want, package) for package in packages],
        "running": host.running,
        "next_boot": {"kernel": host.next_boot.kernel or None, "told_by": host.next_boot.source or None},
    }


def _package(host: Target, want: Wanted, package: Package) -> dict[str, t.Any]:
    there = host.installed.get(package.name)
    running = package.kernel == host.running
    return {
        "kernel": package.kernel,
        "package": package.name,
        "version": package.version,
        "installed": there.version if there else None,
        "in_place": not host.fault(package),
        "loaded": (main_module(want, package) in host.loaded) if running else None,
    }


def warnings(before: Target, after: Target) -> t.Iterator[str]:
    """Tell what the user should see without asking."""
    if before.installed and not after.installed and before.loaded:
        yield f"{', '.join(sorted(before.loaded))} is still loaded, until it is unloaded or the host reboots."


def draw(host: Target) -> str:
    """Draw packages, what is loaded, and the files that have it loaded, as a person reads it."""
    lines = []
    for name in sorted(host.installed, key=version_key):
        package = host.installed[name]
        changed = f" ({', '.join(package.changed)}: changed)" if package.changed else ""
        lines.append(f"{name} {package.version}{changed}")
    for kernel in sorted(host.found, key=version_key):
        lines += [f"{kernel}: {name} is {file.path}" for name, file in sorted(host.found[kernel].items())]
    for module, loaded in sorted(host.loaded.items()):
        shown = "".join(f" {key}={value}" for key, value in sorted(loaded.parameters.items()))
        lines.append(f"{module} is loaded{shown}")
    for path, text in sorted(host.files.items()):
        lines += [f"{path}: {line}" for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(lines)
