"""Runs that are killed at every moment: the next one ends what they began."""

from __future__ import annotations

import pytest

from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.sources import NAME, Toy
from tests.integration.kernel.stage import every_release

SEEN = "/root/cuts"
#: Far more than a chain has moments.
MOST_RUNS = 120
#: Fewer moments than it can have: six steps that begin and end, and a command in most of them.
FEW = 14


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=5, title="Killed between any two moments of an upgrade: run again, same end")
@every_release
def test_a_chain_of_killed_runs_comes_to_the_same_end(builder: KernelHost) -> None:
    builder.done(**builder.toy(Toy("1.0"), kernels=[builder.newer]))
    upgrade = builder.toy(Toy("2.0"), kernels=[builder.newer], replace_older=True)
    builder.run("rm", "-f", SEEN)
    kills = 0
    cut = {"seen": SEEN, "calls": ("rename",), "pattern": "begins|done|ran|rename|in place"}
    while (result := builder.attempt(**upgrade, cut=cut)).killed:
        kills += 1
        assert kills < MOST_RUNS
        # Whatever was cut off, a kernel has one version or the other.
        assert builder.is_in_place(builder.newer, "1.0") or builder.is_in_place(builder.newer, "2.0")
    assert not result.failed, result.message
    print(f"{builder.release}: killed at {kills} moments")
    assert kills >= FEW
    assert builder.is_in_place(builder.newer, "2.0")
    builder.at_rest(**upgrade)
    everything = builder.everything()
    assert ".fabric-" not in everything
    assert "/kernel/build/" not in everything
    assert f"{NAME}/1.0" not in everything
    chained = everything
    builder.start_over()
    builder.done(**builder.toy(Toy("1.0"), kernels=[builder.newer]))
    builder.done(**builder.toy(Toy("2.0"), kernels=[builder.newer], replace_older=True))
    assert builder.everything() == chained


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=5, title="A killed run's build works on: the next run waits, and builds by itself"
)
@every_release
def test_a_run_waits_for_the_build_that_a_killed_run_left_behind(builder: KernelHost) -> None:
    options = builder.toy(Toy(), kernels=[builder.newer])
    assert builder.attempt(**options, orphan={"program": "/usr/sbin/dkms", "seconds": 3}).killed
    result = builder.done(**options)
    assert result.seconds > 3
    assert builder.is_in_place(builder.newer, "1.0")
    builder.at_rest(**options)
