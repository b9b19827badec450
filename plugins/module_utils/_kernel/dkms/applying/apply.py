# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carries out the steps."""

from __future__ import annotations

import contextlib
import os
import shutil
import typing as t

from ...._converge.command import CommandError, Runner
from ...._converge.converge import SetAside
from ... import places
from ...applying.loading import load, write_file
from ...model import Host
from ...observing import tree
from ...observing.modinfo import found_by_modinfo
from ..observing import Given
from ..planning import missing_headers
from ..steps import Add, Build, Clear, Install, KernelStep, Load, PutSource, Remove, RemoveSource, WriteFile
from .removing import remove_by_hand
from .sources import put_source, remove_source
from .workshop import Workshop, clean, merge


class Work:
    """What a run does. ``failed`` and ``skipped`` are the kernels that it has given up, and why."""

    def __init__(self, given: Given, runner: Runner, jobs: int) -> None:
        self.given = given
        self.runner = runner
        self.failed: dict[str, str] = {}
        self.skipped: dict[str, str] = {}
        self._workshop = Workshop(runner, jobs)

    def carry_out(self, step: KernelStep, plan: t.Sequence[t.Any], host: Host) -> None:
        """Carry out a step of a plan for ``host``. Raises :class:`SetAside` when only one kernel has to do without."""
        kernel = getattr(step, "kernel", "")
        if kernel in self.failed or kernel in self.skipped:
            raise SetAside("")
        if isinstance(step, (Remove, RemoveSource)) and (self.failed or self.skipped):
            raise SetAside("")  # an older version may be all that a kernel has
        try:
            if isinstance(step, Build):
                self._build(step, [each for each in plan if isinstance(each, Build)])
            elif isinstance(step, Install):
                self._install(step, host)
            else:
                _WAYS[type(step)](self, step)
        except BaseException as error:
            if not isinstance(error, SetAside):
                self._workshop.close()
            raise

    def _give_up(self, kernel: str, why: str) -> t.NoReturn:
        self.failed[kernel] = why
        raise SetAside(why)

    # Builds

    def _build(self, step: Build, builds: t.Sequence[Build]) -> None:
        if not step.headers:
            self._give_up(step.kernel, missing_headers(step.kernel))
        later = [each for each in builds[builds.index(step) + 1 :] if each.headers]
        outcome = self._workshop.outcome(step, later)
        if outcome.excluded:
            clean(places.workshop(step.name, step.version, step.kernel))
            self.skipped[step.kernel] = outcome.excluded
            raise SetAside("")
        if outcome.failure:
            clean(places.workshop(step.name, step.version, step.kernel))
            self._give_up(step.kernel, outcome.failure)
        merge(step)

    # Installations

    def _install(self, step: Install, host: Host) -> None:
        for path in step.damaged:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        try:
            for argv in step.commands:
                self.runner.run(argv)
            wrong = self.wrong(step, host)
        except CommandError as error:
            wrong = str(error)
        if wrong:
            what = f"{step.kernel}: {step.name}/{step.version} was not installed: {wrong}"
            self._give_up(step.kernel, what + self._back(step))

    def wrong(self, step: Install, host: Host) -> str:
        """What is on the disk that should not be. DKMS 3.0 ends with 0 also when it has copied nothing."""
        parts = {part.name: part for part in host.kernels[step.kernel].conf(step.version).parts}
        build = tree.build_of(step.name, step.version, step.kernel, step.arch)
        there = {name: tree.installed_file(step.kernel, part) for name, part in parts.items()}
        known = {name: file for name, file in there.items() if file is not None}
        found = found_by_modinfo(step.kernel, parts, known, self.runner)
        for name in parts:
            built, first = (build.files.get(name) if build else None), found.get(name)
            if built is None:
                return f"{name} is not built"
            if first is None:
                return f"modinfo -k {step.kernel} does not find {name}"
            if first.digest != built.digest:
                return f"modinfo -k {step.kernel} finds {first.path}, which is not what was built; see who put it there"
        return ""

    def _back(self, step: Install) -> str:
        if not step.former:
            return "."
        try:
            self.runner.run(_install(step.name, step.former, step.kernel, step.arch))
        except CommandError as error:
            return f". {step.former} could not be put back either: {error}"
        return f". {step.former} is installed again."

    # The rest

    def _clear(self, step: Clear) -> None:
        for path in step.paths:
            clean(path) if path.startswith(f"{places.STATE}/") else shutil.rmtree(path)

    def _put_source(self, step: PutSource) -> None:
        put_source(step, self.given.files)

    def _add(self, step: Add) -> None:
        link = f"{places.added(step.name, step.version)}/source"
        if os.path.islink(link) and not os.path.isdir(link):
            os.unlink(link)  # DKMS makes none where there is one
        self._run(step)

    def _run(self, step: KernelStep) -> None:
        for argv in step.commands:
            self.runner.run(argv)

    def _write_file(self, step: WriteFile) -> None:
        write_file(step.path, step.content, step.executable)

    def _load(self, step: Load) -> None:
        back = [_install(step.name, step.former, step.kernel, step.arch)]
        load(step.module, step.commands, step.former, back, self.runner)

    def _remove(self, step: Remove) -> None:
        if step.broken:
            remove_by_hand(step, self.runner)
        else:
            self._run(step)

    def _remove_source(self, step: RemoveSource) -> None:
        remove_source(step)


def _install(name: str, version: str, kernel: str, arch: str) -> tuple[str, ...]:
    return Install(name, version, kernel, arch, "", (), "").commands[0]


_WAYS: t.Mapping[type[KernelStep], t.Callable[[Work, t.Any], None]] = {
    Clear: Work._clear,
    PutSource: Work._put_source,
    Add: Work._add,
    WriteFile: Work._write_file,
    Load: Work._load,
    Remove: Work._remove,
    RemoveSource: Work._remove_source,
}
