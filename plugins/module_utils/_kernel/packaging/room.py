# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Where packages are built: always at the same path, without the host's settings, and with a kernel's headers only.

What DKMS makes of a source must not depend on the host. Inside of the room its tree is that of one package, its
directory of settings is ours, and a kernel has headers but no modules, so that nothing is compressed or signed yet.
"""

from __future__ import annotations

import contextlib
import os
import typing as t

from ..._converge.namespace import bind, mount, throw_away_mounts
from .. import places
from .layout import ETC, MODULES
from .root import within

_FRAMEWORK = "framework.conf"
#: DKMS does not sign with a program that is not there, and makes no key (dkms 3.0.10 and 3.2.2, prepare_signing).
_SETTINGS = 'sign_file="/nonexistent/sign-file"\n'


def furnish(tree: str, root: str, kernels: t.Sequence[str]) -> None:
    """Make the directories that a room consists of."""
    os.makedirs(f"{tree}/{ETC}", mode=0o755)
    with open(f"{tree}/{ETC}/{_FRAMEWORK}", "w", encoding="utf-8") as file:
        file.write(_SETTINGS)
    for kernel in kernels:
        for name in ("build", "source"):
            here, there = f"{tree}/{MODULES}/{kernel}/{name}", f"{_modules(root, kernel)}/{name}"
            os.makedirs(os.path.dirname(here), mode=0o755, exist_ok=True)
            if os.path.islink(there):
                os.symlink(os.readlink(there), here)
            elif os.path.isdir(there):
                os.mkdir(here)


def _modules(root: str, kernel: str) -> str:
    return within(root, f"{places.MODULES}/{kernel}")


@contextlib.contextmanager
def build_room(
    tree: str, root: str, kernels: t.Sequence[str] = (), seen: t.Mapping[str, str] | None = None
) -> t.Iterator[None]:
    """Let this thread, and the commands that it starts, see a furnished tree as the one of DKMS.

    ``seen`` are files of the host that are seen in the tree, by the path that they have there. Raises OSError.
    """
    with throw_away_mounts():
        if root:
            mount("proc", within(root, "/proc"))
            bind("/dev", within(root, "/dev"))
        for kernel in kernels:
            _hide_modules(tree, root, kernel)
        for name, path in (seen or {}).items():
            bind(path, f"{tree}/{name}")
        bind(tree, within(root, places.TREE))
        bind(f"{tree}/{ETC}", within(root, places.CONFIGURATION))
        yield


def _hide_modules(tree: str, root: str, kernel: str) -> None:
    here, there = f"{tree}/{MODULES}/{kernel}", _modules(root, kernel)
    for name in ("build", "source"):
        if os.path.isdir(f"{here}/{name}") and not os.path.islink(f"{here}/{name}"):
            bind(f"{there}/{name}", f"{here}/{name}")
    bind(here, there)
