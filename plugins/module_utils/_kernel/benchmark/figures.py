# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From samples to figures: nanoseconds per lookup."""

from __future__ import annotations

import statistics
import typing as t

from .model import Measured, Sample
from .shared_memory import OVERFLOW

Counts = t.Mapping[float, int]

PERCENTILES = (50, 90, 95, 99)
#: In the order in which they are told. Those that a lookup's own cost can be told of are above the deviation.
NAMES = ("min", "max", "average", "p50", "p90", "p95", "p99", "mad")
_NOT_A_TIME = ("mad",)


def percentile(counts: Counts, percent: float) -> float:
    """Return the smallest value that so many percent of all values do not exceed (the nearest rank)."""
    total = sum(counts.values())
    passed = 0
    for value in sorted(counts):
        passed += counts[value]
        if passed * 100 >= total * percent:
            return value
    raise ValueError("there is no value")


def median_deviation(counts: Counts) -> float:
    """Return the median of the distances from the median (MAD)."""
    median = percentile(counts, 50)
    distances: dict[float, int] = {}
    for value, count in counts.items():
        distance = abs(value - median)
        distances[distance] = distances.get(distance, 0) + count
    return percentile(distances, 50)


def per_batch(sample: Sample) -> dict[float, int]:
    """Return the histogram of batches; what was too long for a bucket counts as the longest."""
    counts: dict[float, int] = {}
    for took, count in sample.histogram.items():
        value = sample.maximum if took == OVERFLOW else took
        counts[value] = counts.get(value, 0) + count
    return counts


def figures_of(sample: Sample) -> dict[str, float]:
    """Return the figures of one sample, per lookup."""
    counts = per_batch(sample)
    found = {
        "min": float(sample.minimum),
        "max": float(sample.maximum),
        "average": sample.total / sample.batches,
        **{f"p{percent}": percentile(counts, percent) for percent in PERCENTILES},
        "mad": median_deviation(counts),
    }
    return {name: found[name] / sample.batch for name in NAMES}


def over_runs(samples: t.Sequence[Sample]) -> dict[str, float]:
    """Return the smallest minimum, the largest maximum, and of all other figures the median over runs."""
    each = [figures_of(sample) for sample in samples]
    choose: dict[str, t.Callable[[list[float]], float]] = {"min": min, "max": max}
    return {name: round(choose.get(name, statistics.median)([figures[name] for figures in each]), 1) for name in NAMES}


def net(raw: t.Mapping[str, float], empty: t.Mapping[str, float]) -> dict[str, float]:
    """Return the raw figures less the empty loop's median, but not less than nothing."""
    return {name: round(max(0.0, raw[name] - empty["p50"]), 1) for name in NAMES if name not in _NOT_A_TIME}


def pooled(samples: t.Sequence[Sample]) -> dict[float, int]:
    """Return the histogram over all samples, per lookup."""
    counts: dict[float, int] = {}
    for sample in samples:
        for value, count in per_batch(sample).items():
            counts[value / sample.batch] = counts.get(value / sample.batch, 0) + count
    return counts


def _round_width(least: float) -> float:
    """Return the smallest width of 1, 2 or 5 times a power of ten that is not below ``least``."""
    width = 1.0
    while True:
        for factor in (1, 2, 5):
            if width * factor >= least:
                return width * factor
        width *= 10


def buckets(counts: Counts, number: int) -> list[dict[str, float]]:
    """Return at most ``number`` buckets of one width up to the 99th percentile, and one for what is beyond.

    Each has ``from`` and ``to``, of which the last value belongs to the next one, and ``count``. The last one ends
    with the largest value.
    """
    lowest, high, highest = min(counts), percentile(counts, 99), max(counts)
    # From the multiple of the width below the lowest value on, one bucket more may be needed to reach the highest.
    width = _round_width((high - lowest) / max(1, number - 2))
    start = lowest // width * width
    regular = int((high - start) // width) + 1
    found = [{"from": start + index * width, "to": start + (index + 1) * width, "count": 0} for index in range(regular)]
    end = start + regular * width
    beyond = 0
    for value, count in counts.items():
        if value < end:
            found[int((value - start) // width)]["count"] += count
        else:
            beyond += count
    if beyond:
        found.append({"from": end, "to": highest, "count": beyond})
    return found


def return_codes(measured: Measured) -> dict[str, int]:
    """Return how often the lookup returned what, over all runs."""
    counts: dict[str, int] = {}
    for sample in measured.with_lookup:
        for name, count in sample.return_codes.items():
            counts[name] = counts.get(name, 0) + count
    return counts
