"""What a longer table costs."""

from __future__ import annotations

import pytest

from tests.integration.kernel_benchmark.benchmark_host import BenchmarkHost
from tests.integration.kernel_benchmark.variants import both_families, every_release, every_release_newest_always
from tests.integration.modules.result import Values


def sweep(router: BenchmarkHost, family: str, sizes: list[int]) -> dict[int, Values]:
    """Measure tables of these sizes, in which every destination has a route."""
    found = {size: router.measured(family=family, routes=size).values for size in sizes}
    for size, values in found.items():
        assert values["return_codes"] == {"SUCCESS" if size else "NOT_FWDED": 300000}
        assert values["looked_up"] == 300000 == sum(bucket["count"] for bucket in values["histogram"])
        figures = [values["raw"][name] for name in ("min", "p50", "p90", "p95", "p99", "max")]
        assert figures == sorted(figures)
        assert 0 < values["empty_loop"]["p50"] < values["raw"]["p50"] < 20000
    return found


@pytest.mark.proof(area="kernel", line=7, title="A lookup among a thousand routes costs more than in an empty table")
@both_families
@every_release_newest_always
def test_a_thousand_routes_cost_more_than_none(router: BenchmarkHost, family: str) -> None:
    found = sweep(router, family, [0, 1, 1000])
    none, one, thousand = (found[size]["net"]["average"] for size in (0, 1, 1000))
    assert none < one < thousand < 20 * one


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=7, title="A sweep to a million routes shows what they cost")
@both_families
@every_release
def test_a_million_routes_cost_several_times_as_much(router: BenchmarkHost, family: str) -> None:
    found = sweep(router, family, [1, 1000, 10000, 100000, 1000000])
    averages = [found[size]["net"]["average"] for size in sorted(found)]
    medians = [found[size]["net"]["p50"] for size in sorted(found)]
    assert averages == sorted(averages)
    assert 2 * medians[0] < medians[-1] < 100 * medians[0]
