# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of kernel_module_package to what is wanted. Raises Refusal for those that make no sense."""

from __future__ import annotations

import re

from ..._converge.converge import Refusal
from ..model import RUNNING
from ..parameters import Parameters, checked_jobs, checked_kernels, checked_name, checked_version
from .model import Key, Wanted
from .names import REVISION

#: deb-control(5), Maintainer.
_MAINTAINER = re.compile(r"[^<>\n]*[^<>\s] <[^<>@\s]+@[^<>@\s]+>")


def wanted_packages(parameters: Parameters) -> Wanted:
    """Read the parameters. Raises :class:`Refusal`."""
    source, epoch = parameters["source"] or {}, parameters["source_date_epoch"]
    kernels = checked_kernels(parameters["kernels"])
    if RUNNING in kernels:
        raise Refusal(
            "kernels has 'running', which says nothing of the hosts that a package is for; name releases, or use "
            "'installed'."
        )
    if not _MAINTAINER.fullmatch(parameters["maintainer"]):
        raise Refusal(f"'{parameters['maintainer']}' is no maintainer; write it as Name <address@domain>.")
    if not REVISION.fullmatch(parameters["revision"]):
        raise Refusal(f"'{parameters['revision']}' is no revision; use digits, letters, and . + ~.")
    if epoch is not None and epoch < 0:
        raise Refusal(f"source_date_epoch is {epoch}; give seconds since 1970.")
    return Wanted(
        name=checked_name(parameters["name"]),
        destination=_absolute("destination", parameters["destination"]),
        maintainer=parameters["maintainer"],
        version=checked_version(parameters["version"] or ""),
        directory=source.get("directory") or "",
        archive=source.get("archive") or "",
        kernels=kernels,
        revision=parameters["revision"],
        epoch=epoch,
        key=_key(parameters["signing"]),
        root=_absolute("chroot", parameters["chroot"]) if parameters["chroot"] else "",
        jobs=checked_jobs(parameters["jobs"]),
        wait_seconds=float(parameters["wait_timeout"]),
    )


def _absolute(option: str, path: str) -> str:
    if not path.startswith("/"):
        raise Refusal(f"{option} is {path}; give an absolute path.")
    return path.rstrip("/")


def _key(given: Parameters | None) -> Key | None:
    return Key(given["key"], given["certificate"]) if given else None
