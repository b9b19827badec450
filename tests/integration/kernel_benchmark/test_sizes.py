"""What a longer table costs."""

from __future__ import annotations

import pytest

from tests.integration.kernel_benchmark.benchmark_host import BenchmarkHost
from tests.integration.kernel_benchmark.variants import both_families, every_release, every_release_newest_always
from tests.integration.modules.result import Values

LOOPS, RUNS, BATCH = 96000, 3, 32
#: Every size is measured so often, in turn: what else the machine does slows some of the rounds, not all.
ROUNDS = 3


def _checked(values: Values, routes: int) -> float:
    """Return the median of one lookup in ns; everything must be counted to the last lookup."""
    assert values["return_codes"] == {"SUCCESS" if routes else "NOT_FWDED": LOOPS * RUNS}
    assert values["looked_up"] == LOOPS * RUNS == BATCH * sum(bucket["count"] for bucket in values["histogram"])
    figures = [values["raw"][name] for name in ("min", "p50", "p90", "p95", "p99", "max")]
    assert figures == sorted(figures)
    assert 0 < values["empty_loop"]["p50"] < values["raw"]["p50"] < 20000
    return float(values["net"]["p50"])


def medians(router: BenchmarkHost, family: str, sizes: list[int]) -> list[float]:
    """Return what a lookup costs in tables of these sizes, in which every destination has a route."""
    rounds = [
        [
            _checked(
                router.measured(family=family, routes=size, loops=LOOPS, runs=RUNS, batch=BATCH).values, routes=size
            )
            for size in sizes
        ]
        for _round in range(ROUNDS)
    ]
    return [min(of_size) for of_size in zip(*rounds, strict=True)]


@pytest.mark.proof(area="kernel", line=7, title="A lookup among many routes costs more than in an empty table")
@both_families
@every_release_newest_always
def test_many_routes_cost_more_than_none(router: BenchmarkHost, family: str) -> None:
    none, one, many = medians(router, family, [0, 1, 50000])
    assert none < one < many < 20 * one


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=7, title="A sweep to a million routes shows what they cost")
@both_families
@every_release
def test_a_million_routes_cost_several_times_as_much(router: BenchmarkHost, family: str) -> None:
    found = medians(router, family, [1, 1000, 100000, 1000000])
    assert found == sorted(found)
    assert 2 * found[0] < found[-1] < 100 * found[0]
