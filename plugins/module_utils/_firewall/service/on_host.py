# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What the program on the host does, by the first word that it is given."""

from __future__ import annotations

import typing as t

from ..applying import restore
from . import guard, watch

_VERBS: t.Mapping[str, t.Callable[[t.Sequence[str]], int]] = {
    "watch": watch.main,
    "guard": guard.main,
    "load": restore.main,
}


def main(arguments: t.Sequence[str]) -> int:
    """Carry out one of them with the rest of the arguments."""
    return _VERBS[arguments[0]](arguments[1:])
