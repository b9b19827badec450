# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Builds in trees of their own, side by side, and brings what came of them into DKMS's tree.

Two builds of one module in one tree collide in its directory ``build`` (measured, DKMS 3.0.10 and 3.2.2), and a build
that fails there takes with it what was there before.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import typing as t

from ...._converge.command import CommandError, Runner
from ...._converge.files import replace_file
from ... import places
from ...applying.failures import Log, Outcome, told
from ...applying.side_by_side import SideBySide
from ...observing import tree
from ..signing import signing_of
from ..steps import Build
from .durable import synchronize


class Workshop:
    """Builds that were begun. ``jobs`` is how many at a time."""

    def __init__(self, runner: Runner, jobs: int) -> None:
        self._builds: SideBySide[Build, Outcome] = SideBySide(lambda step: build(step, runner), jobs)

    def outcome(self, step: Build, others: t.Sequence[Build]) -> Outcome:
        """Build, while others that come later are built, too; returns when the first one is done."""
        # The first build of all makes the key; two at once would make two.
        return self._builds.outcome(step, others, alone=not signing_of({}).present)

    def close(self) -> None:
        """Begin nothing more."""
        self._builds.close()


def build(step: Build, runner: Runner) -> Outcome:
    """Build a version for a kernel in a tree of its own. Nothing else is touched."""
    shop = places.workshop(step.name, step.version, step.kernel)
    prepare(shop, step)
    for argv in step.commands:
        try:
            runner.run(argv)
        except CommandError as error:
            place = f"{shop}/{step.name}/{step.version}/build"
            log = places.log(step.name, step.version, step.kernel)
            return told(f"{step.kernel}: {step.name}/{step.version}", error, Log(f"{place}/make.log", f"{place}/", log))
    return Outcome()


def prepare(shop: str, step: Build) -> None:
    """Make a tree that has the source, and what else is needed of DKMS's own."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(shop)
    here = f"{shop}/{step.name}/{step.version}"
    os.makedirs(f"{here}/build")
    os.symlink(os.path.realpath(f"{places.added(step.name, step.version)}/source"), f"{here}/source")
    for other in step.needs:
        if other != step.name and os.path.isdir(f"{places.TREE}/{other}"):
            os.symlink(f"{places.TREE}/{other}", f"{shop}/{other}")


def merge(step: Build) -> None:
    """Bring what was built into DKMS's tree. A reader finds what was there before, nothing, or the new one."""
    shop = places.workshop(step.name, step.version, step.kernel)
    place = places.built(step.name, step.version, step.kernel, step.arch)
    made = f"{shop}/{step.name}/{step.version}/{step.kernel}/{step.arch}"
    folder = os.path.dirname(place)
    os.makedirs(folder, exist_ok=True)
    new, old = f"{folder}/.fabric-new-{step.arch}", f"{folder}/.fabric-old-{step.arch}"
    for each in (new, old):
        shutil.rmtree(each, ignore_errors=True)
    shutil.move(made, new)
    synchronize(new)
    if os.path.isdir(place):
        os.rename(place, old)
    os.rename(new, place)
    _note_built(step)
    shutil.rmtree(old, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(places.log(step.name, step.version, step.kernel))
    clean(shop)


def clean(shop: str) -> None:
    """Remove a tree. The directory of trees stays: another build may be making its own there."""
    shutil.rmtree(shop, ignore_errors=True)


def _note_built(step: Build) -> None:
    record = tree.records(step.name, step.version)
    if record is None or step.kernel not in record.get("stale", ()):
        return
    record["stale"] = [each for each in record["stale"] if each != step.kernel]
    replace_file(places.record(step.name, step.version), json.dumps(record))
