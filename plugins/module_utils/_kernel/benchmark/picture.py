# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Figures as a person looks at them."""

from __future__ import annotations

import typing as t

Bucket = t.Mapping[str, t.Any]
Found = t.Mapping[str, t.Any]

_OWN, _BEFORE = "▒", "░"


class BadFigures(Exception):
    """What shall be drawn is not what kernel_benchmark returns."""


def _plain(value: float) -> str:
    """With a decimal only where it says something."""
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def histogram(buckets: t.Sequence[Bucket], width: int) -> str:
    """Draw a line for each bucket: where it begins, its share and the share up to its end, and its count.

    ``width`` is how many columns all of the values take. The darker part of a bar is the bucket's own share; the whole
    bar ends at the share of all values up to the bucket's end. An open last bucket is marked with a +.
    """
    try:
        counts = [int(bucket["count"]) for bucket in buckets]
        starts = [float(bucket["from"]) for bucket in buckets]
        ends = [float(bucket["to"]) for bucket in buckets]
    except (KeyError, TypeError, ValueError) as error:
        raise BadFigures("each bucket needs the numbers from, to and count") from error
    total = sum(counts)
    if total <= 0 or min(counts) < 0:
        raise BadFigures("there must be something to count in the buckets")
    labels = [_plain(start) for start in starts]
    # With floats, equal widths are equal but for their last bits.
    if len(buckets) > 1 and abs((ends[-1] - starts[-1]) - (ends[0] - starts[0])) > 1e-6 * (ends[0] - starts[0]):
        labels[-1] += "+"
    left = max(len("ns"), *map(len, labels))
    right = max(len("count"), len(str(total)))
    lines = [f"{'ns':>{left}} │{'':{width}}│ {'count':>{right}}  share    sum"]
    passed = 0
    for label, count in zip(labels, counts):
        passed += count
        own = round(width * count / total)
        drawn = (_OWN * own).ljust(round(width * passed / total), _BEFORE)
        shares = f"{100 * count / total:5.1f}% {100 * passed / total:5.1f}%"
        lines.append(f"{label:>{left}} │{drawn[:width]:{width}}│ {count:>{right}} {shares}")
    return "\n".join(lines) + "\n"


_COLUMNS = ("p50", "p90", "p99", "mad")


def lookup_table(results: t.Sequence[Found], width: int) -> str:
    """Draw a line for each result: raw figures, the net median, and that as a bar of up to ``width`` columns.

    Engines are told when there are several.
    """
    rows = []
    medians = []
    try:
        engines = [str(each.get("engine", "")) for each in results]
        for each in results:
            routes = "the host's" if each["routes"] is None else str(each["routes"])
            raw, median = each["raw"], float(each["net"]["p50"])
            figures = [_plain(float(raw[name])) for name in _COLUMNS]
            rows.append(
                [str(each["family"]), routes, *figures, _plain(float(each["empty_loop"]["p50"])), _plain(median)]
            )
            medians.append(median)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadFigures(
            "each result needs family, routes, raw, net and empty_loop as kernel_benchmark returns them"
        ) from error
    if not rows:
        raise BadFigures("there is no result")
    titles = ["family", "routes", *_COLUMNS[:-1], "MAD", "empty", "net p50"]
    if len(set(engines)) > 1:
        titles = ["engine", *titles]
        rows = [[engine, *row] for engine, row in zip(engines, rows)]
    widths = [max(map(len, column)) for column in zip(titles, *rows)]
    longest = max(medians) or 1.0

    def line(cells: t.Sequence[str]) -> str:
        return "  ".join(f"{cell:>{size}}" for cell, size in zip(cells, widths))

    lines = [f"{line(titles)} │"]
    for row, median in zip(rows, medians):
        lines.append(f"{line(row)} │{_OWN * round(width * median / longest)}")
    return "\n".join(lines) + "\n"
