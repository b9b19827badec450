# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What is written down of sets, as JSON. Pure."""

from __future__ import annotations

import json
import typing as t
from dataclasses import asdict

from .model import Entry, Exchange, Generation, Transaction

#: Of the layout below. A later one is none of this version's business.
VERSION = 1


class BadRecord(ValueError):
    """The text is no record of this version."""


def _entry(values: t.Mapping[str, t.Any]) -> Entry:
    return Entry(
        path=str(values["path"]),
        digest=str(values["digest"]),
        uid=int(values["uid"]),
        gid=int(values["gid"]),
        mode=int(values["mode"]),
        secret=bool(values["secret"]),
    )


def _exchange(values: t.Mapping[str, t.Any]) -> Exchange:
    return Exchange(
        path=str(values["path"]),
        target=str(values["target"]),
        existed=bool(values["existed"]),
        entry=None if values["entry"] is None else _entry(values["entry"]),
    )


def manifest_text(generation: Generation) -> str:
    """Return the record of a kept set."""
    return json.dumps({"version": VERSION, **asdict(generation)}, indent=1) + "\n"


def manifest_of(text: str) -> Generation:
    """Return the kept set that a record describes. Raises :class:`BadRecord`."""
    values = _object(text)
    try:
        return Generation(
            number=int(values["number"]),
            entries=tuple(_entry(each) for each in values["entries"]),
            parent=int(values["parent"]),
            verified=str(values["verified"]),
            directories=tuple(str(each) for each in values["directories"]),
            guards=dict(values["guards"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadRecord(str(error)) from error


def state_text(current: int, transaction: Transaction | None) -> str:
    """Return the record of what is in place and under way."""
    under_way = None if transaction is None else asdict(transaction)
    return json.dumps({"version": VERSION, "current": current, "transaction": under_way}, indent=1) + "\n"


def state_of(text: str) -> tuple[int, Transaction | None]:
    """Return the number of the set in place, and the change under way. Raises :class:`BadRecord`."""
    values = _object(text)
    try:
        current, under_way = int(values["current"]), values["transaction"]
        if under_way is None:
            return current, None
        return current, Transaction(
            generation=int(under_way["generation"]),
            replaces=int(under_way["replaces"]),
            phase=str(under_way["phase"]),
            exchanges=tuple(_exchange(each) for each in under_way["exchanges"]),
            directories=tuple(str(each) for each in under_way["directories"]),
            starts=bool(under_way["starts"]),
            untold=bool(under_way["untold"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadRecord(str(error)) from error


def _object(text: str) -> dict[str, t.Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise BadRecord(str(error)) from error
    if not isinstance(values, dict) or values.get("version") != VERSION:
        raise BadRecord(f"it is not of version {VERSION}")
    return values
