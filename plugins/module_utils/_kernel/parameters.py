# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Parameters that several modules have, checked; every mistake is told in one sentence."""

from __future__ import annotations

import re
import typing as t

from .._converge.converge import Refusal
from .model import Loading

Parameters = t.Mapping[str, t.Any]

#: They are names of directories, and words of modprobe.d(5) and of DKMS's shell.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,127}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+:~-]{0,127}")
_KERNEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+~-]{0,127}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_JOBS = 64


def checked_name(name: str) -> str:
    """Return the name of a package of modules. Raises :class:`Refusal`."""
    if not _NAME.fullmatch(name):
        raise Refusal(f"'{name}' is no name of a module; use the PACKAGE_NAME of its dkms.conf.")
    return name


def checked_version(version: str) -> str:
    """Return a version, which may be empty. Raises :class:`Refusal`."""
    if version and not _VERSION.fullmatch(version):
        raise Refusal(f"'{version}' is no version; use the PACKAGE_VERSION of the dkms.conf.")
    return version


def checked_jobs(jobs: int) -> int:
    """Return how many kernels are built side by side. Raises :class:`Refusal`."""
    if not 1 <= jobs <= _MOST_JOBS:
        raise Refusal(f"jobs is {jobs}; say how many kernels are built side by side, 1 to {_MOST_JOBS}.")
    return jobs


def checked_kernels(given: t.Sequence[str]) -> tuple[str, ...]:
    """Return the kernels, each once. Raises :class:`Refusal`."""
    for kernel in given:
        if not _KERNEL.fullmatch(kernel):
            raise Refusal(f"'{kernel}' is no kernel release; uname -r prints one, and so does ls /lib/modules.")
    if not given:
        raise Refusal("kernels is empty; name releases, or leave it out for all that are installed.")
    return tuple(dict.fromkeys(given))


def checked_loading(given: Parameters) -> Loading:
    """Return how a module is loaded. Raises :class:`Refusal`."""
    parameters = {str(key): _text(value) for key, value in (given.get("parameters") or {}).items()}
    for key, value in parameters.items():
        if not _PARAMETER.fullmatch(key):
            raise Refusal(f"'{key}' is no name of a module's parameter.")
        if "\n" in value or '"' in value:
            raise Refusal(f"The value of the parameter '{key}' has a quote or a line break; modprobe reads neither.")
    return Loading(bool(given.get("now")), bool(given.get("persist")), parameters)


def _text(value: t.Any) -> str:
    return ("N", "Y")[value] if isinstance(value, bool) else str(value)
