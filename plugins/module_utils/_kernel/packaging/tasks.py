# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of kernel_module_package to what the engine runs."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace

from ..._converge.converge import Refusal
from ..._converge.module import Task
from ..parameters import Parameters
from .facts import facts, warnings
from .model import BuildHost, Key, Wanted
from .parameters import wanted_packages
from .resource import Packages

#: One for all: what lies in a destination is whole only between two runs.
LOCK = "kernel-module-packages"
_TOOLS = {"bash": "bash", "dpkg-deb": "dpkg", "dkms": "dkms"}
_TOOLS_OF_CHROOT = {"chroot": "coreutils"}


def package_task(parameters: Parameters) -> Task[BuildHost]:
    """Return the task of kernel_module_package. Raises Refusal for parameters that make no sense."""
    want = known(wanted_packages(parameters))
    return Task(
        resource=lambda runner: Packages(want, runner),
        lock=LOCK,
        facts=lambda host: facts(host, want),
        tools=_TOOLS_OF_CHROOT if want.root else _TOOLS,
        wait_timeout=want.wait_seconds,
        warnings=lambda before, after: warnings(want, before, after),
    )


def known(want: Wanted) -> Wanted:
    """Return ``want`` with links resolved and its certificate's digest. Raises :class:`Refusal`."""
    if want.root and not os.path.isdir(want.root):
        raise Refusal(f"chroot is {want.root}, which is no directory; debootstrap makes one with a Debian system.")
    root = os.path.realpath(want.root) if want.root else ""
    return replace(want, root="" if root == "/" else root, key=_known_key(want.key) if want.key else None)


def _known_key(key: Key) -> Key:
    for what, path in (("key", key.path), ("certificate", key.certificate)):
        if not os.path.isfile(path):
            raise Refusal(f"signing.{what} is {path}, which is no file; name one on the build host.")
    with open(key.certificate, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    return Key(os.path.realpath(key.path), os.path.realpath(key.certificate), digest)
