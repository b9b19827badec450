# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What the modules tell of a set. Pure."""

from __future__ import annotations

import typing as t

from .model import STAGING, Generation, Host, before


def set_facts(host: Host) -> dict[str, t.Any]:
    """Return the set in a few words."""
    current = host.generation(host.current)
    former = before(host.generations, host.current)
    return {
        "name": host.name,
        "generation": current.number or None,
        "verified": current.verified or None,
        "previous": former.number if former else None,
        "kept": sorted(host.generations),
    }


def facts(host: Host) -> dict[str, t.Any]:
    """Return what the module tells besides what it did."""
    return {"set": set_facts(host), "drift": list(host.drift), "recovered": host.recovered}


def generation_facts(generation: Generation, current: int) -> dict[str, t.Any]:
    """Return a kept set without its contents."""
    return {
        "generation": generation.number,
        "current": generation.number == current,
        "verified": generation.verified or None,
        "previous": generation.parent or None,
        "files": [
            {
                "path": entry.path,
                "sha256": None if entry.secret else entry.digest,
                "uid": entry.uid,
                "gid": entry.gid,
                "mode": f"{entry.mode:04o}",
                "no_log": entry.secret,
            }
            for entry in generation.entries
        ],
    }


def unfinished(host: Host) -> str:
    """Tell of a change that was cut off; empty when there is none."""
    if host.transaction is None:
        return ""
    number, phase = host.transaction.generation, host.transaction.phase
    if phase == STAGING:
        return f"A run was cut off while it staged set {number}; the live files are as before."
    return f"A run was cut off ({phase}) with set {number}; the next run ends it."


def drift(host: Host) -> tuple[str, ...]:
    """Return the files of the current set that are not as they were verified."""
    if host.transaction is not None:
        return ()
    return tuple(
        entry.path for entry in host.generation(host.current).entries if not host.live[entry.path].is_as(entry)
    )
