# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carries out the steps on a host that packages are installed on."""

from __future__ import annotations

import hashlib
import os

from ..._converge.command import Runner
from ..._converge.converge import StepFailed
from ..applying.loading import load, write_file
from ..loading import differing
from ..observing import tree
from .model import Package, Target
from .observing import modules_found
from .steps import BinaryStep, InstallPackages, LoadModule, WriteFile, apt_install


def carry_out(step: BinaryStep, host: Target, runner: Runner) -> None:
    """Carry out a step of a plan for ``host``. Raises :class:`StepFailed`, CommandError or OSError."""
    if isinstance(step, InstallPackages):
        _install(step, runner)
    elif isinstance(step, WriteFile):
        write_file(step.path, step.content)
    elif isinstance(step, LoadModule):
        _load(step, host, runner)
    else:
        _run(step, runner)


def _run(step: BinaryStep, runner: Runner) -> None:
    for argv in step.commands:
        runner.run(argv)


def _install(step: InstallPackages, runner: Runner) -> None:
    for package in step.packages:
        _check_file(package)
    _run(step, runner)
    for package in step.packages:
        wrong = Target("", found={package.kernel: modules_found(package, runner)}).misplaced(package)
        if wrong:
            raise StepFailed(f"{package.name} {package.version} is installed, but {wrong}; see who put that there.")


def _check_file(package: Package) -> None:
    """Raise unless the file is the package that was built."""
    try:
        with open(package.path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
    except FileNotFoundError as error:
        raise StepFailed(f"{package.path} is not here; copy the package to this host, then run again.") from error
    if package.digest and digest != package.digest:
        raise StepFailed(
            f"{package.path} is not the package that was built: its SHA-256 is {digest}, not {package.digest}. Nothing "
            "was installed; copy it again."
        )


def _load(step: LoadModule, host: Target, runner: Runner) -> None:
    if _is_loaded(step, host, runner):
        return
    back = [apt_install([step.former], True)]
    load(step.module, step.commands, os.path.basename(step.former), back, runner)


def _is_loaded(step: LoadModule, host: Target, runner: Runner) -> bool:
    """Whether just what is installed is loaded: what a package replaces may have been the same build."""
    loaded = tree.loaded_module(step.module, dict(step.parameters))
    if loaded is None or not loaded.srcversion or differing(dict(step.parameters), loaded.parameters):
        return False
    installed = modules_found(Package("", "", "", host.running, (f"/{step.module}.ko",), ""), runner).get(step.module)
    return installed is not None and installed.srcversion == loaded.srcversion
