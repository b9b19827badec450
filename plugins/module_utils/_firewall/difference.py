# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What it takes to get from one table to another. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from .formats.nft_text import Change
from .model import NamedSet, Table
from .ruleset import AROUND_SETS, PORT_MAPS


def _bare(sets: t.Mapping[str, NamedSet]) -> dict[str, NamedSet]:
    return {name: replace(each, elements=frozenset()) for name, each in sets.items()}


def same_shape(have: Table, want: Table) -> bool:
    """Whether only elements of sets differ."""
    return have.chains == want.chains and _bare(have.sets) == _bare(want.sets)


def changes(have: Table, want: Table) -> tuple[Change, ...]:
    """Return the elements that leave and enter the sets of a table of the same shape, in the order of their names."""
    found = []
    for name in sorted(want.sets):
        before, after = have.sets[name].elements, want.sets[name].elements
        if before != after:
            found.append(Change(name, tuple(sorted(before - after)), tuple(sorted(after - before))))
    return tuple(found)


def follows_docker(found: t.Iterable[Change]) -> bool:
    """Whether nothing of a policy changes, only what Docker and the host have."""
    return all(change.name in AROUND_SETS for change in found)


def only_denies_meanwhile(found: t.Iterable[Change]) -> bool:
    """Whether a lookup that misses an element, as it may for a moment while elements change, lets nobody pass.

    A source that is not found is denied, and so is one of Docker's bridges that is not found among those of others.
    The sets of interfaces are hash tables without intervals, in which a change touches its own elements only. Not so
    the maps of ports: what is not found there meets no policy.
    """
    return not any(change.name in PORT_MAPS for change in found)


def with_changes(table: Table, found: t.Iterable[Change]) -> Table:
    """Return ``table`` once its elements are changed."""
    sets = dict(table.sets)
    for change in found:
        before = sets[change.name]
        sets[change.name] = replace(before, elements=(before.elements - set(change.removed)) | set(change.added))
    return replace(table, sets=sets)
