"""Figures are what they are called."""

from __future__ import annotations

import statistics
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.figures import (
    buckets,
    figures_of,
    median_deviation,
    net,
    over_runs,
    percentile,
    pooled,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.model import Sample
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.return_codes import (
    NAMES,
    by_name,
    looked_up,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.shared_memory import OVERFLOW

COUNTS = st.dictionaries(st.integers(0, 5000).map(float), st.integers(1, 50), min_size=1, max_size=60)


def sample(times: list[int], batch: int = 1) -> Sample:
    histogram: dict[int, int] = {}
    for took in times:
        histogram[min(took, OVERFLOW)] = histogram.get(min(took, OVERFLOW), 0) + 1
    return Sample(batch, len(times), sum(times), min(times), max(times), histogram, {"SUCCESS": len(times) * batch})


def values(counts: dict[float, int]) -> list[float]:
    return sorted(value for value, count in counts.items() for _one in range(count))


@given(COUNTS, st.integers(1, 100))
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(counts: dict[float, int], percent: int) -> None:
    found, every = percentile(counts, percent), values(counts)
    assert sum(value <= found for value in every) * 100 >= len(every) * percent
    assert sum(value < found for value in every) * 100 < len(every) * percent


@given(COUNTS)
def test_the_deviation_is_the_median_distance_from_the_median(counts: dict[float, int]) -> None:
    every = values(counts)
    median = statistics.median_low(every)
    assert median_deviation(counts) == statistics.median_low(abs(value - median) for value in every)


@given(COUNTS, st.integers(3, 200))
def test_buckets_lose_nothing_and_touch(counts: dict[float, int], number: int) -> None:
    found = buckets(counts, number)
    assert len(found) <= number + 1
    assert sum(bucket["count"] for bucket in found) == sum(counts.values())
    assert found[0]["from"] <= min(counts)
    assert max(counts) <= found[-1]["to"]
    for before, after in pairwise(found):
        assert before["to"] == after["from"]


@given(COUNTS, st.integers(3, 200))
def test_a_value_is_in_the_bucket_that_has_it(counts: dict[float, int], number: int) -> None:
    found = buckets(counts, number)
    for bucket in found[:-1]:
        assert bucket["count"] == sum(n for value, n in counts.items() if bucket["from"] <= value < bucket["to"])


def test_figures_are_per_lookup() -> None:
    found = figures_of(sample([100, 200, 300, 400], batch=10))
    assert (found["min"], found["p50"], found["max"], found["average"]) == (10, 20, 40, 25)


def test_what_is_too_long_for_a_bucket_counts_as_the_longest() -> None:
    assert figures_of(sample([100, 70000, 90000]))["p99"] == 90000


def test_the_median_run_counts_except_for_the_extremes() -> None:
    found = over_runs([sample([10, 10]), sample([20, 20]), sample([90, 90])])
    assert (found["min"], found["p50"], found["average"], found["max"]) == (10, 20, 20, 90)


def test_net_is_less_the_empty_loop_and_never_below_nothing() -> None:
    found = net(over_runs([sample([10, 100])]), over_runs([sample([30])]))
    assert (found["min"], found["max"]) == (0, 70)
    assert "mad" not in found


def test_runs_are_pooled_per_lookup() -> None:
    assert pooled([sample([10, 20], batch=2), sample([10], batch=1)]) == {5.0: 1, 10.0: 2}


def test_codes_are_told_by_name() -> None:
    counts = [0] * 16
    counts[0], counts[5], counts[12] = 3, 4, 1
    assert by_name(counts) == {"SUCCESS": 3, "FWD_DISABLED": 4, "12": 1}
    assert looked_up(by_name(counts)) == 4


def test_names_are_in_the_order_of_the_kernel() -> None:
    assert (NAMES.index("NOT_FWDED"), NAMES.index("FWD_DISABLED"), NAMES.index("NO_NEIGH")) == (4, 5, 7)
