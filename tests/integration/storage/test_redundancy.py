"""Two redundant disks: any two may fail, at any settled moment."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from tests.integration.storage.pool_host import PoolHost
from tests.integration.storage.pools import VOLUMES, check_data
from tests.integration.storage.releases import every_release

pytestmark = [pytest.mark.qemu, pytest.mark.slow]


def lose_each(store: PoolHost, pairs: Sequence[tuple[str, ...]]) -> None:
    """For each pair of disks: pull both, find all data, undo."""
    still = store.hash("/srv/bits/still")
    store.host.snapshot_save("before-the-loss")
    for pair in pairs:
        before = store.acknowledged()
        store.pull(*pair)
        check_data(store, still, before)
        store.host.snapshot_load("before-the-loss")


@pytest.mark.proof(area="storage", line=5, title="Redundancy 2, 4 to 6 mixed disks: any two lost at settled moments")
@every_release
def test_two_disks_may_fail_at_every_settled_moment_of_growth(store: PoolHost) -> None:
    store.plug("a", "b", size="101M")
    store.plug("c", size="151M")
    store.plug("d", size="201M")
    result = store.settled("abcd", volumes=VOLUMES, redundancy=2)
    assert [shape[:2] for shape in result.shapes] == [("raid6", 4)]
    store.fill("/srv/bits", 20)
    store.start_writer("/srv/rest")
    lose_each(store, [("a", "b"), ("c", "d")])

    store.plug("e", size="151M")
    result = store.settled("abcde", volumes=VOLUMES, redundancy=2)
    assert [shape[:2] for shape in result.shapes] == [("raid6", 5)]
    lose_each(store, [("a", "e"), ("b", "d")])

    store.plug("f", size="201M")
    result = store.settled("abcdef", volumes=VOLUMES, redundancy=2)
    assert [shape[:2] for shape in result.shapes] == [("raid6", 6), ("raid6", 4)]
    lose_each(store, list(itertools.combinations("abcdef", 2)))


@pytest.mark.proof(area="storage", line=5, title="Redundancy 2: two disks lost at once are repaired at once")
@every_release
def test_two_lost_disks_are_repaired_together(store: PoolHost) -> None:
    store.plug("a", "b", "c", "d")
    store.settled("abcd", volumes=VOLUMES, redundancy=2)
    still = store.fill("/srv/bits", 20)
    store.start_writer("/srv/rest")
    before = store.acknowledged()
    store.pull("a", "d")
    store.plug("e", "f", size="151M")
    result = store.settled("ebcf", volumes=VOLUMES, redundancy=2)
    assert result.values["pool"]["redundant"]
    assert [shape[:2] for shape in result.shapes] == [("raid6", 4)]
    check_data(store, still, before)
    lose_each(store, [("b", "c"), ("e", "f")])
