# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Takes a version out of DKMS's tree by hand, where DKMS does not: without its source it refuses."""

from __future__ import annotations

import contextlib
import os
import shutil

from ...._converge.command import Runner
from ... import places
from ...model import Part
from ...observing import tree
from ..steps import Remove


def remove_by_hand(step: Remove, runner: Runner) -> None:
    """Remove the files that are installed, as they were built, then the links, then the tree."""
    touched = []
    for (kernel, arch), version in tree.active_versions(step.name).items():
        if version != step.version:
            continue
        build = tree.build_of(step.name, version, kernel, arch)
        for name, built in (build.files if build else {}).items():
            installed = tree.installed_file(kernel, Part(name))
            if installed is not None and installed.digest == built.digest:
                os.unlink(installed.path)
                touched.append(kernel)
        os.unlink(places.active(step.name, kernel, arch))
    for kernel in sorted(set(touched)):
        runner.run(("depmod", "-a", kernel))
    shutil.rmtree(places.added(step.name, step.version))
    with contextlib.suppress(OSError):
        os.rmdir(f"{places.TREE}/{step.name}")
