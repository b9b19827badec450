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
import re
import shutil
import typing as t
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from ..._converge.command import CommandError, Runner
from ..._converge.files import replace_file
from .. import places
from ..formats.make_log import compiler_lines
from ..observing import tree
from ..observing.signing import signing_of
from ..steps import Build
from .durable import synchronize

#: dkms(8), BUILD_EXCLUSIVE; and the headers, by 3.0 and by 3.2.
EXCLUDED = 77
_HEADERS = (1, 21)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Outcome:
    """How a build ended; without a message it is there."""

    failure: str = ""
    excluded: str = ""


class Workshop:
    """Builds that were begun. ``jobs`` is how many at a time."""

    def __init__(self, runner: Runner, jobs: int) -> None:
        self._runner = runner
        self._jobs = jobs
        self._pool: ThreadPoolExecutor | None = None
        self._begun: dict[Build, Future[Outcome]] = {}

    def outcome(self, step: Build, others: t.Sequence[Build]) -> Outcome:
        """Build, while others that come later are built, too; returns when the first one is done."""
        if step not in self._begun:
            self._begin(step, others)
        return self._begun[step].result()

    def _begin(self, step: Build, others: t.Sequence[Build]) -> None:
        if self._jobs < 2 or not others:
            outcome: Future[Outcome] = Future()
            outcome.set_result(build(step, self._runner))
            self._begun[step] = outcome
            return
        if not signing_of({}).present:
            # It makes the key; two at once would make two.
            first: Future[Outcome] = Future()
            first.set_result(build(step, self._runner))
            self._begun[step] = first
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._jobs)
        for each in (step, *others):
            self._begun[each] = self._pool.submit(build, each, self._runner)

    def close(self) -> None:
        """Begin nothing more."""
        for future in self._begun.values():
            future.cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=True)


def build(step: Build, runner: Runner) -> Outcome:
    """Build a version for a kernel in a tree of its own. Nothing else is touched."""
    shop = places.workshop(step.name, step.version, step.kernel)
    prepare(shop, step)
    for argv in step.commands:
        try:
            runner.run(argv)
        except CommandError as error:
            return _failed(step, shop, error)
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


def _failed(step: Build, shop: str, error: CommandError) -> Outcome:
    words = _ANSI.sub("", f"{error.stdout}\n{error.stderr}")
    if error.rc == EXCLUDED:
        return Outcome(excluded=f"DKMS leaves it out (BUILD_EXCLUSIVE): {_sentence(error)}")
    log = _kept_log(step, shop)
    lines = compiler_lines((log or words).replace(f"{shop}/{step.name}/{step.version}/build/", ""))
    where = f" The whole log is {places.log(step.name, step.version, step.kernel)}." if log else ""
    hint = ""
    if error.rc in _HEADERS and "header" in words and not log:
        hint = f" Install the package linux-headers-{step.kernel}."
    what = f"{step.kernel}: {step.name}/{step.version} does not build (exit status {error.rc}): {' | '.join(lines)}."
    return Outcome(failure=what + hint + where)


def _sentence(error: CommandError) -> str:
    return " ".join(_ANSI.sub("", error.stderr or error.stdout).split())[-300:]


def _kept_log(step: Build, shop: str) -> str:
    path = f"{shop}/{step.name}/{step.version}/build/make.log"
    log = tree.text_of(path)
    if log is None:
        return ""
    kept = places.log(step.name, step.version, step.kernel)
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    replace_file(kept, log + "\n")
    return log


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
