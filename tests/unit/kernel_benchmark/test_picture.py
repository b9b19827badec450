"""Drawings say what the figures say."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.filter.histogram import FilterModule as HistogramModule
from ansible_collections.baremetal.fabric.plugins.filter.histogram import histogram
from ansible_collections.baremetal.fabric.plugins.filter.lookup_table import FilterModule as TableModule
from ansible_collections.baremetal.fabric.plugins.filter.lookup_table import lookup_table

BUCKETS = [
    {"from": 100, "to": 120, "count": 300},
    {"from": 120, "to": 140, "count": 100},
    {"from": 140, "to": 9000, "count": 100},
]


def result(routes: int | None, median: float, family: str = "ipv4") -> dict[str, Any]:
    raw = {"p50": median + 30, "p90": median + 50.5, "p99": median + 200, "mad": 10.0}
    return {"family": family, "routes": routes, "raw": raw, "net": {"p50": median}, "empty_loop": {"p50": 30.0}}


def test_a_bucket_has_its_share_the_share_up_to_it_and_its_count() -> None:
    assert histogram(BUCKETS, width=20).splitlines() == [
        "  ns │                    │ count  share    sum",
        " 100 │▒▒▒▒▒▒▒▒▒▒▒▒        │   300  60.0%  60.0%",
        " 120 │▒▒▒▒░░░░░░░░░░░░    │   100  20.0%  80.0%",
        "140+ │▒▒▒▒░░░░░░░░░░░░░░░░│   100  20.0% 100.0%",
    ]


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=30).filter(any), st.integers(1, 120))
def test_bars_stay_in_their_columns_and_reach_the_end(counts: list[int], width: int) -> None:
    drawn = histogram([{"from": i, "to": i + 1, "count": count} for i, count in enumerate(counts)], width).splitlines()
    assert len(drawn) == len(counts) + 1
    assert {line.rindex("│") - line.index("│") for line in drawn} == {width + 1}
    assert drawn[-1].endswith("100.0%")
    assert " " not in drawn[-1].split("│")[1]


@pytest.mark.parametrize(
    ("buckets", "width"),
    [
        ([], 50),
        ("text", 50),
        ({"from": 1}, 50),
        ([{"from": 1}], 50),
        ([{"from": 1, "to": 2, "count": 0}], 50),
        ([{"from": 1, "to": 2, "count": "many"}], 50),
        (BUCKETS, 0),
        (BUCKETS, True),
    ],
)
def test_what_is_no_histogram_is_said_to_be_none(buckets: Any, width: Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"^histogram"):
        histogram(buckets, width)


def test_results_are_put_side_by_side() -> None:
    assert lookup_table(
        [result(1, 100.0), result(1000000, 700.0), result(None, 350.0, "ipv6")], width=14
    ).splitlines() == [
        "family      routes  p50    p90  p99  MAD  empty  net p50 │",
        "  ipv4           1  130  150.5  300   10     30      100 │▒▒",
        "  ipv4     1000000  730  750.5  900   10     30      700 │▒▒▒▒▒▒▒▒▒▒▒▒▒▒",
        "  ipv6  the host's  380  400.5  550   10     30      350 │▒▒▒▒▒▒▒",
    ]


def test_engines_are_told_when_there_are_several() -> None:
    both = [{**result(1, 100.0), "engine": engine} for engine in ("bpf", "module")]
    assert lookup_table(both, width=2).splitlines() == [
        "engine  family  routes  p50    p90  p99  MAD  empty  net p50 │",
        "   bpf    ipv4       1  130  150.5  300   10     30      100 │▒▒",
        "module    ipv4       1  130  150.5  300   10     30      100 │▒▒",
    ]
    assert "engine" not in lookup_table(both[:1], width=2)


@pytest.mark.parametrize(("results", "width"), [([], 40), ("text", 40), ([{"ran": False}], 40), ([result(1, 2.0)], -1)])
def test_what_was_not_measured_is_no_table(results: Any, width: Any) -> None:
    with pytest.raises(AnsibleFilterError, match=r"^lookup_table"):
        lookup_table(results, width)


def test_ansible_finds_the_filters() -> None:
    assert HistogramModule().filters() == {"histogram": histogram}
    assert TableModule().filters() == {"lookup_table": lookup_table}
