from __future__ import annotations

import pytest

from tests.benchmarks.figures import Figure, Sample, table


def test_a_ratio_is_that_of_the_medians() -> None:
    figure = Figure("grow", Sample((9.0, 3.0, 2.0)), Sample((2.0, 2.0, 50.0)), 1.5)
    assert figure.value == pytest.approx(1.5)
    assert figure.within


def test_without_a_counterpart_the_seconds_count() -> None:
    figure = Figure("plan", Sample((0.5, 2.0, 1.5)), None, 1.0)
    assert figure.value == pytest.approx(1.5)
    assert not figure.within
    assert figure.as_dict()["unit"] == "seconds"


def test_what_goes_by_before_our_code_runs_is_told_apart() -> None:
    figure = Figure("idle", Sample((5.0,)), Sample((2.0,)), 2.0, start=Sample((4.0,)))
    assert figure.value == pytest.approx(2.5)
    assert figure.value_without_start == pytest.approx(0.5)
    assert not figure.within


def test_the_table_names_what_is_over_its_bound() -> None:
    lines = table([Figure("slow", Sample((3.0,)), Sample((1.0,)), 2.0, notes="3 steps")]).splitlines()
    assert "3.00 x" in lines[-1]
    assert "OVER" in lines[-1]
    assert lines[-1].endswith("3 steps")
