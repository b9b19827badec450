# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Reads a host that packages are installed on: dpkg's database, modinfo, /sys and two files below /etc."""

from __future__ import annotations

import os
import re
import typing as t

from ..._converge.command import CommandError, Runner
from ..observing import tree
from ..observing.boot import next_boot
from ..observing.loading import loaded_modules, loading_texts
from ..observing.modinfo import found_by_modinfo
from ..packaging.dpkg_status import installed
from ..packaging.names import debian_name
from .model import Installed, Module, Package, Target, Wanted

_STATUS = "/var/lib/dpkg/status"
#: dpkg(1), --verify: nine flags or a word, a letter for configuration files, and the path.
_VERIFIED = re.compile(r"^(?:missing|[?.5]{9})\s+(?:c\s+)?(?P<path>/.+?)(?: \(.*\))?$", re.MULTILINE)


def observe_target(want: Wanted, runner: Runner) -> Target:
    """Read the host."""
    there = packages_of(want.name, runner)
    kernels = frozenset(tree.kernels())
    packages = [package for package in want.packages if package.kernel in kernels]
    names = sorted({name for package in packages for name in package.module_names})
    running = os.uname().release
    return Target(
        name=want.name,
        running=running,
        next_boot=next_boot(),
        kernels=kernels,
        installed=there,
        newer=frozenset(each.name for each in packages if _is_newer(there.get(each.name), each.version, runner)),
        found={package.kernel: modules_found(package, runner) for package in packages if package.name in there},
        loaded=loaded_modules(names, want.loading.parameters),
        files=loading_texts(want.name),
    )


def packages_of(name: str, runner: Runner) -> dict[str, Installed]:
    """Return the packages of modules that are installed under a name."""
    with open(_STATUS, encoding="utf-8", errors="replace") as status:
        found = installed(status.read())
    start = f"{debian_name(name)}-modules-"
    ours = {each: package for each, package in found.items() if re.match(re.escape(start) + "[0-9]", each)}
    changed = _changed(sorted(ours), runner)
    return {each: Installed(package.version, tuple(changed.get(each, ()))) for each, package in ours.items()}


def _changed(packages: t.Sequence[str], runner: Runner) -> dict[str, list[str]]:
    """Return the files of packages that are not what dpkg has installed."""
    found = {}
    for name in packages:
        # Of several at once nothing tells whose a file is.
        output = runner.run(("dpkg", "--verify", name), accept=(0, 1))
        found[name] = [match["path"] for match in _VERIFIED.finditer(output) if "/modules/" in match["path"]]
    return found


def _is_newer(there: Installed | None, version: str, runner: Runner) -> bool:
    if there is None or there.version == version:
        return False
    try:
        runner.run(("dpkg", "--compare-versions", there.version, "gt", version))
    except CommandError as error:
        if error.rc == 1:
            return False
        raise
    return True


def modules_found(package: Package, runner: Runner) -> dict[str, Module]:
    """Return the files that the kernel of a package would load, with paths as the package has them."""
    found = found_by_modinfo(package.kernel, package.module_names, {}, runner)
    own = {os.path.realpath(path): path for path in package.modules}
    return {
        name: Module(own.get(os.path.realpath(file.path), file.path), file.srcversion) for name, file in found.items()
    }
