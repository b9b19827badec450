# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carries out the steps of a plan: builds, some side by side, and packages that come to their place whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
import typing as t

from ..._converge.command import Runner
from ..._converge.converge import SetAside
from ..._converge.files import replace_file
from .. import places
from ..applying.side_by_side import SideBySide
from ..observing.sources import Files
from .buildinfo import buildinfo
from .building import Made, build_package, remove_shop
from .steps import BuildPackage, Clear, PackageStep


class Work:
    """What a run does. ``failed`` and ``skipped`` are the kernels that it has given up, and why."""

    def __init__(self, files: Files, runner: Runner, jobs: int) -> None:
        self.failed: dict[str, str] = {}
        self.skipped: dict[str, str] = {}
        self._builds: SideBySide[BuildPackage, Made] = SideBySide(lambda step: build_package(step, files, runner), jobs)

    def carry_out(self, step: PackageStep, plan: t.Sequence[t.Any]) -> None:
        """Carry out a step of a plan. Raises :class:`SetAside` when only one kernel has to do without."""
        try:
            if isinstance(step, Clear):
                for path in step.paths:
                    remove_shop(path)
            elif isinstance(step, BuildPackage):
                self._build(step, [each for each in plan if isinstance(each, BuildPackage)])
            else:
                raise TypeError(f"{step!r} is no step on packages")
        except BaseException as error:
            if not isinstance(error, SetAside):
                self._builds.close()
            raise

    def _build(self, step: BuildPackage, builds: t.Sequence[BuildPackage]) -> None:
        if step.hindrance:
            self._give_up(step, step.hindrance)
        later = [each for each in builds[builds.index(step) + 1 :] if not each.hindrance]
        made = self._builds.outcome(step, later)
        if made.excluded:
            self.skipped[step.kernel] = made.excluded
            raise SetAside("")
        if made.failure:
            self._give_up(step, made.failure)
        deliver(step, made.content)

    def _give_up(self, step: BuildPackage, why: str) -> t.NoReturn:
        self.failed[step.kernel] = why
        raise SetAside(why)


def deliver(step: BuildPackage, content: bytes) -> None:
    """Bring a package to its place, then what it was built of: a run that is cut off in between builds again."""
    package, digest = step.package, hashlib.sha256(content).hexdigest()
    os.makedirs(step.destination, mode=0o755, exist_ok=True)
    replace_file(f"{step.destination}/{package.file}", content)
    text = buildinfo(package.inputs, digest, len(content), package.file)
    replace_file(f"{step.destination}/{package.buildinfo}", text)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(places.package_log(step.source, step.version, step.kernel))
