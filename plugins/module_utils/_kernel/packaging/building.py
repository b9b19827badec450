# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Builds a package in a room of its own. Nothing of the host is touched but that room's tree."""

from __future__ import annotations

import contextlib
import os
import shutil
import typing as t
from dataclasses import dataclass

from ..._converge.command import CommandError, Runner
from .. import places
from ..applying.failures import Log, told
from ..applying.sources import write_files
from ..formats.module_file import file_of, modinfo_of
from ..observing.sources import Files
from .files import paths_of, write_control, write_documents
from .layout import PACKAGE, RESULT, SIGNING, SOURCE
from .room import build_room, furnish
from .steps import BuildPackage, plain


@dataclass(frozen=True)
class Made:
    """What came of a build: the bytes of the package, or why there are none."""

    content: bytes = b""
    failure: str = ""
    excluded: str = ""


def build_package(step: BuildPackage, files: Files, runner: Runner) -> Made:
    """Build a package. What fails is told, not raised; OSError is."""
    shop = places.package_shop(step.source, step.version, step.kernel)
    remove_shop(shop)
    try:
        _prepare(shop, step, files)
        with build_room(shop, step.root, [step.kernel]):
            refused = _built(shop, step, runner)
        # The key is seen once nothing of the source runs any more.
        with build_room(shop, step.root, [step.kernel], _keys(step)):
            return refused or _packed(shop, step, files, runner)
    finally:
        remove_shop(shop)


def remove_shop(shop: str) -> None:
    """Remove the tree of a build."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(shop)


def _prepare(shop: str, step: BuildPackage, files: Files) -> None:
    os.makedirs(f"{shop}/{step.source}/{step.version}/build", mode=0o755)
    write_files(f"{shop}/{SOURCE}", files)
    os.symlink(f"{places.TREE}/{SOURCE}", f"{shop}/{step.source}/{step.version}/source")
    furnish(shop, step.root, [step.kernel])
    os.mkdir(f"{shop}/{RESULT}")
    if step.key is not None:
        os.mkdir(f"{shop}/{SIGNING}")
        for name in ("key", "certificate"):
            with open(f"{shop}/{SIGNING}/{name}", "wb"):
                pass  # that they are seen at


def _keys(step: BuildPackage) -> dict[str, str]:
    if step.key is None:
        return {}
    return {f"{SIGNING}/key": step.key.path, f"{SIGNING}/certificate": step.key.certificate}


def _what(step: BuildPackage) -> str:
    return f"{step.kernel}: {step.source}/{step.version}"


def _built(shop: str, step: BuildPackage, runner: Runner) -> Made | None:
    """Have DKMS build; returns None when the modules are there."""
    try:
        runner.run(step.build)
    except CommandError as error:
        here = f"{step.source}/{step.version}/build/"
        kept = places.package_log(step.source, step.version, step.kernel)
        ended = told(_what(step), error, Log(f"{shop}/{here}make.log", f"{places.TREE}/{here}", kept))
        return Made(failure=ended.failure, excluded=ended.excluded)
    wrong = _take(shop, step)
    return Made(failure=f"{_what(step)} was built, but {wrong}.") if wrong else None


def _packed(shop: str, step: BuildPackage, files: Files, runner: Runner) -> Made:
    try:
        licences = _licences(shop, step)
        _finish(step, runner)
        write_documents(f"{shop}/{PACKAGE}", step, files, licences)
        write_control(f"{shop}/{PACKAGE}", step, _sums(f"{shop}/{PACKAGE}", step, runner))
        runner.run(step.pack)
    except CommandError as error:
        return Made(failure=f"{_what(step)} was built, but no package could be made of it: {error}")
    with open(f"{shop}/{RESULT}/{step.package.file}", "rb") as file:
        return Made(file.read())


def _take(shop: str, step: BuildPackage) -> str:
    """Bring the modules from DKMS's tree to the files of the package; returns what is wrong with them."""
    folder = f"{shop}/{step.source}/{step.version}/{step.kernel}/{step.machine}/module"
    for module in step.package.modules:
        name = os.path.basename(plain(module))
        built, place = f"{folder}/{name}", f"{shop}/{PACKAGE}{plain(module)}"
        if not os.path.isfile(built):
            return f"{name} is not among what came of it"
        with open(built, "rb") as source:
            file = file_of(built, source.read())
        if file.vermagic and file.vermagic.split(" ", 1)[0] != step.kernel:
            return f"{name} is for {file.vermagic.split(' ', 1)[0]}"
        if file.signed:
            return f"{name} is signed already, with a key that nobody has given"
        os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
        shutil.copyfile(built, place)
    return ""


def _licences(shop: str, step: BuildPackage) -> t.Sequence[str]:
    found = []
    for module in step.package.modules:
        with open(f"{shop}/{PACKAGE}{plain(module)}", "rb") as file:
            found.append(modinfo_of(file.read()).get("license", "unknown"))
    return found


def _finish(step: BuildPackage, runner: Runner) -> None:
    """Sign the modules, then compress them: a signature is part of what is compressed."""
    for module in step.package.modules:
        if step.key is not None:
            runner.run(step.sign(module))
        if step.compress(module):
            runner.run(step.compress(module))


def _sums(folder: str, step: BuildPackage, runner: Runner) -> str:
    start = f"{places.TREE}/{PACKAGE}/"
    return runner.run(step.run("md5sum", *(start + path for path in paths_of(folder)))).replace(start, "")
