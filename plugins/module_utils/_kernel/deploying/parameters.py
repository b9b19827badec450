# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of kernel_module_binary to what is wanted. Raises Refusal for those that make no sense."""

from __future__ import annotations

import os
import re

from ..._converge.converge import Refusal
from ..model import ABSENT
from ..packaging.names import debian_name
from ..parameters import Parameters, checked_kernels, checked_loading, checked_name
from .model import Package, Wanted

_VERSION = re.compile(r"[0-9][A-Za-z0-9.+:~-]*")
_WORD = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_MODULE = re.compile(r"(?:/usr)?/lib/modules/[A-Za-z0-9_.+~-]+/[A-Za-z0-9_.+~/-]+\.ko(?:\.(?:xz|zst|gz))?")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def wanted_binary(parameters: Parameters) -> Wanted:
    """Read the parameters. Raises :class:`Refusal`."""
    name = checked_name(parameters["name"])
    want = Wanted(
        name=name,
        state=parameters["state"],
        packages=tuple(_package(name, each, parameters["directory"]) for each in parameters["packages"]),
        kernels=checked_kernels(parameters["kernels"]),
        loading=checked_loading(parameters["load"] or {}),
        allow_downgrade=parameters["allow_downgrade"],
        wait_seconds=float(parameters["wait_timeout"]),
    )
    if want.state == ABSENT and (want.packages or parameters["load"]):
        raise Refusal("packages and load make no sense with state=absent; leave them out.")
    if want.state != ABSENT and not want.packages:
        raise Refusal("packages is empty; give what kernel_module_package has returned.")
    kernels = [package.kernel for package in want.packages]
    twice = sorted({kernel for kernel in kernels if kernels.count(kernel) > 1})
    if twice:
        raise Refusal(f"packages has several for {twice[0]}; give one for each kernel.")
    return want


def _package(name: str, given: Parameters, directory: str | None) -> Package:
    package = given["package"]
    if not _WORD.fullmatch(package) or not package.startswith(f"{debian_name(name)}-modules-"):
        raise Refusal(f"'{package}' is no package of the modules of {name}; give what kernel_module_package returned.")
    if not _VERSION.fullmatch(given["version"]) or not _WORD.fullmatch(given["architecture"]):
        raise Refusal(f"Version or architecture of {package} are none that dpkg knows.")
    if not given["modules"] or not all(_MODULE.fullmatch(path) for path in given["modules"]):
        raise Refusal(f"{package} has a module that is not below /lib/modules: {', '.join(given['modules'])}.")
    path = f"{directory.rstrip('/')}/{os.path.basename(given['path'])}" if directory else given["path"]
    if not path.startswith("/"):
        raise Refusal(f"The path of {package} is {path}; give an absolute one.")
    digest = given["sha256"] or ""
    if digest and not _DIGEST.fullmatch(digest):
        raise Refusal(f"'{digest}' is no SHA-256 of {package}; it has 64 hexadecimal digits.")
    (kernel,) = checked_kernels([given["kernel"]])
    return Package(package, given["version"], given["architecture"], kernel, tuple(given["modules"]), path, digest)
