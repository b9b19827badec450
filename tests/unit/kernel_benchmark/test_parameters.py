"""Parameters that make no sense are refused in one sentence that names the option."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.model import Request
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.parameters import (
    BENCHMARK_SPEC,
    wanted,
)


def asked(**options: Any) -> Request:
    return wanted({**{name: spec.get("default") for name, spec in BENCHMARK_SPEC.items()}, **options})


def test_what_is_not_said_is_what_most_want() -> None:
    found = asked()
    assert (str(found.network), str(found.source), found.interface, found.routes) == (
        "128.0.0.0/2",
        "0.0.0.0",
        "lo",
        None,
    )
    assert str(asked(family="ipv6").network) == "2000::/3"


@pytest.mark.parametrize(
    "options",
    [
        {"routes": -1},
        {"routes": 1000001},
        {"loops": 0},
        {"loops": 10**9 + 1},
        {"warm_up": -1},
        {"batch": 0},
        {"batch": 65},
        {"runs": 0},
        {"buckets": 2},
        {"wait_timeout": -1},
        {"loops": 5, "batch": 6},
        {"network": "10.0.0.1/8"},
        {"network": "somewhere"},
        {"network": "2001:db8::/32"},
        {"network": "10.0.0.0/8", "family": "ipv6"},
        {"source": "10.0.0.0/8"},
        {"source": "2001:db8::1"},
        {"routes": 10, "interface": "eth0"},
        {"routes": 17, "network": "192.0.0.0/20"},
        {"engine": "module", "family": "ipv6", "interface": "eth0"},
    ],
    ids=str,
)
def test_nonsense_is_refused_by_name(options: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refusal:
        asked(**options)
    words = str(refusal.value)
    assert any(name in words for name in options)
    assert words.endswith(".")
    assert "\n" not in words


@pytest.mark.parametrize(
    "options",
    [
        {"routes": 0},
        {"routes": 1000000},
        {"routes": 1000000, "family": "ipv6"},
        {"routes": 16, "network": "192.0.0.0/20"},
        {"network": "0.0.0.0/0"},
        {"network": "192.0.2.7"},
        {"network": "::/0", "family": "ipv6"},
        {"loops": 64, "batch": 64},
        {"engine": "module", "family": "ipv6", "routes": 1000000},
        {"engine": "module", "interface": "eth0"},
    ],
    ids=str,
)
def test_extremes_that_make_sense_are_taken(options: dict[str, Any]) -> None:
    assert asked(**options).runs == 5
