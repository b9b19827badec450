# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""How modules are loaded: files below /etc, and parameters of the running kernel. Pure."""

from __future__ import annotations

import typing as t

from .model import Loading

SHEBANG = "#!/bin/sh\n"
HEADER = "# Written by dkms_module of baremetal.fabric; changes are lost.\n"
_YES, _NO = {"1", "y", "yes", "true", "on"}, {"0", "n", "no", "false", "off"}


def is_ours(text: str) -> bool:
    """Whether a file was written by us."""
    return text.startswith((HEADER, SHEBANG + HEADER))


def load_file(module: str, loading: Loading) -> str | None:
    """Return what modules-load.d(5) has for a module; None for no file."""
    return f"{HEADER}{module}\n" if loading.persist else None


def options_file(module: str, loading: Loading) -> str | None:
    """Return what modprobe.d(5) has for a module; None for no file."""
    if not loading.parameters:
        return None
    words = " ".join(f"{key}={_quoted(value)}" for key, value in sorted(loading.parameters.items()))
    return f"{HEADER}options {module} {words}\n"


def _quoted(value: str) -> str:
    return f'"{value}"' if not value or " " in value or "\t" in value else value


def differing(wanted: t.Mapping[str, str], shown: t.Mapping[str, str]) -> tuple[str, ...]:
    """Return the parameters that the running kernel shows with another value; those that it hides are believed."""
    return tuple(key for key, value in sorted(wanted.items()) if key in shown and not _is_same(value, shown[key]))


def _is_same(wanted: str, shown: str) -> bool:
    if wanted == shown:
        return True
    if shown in ("Y", "N"):
        return wanted.lower() in (_YES if shown == "Y" else _NO)
    try:
        return int(wanted, 0) == int(shown, 0)
    except ValueError:
        return False
