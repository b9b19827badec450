"""What lookups in the host's own tables return, counted to the last one."""

from __future__ import annotations

import pytest

from tests.integration.kernel_benchmark.benchmark_host import BenchmarkHost
from tests.integration.kernel_benchmark.places import NOBODY, OUTSIDE
from tests.integration.kernel_benchmark.variants import both_families, every_release, every_release_newest_always

#: A network of 256 addresses, and parts of it: a half, a quarter, and two eighths.
WHOLE = {"ipv4": "203.0.113.0/24", "ipv6": "2001:db8:ff::/120"}
PARTS = {
    "ipv4": ("203.0.113.0/25", "203.0.113.128/26", "203.0.113.192/27", "203.0.113.224/27"),
    "ipv6": ("2001:db8:ff::/121", "2001:db8:ff::80/122", "2001:db8:ff::c0/123", "2001:db8:ff::e0/123"),
}
SOURCE = {"ipv4": "198.51.100.7", "ipv6": "2001:db8:7::7"}
#: So that each address comes a thousand times.
EVEN = {"loops": 256 * 1000, "warm_up": 256, "runs": 2}


@pytest.mark.proof(area="kernel", line=7, title="With forwarding off it is said that nothing was looked up")
@both_families
@every_release_newest_always
def test_forwarding_that_is_off_is_told(router: BenchmarkHost, family: str) -> None:
    result = router.measured(family=family, network=WHOLE[family], **EVEN)
    assert result.values["return_codes"] == {"FWD_DISABLED": 512000}
    assert result.values["looked_up"] == 0
    (warning,) = result.values["warnings"]
    text = warning if isinstance(warning, str) else str(warning)
    assert "512000 of 512000 lookups returned FWD_DISABLED before looking anything up" in text
    assert f"net.{family}.conf.lo.forwarding is 0" in text


@pytest.mark.proof(area="kernel", line=7, title="What lookups return is counted exactly, for every kind of route")
@both_families
@every_release_newest_always
def test_every_kind_of_route_is_counted_exactly(router: BenchmarkHost, family: str) -> None:
    router.forward(family, True)
    half, quarter, eighth, _rest = PARTS[family]
    router.route(family, "add", "blackhole", half)
    router.route(family, "add", "unreachable", quarter)
    router.route(family, "add", "prohibit", eighth)
    result = router.measured(family=family, network=WHOLE[family], **EVEN)
    assert result.values["return_codes"] == {
        "BLACKHOLE": 256000,
        "UNREACHABLE": 128000,
        "PROHIBIT": 64000,
        "NOT_FWDED": 64000,
    }
    assert not result.values.get("warnings")


@both_families
@every_release
@pytest.mark.proof(area="kernel", line=7, title="A route whose neighbour is not known is told apart from one that is")
def test_a_neighbour_that_is_not_known_is_told(router: BenchmarkHost, family: str) -> None:
    router.forward(family, True)
    router.route(family, "add", WHOLE[family], "via", NOBODY[family])
    options = {"family": family, "network": WHOLE[family], "interface": OUTSIDE, **EVEN}
    assert router.measured(**options).values["return_codes"] == {"NO_NEIGH": 512000}
    entry = (NOBODY[family], "lladdr", "02:00:00:00:00:99", "dev", OUTSIDE, "nud", "permanent")
    router.run("ip", f"-{family[-1]}", "neighbour", "replace", *entry)
    assert router.measured(**options).values["return_codes"] == {"SUCCESS": 512000}
    router.run("ip", f"-{family[-1]}", "neighbour", "del", *entry[:1], "dev", OUTSIDE)


@both_families
@every_release
@pytest.mark.proof(area="kernel", line=7, title="Routing rules see the source and the interface of a lookup")
@pytest.mark.parametrize("which", ["source", "interface"])
def test_rules_see_source_and_interface(router: BenchmarkHost, family: str, which: str) -> None:
    router.forward(family, True)
    router.route(family, "add", "prohibit", WHOLE[family])
    router.route(family, "add", "blackhole", WHOLE[family], "table", "77")
    condition, options = {
        "source": (("from", SOURCE[family]), {"source": SOURCE[family]}),
        "interface": (("iif", OUTSIDE), {"interface": OUTSIDE}),
    }[which]
    router.run("ip", f"-{family[-1]}", "rule", "add", "priority", "77", *condition, "lookup", "77")
    plain = {"family": family, "network": WHOLE[family], **EVEN}
    assert router.measured(**plain).values["return_codes"] == {"PROHIBIT": 512000}
    assert router.measured(**plain, **options).values["return_codes"] == {"BLACKHOLE": 512000}


@every_release
@pytest.mark.proof(area="kernel", line=7, title="Batches divide, and one lookup costs much the same")
def test_a_lookup_costs_much_the_same_in_batches(router: BenchmarkHost) -> None:
    found = {batch: router.measured(routes=1000, batch=batch).values for batch in (1, 10, 64)}
    assert found[64]["return_codes"] == {"SUCCESS": 3 * (100000 // 64) * 64}
    assert sum(bucket["count"] for bucket in found[10]["histogram"]) == 30000
    # The clock is read once for each batch.
    assert found[64]["empty_loop"]["p50"] < found[1]["empty_loop"]["p50"]
    assert found[1]["net"]["average"] / 3 < found[64]["net"]["average"] < 3 * found[1]["net"]["average"]
