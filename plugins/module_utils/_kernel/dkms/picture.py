# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Draws a package of modules as a person would. Pure."""

from __future__ import annotations

import hashlib

from .. import places
from ..model import Host, Kernel
from ..versions import version_key
from .facts import problems


def draw(host: Host) -> str:
    """Return a line for each version and kernel."""
    lines = [f"{host.name}/{version}: {_tree(host, version)}" for version in sorted(host.trees, key=version_key)]
    lines += [
        f"source {host.name}-{version}"
        for version in sorted(host.sources & ({host.version} | host.ours), key=version_key)
    ]
    for release in sorted(host.kernels, key=version_key):
        words = _words(host.kernels[release])
        if words:
            lines.append(f"{release}: {words}")
    for module, loaded in sorted(host.loaded.items()):
        shown = "".join(f" {key}={value}" for key, value in sorted(loaded.parameters.items()))
        lines.append(f"{module} is loaded{shown}")
    for path, text in sorted(host.files.items()):
        if path in places.hooks(host.name):
            lines.append(f"{path} ({hashlib.sha256(text.encode()).hexdigest()[:12]})")
            continue
        lines += [f"{path}: {line}" for line in text.splitlines() if not line.startswith("#")]
    return "\n".join(lines)


def _tree(host: Host, version: str) -> str:
    return f"broken ({host.trees[version].broken})" if host.trees[version].broken else "added"


def _words(kernel: Kernel) -> str:
    built = [version for version in sorted(kernel.builds, key=version_key) if kernel.is_built(version)]
    stale = [version for version in sorted(kernel.builds, key=version_key) if not kernel.is_built(version)]
    parts = [f"{', '.join(built)} built"] if built else []
    parts += [f"{', '.join(stale)} out of date"] if stale else []
    if kernel.active:
        wrong = problems(kernel)
        parts.append(f"{kernel.active} installed" + (f" ({'; '.join(wrong)})" if wrong else ""))
    return ", ".join(parts)
