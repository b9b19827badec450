# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What the kernel module fabric_route_lookup is told, and what it answers: text, see its device.c and order.c."""

from __future__ import annotations

import typing as t

from .model import Loop, Sample
from .return_codes import by_error_number

NAME = "fabric_route_lookup"
#: Of its dkms.conf. Another version may speak in other words.
VERSION = "1.0.0"
DEVICE = f"/dev/{NAME}"
#: Set when it is loaded for one run, so that a run after one that was killed knows whose it is.
FOR_ONE_RUN = "for_one_run"


class BadAnswer(Exception):
    """The module says something that is not expected of it."""


def order(loop: Loop, lookups: int) -> str:
    """Return what to write for one run of the loop."""
    words = {
        "network": loop.network,
        "source": loop.source,
        "lookups": lookups,
        "batch": loop.batch,
        "state": loop.state,
        "look_up": int(loop.look_up),
    }
    if loop.network.version == 4:
        words["interface"] = loop.interface_index
    return " ".join(f"{key}={value}" for key, value in words.items()) + "\n"


def refusal_in(answer: str) -> str:
    """Return why an order was refused, or nothing."""
    word, _space, reason = answer.strip().partition(" ")
    return reason if word == "refused" else ""


def sample_of(answer: str, batch: int) -> tuple[Sample, int]:
    """Return what was found, and how far the walk has come. Raises BadAnswer."""
    figures: dict[str, int] = {}
    codes: dict[int, int] = {}
    histogram: dict[int, int] = {}
    several = {"code": codes, "took": histogram}
    try:
        for line in answer.splitlines():
            word, *numbers = line.split()
            if word in several:
                key, count = map(int, numbers)
                several[word][key] = count
            elif word == "other":
                figures["errors"], figures["last_error"] = map(int, numbers)
            else:
                (figures[word],) = map(int, numbers)
        return _sample(figures, codes, histogram, batch), figures["state"]
    except (KeyError, ValueError) as error:
        raise BadAnswer(f"The kernel module {NAME} answers with what is not expected: {answer[:200]!r}.") from error


def _sample(
    figures: t.Mapping[str, int], codes: t.Mapping[int, int], histogram: t.Mapping[int, int], batch: int
) -> Sample:
    return Sample(
        batch=batch,
        batches=figures["batches"],
        total=figures["total"],
        minimum=figures["minimum"],
        maximum=figures["maximum"],
        histogram=histogram,
        return_codes=by_error_number(codes),
        errors=figures.get("errors", 0),
        last_error=figures.get("last_error", 0),
    )
