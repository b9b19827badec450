"""Members that are lost: pulled while in use, and swapped while the power was off."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.integration.storage.pool_host import PoolHost
from tests.integration.storage.pools import VOLUMES, check_data, four_in_use, installed
from tests.integration.storage.releases import every_release

pytestmark = [pytest.mark.qemu, pytest.mark.slow]


def lose_a_member(store: PoolHost) -> tuple[str, int]:
    """Pull disk ``b`` while it is in use; returns a hash, and how many records were acknowledged then."""
    four_in_use(store)
    still = store.hash("/srv/bits/still")
    before = store.acknowledged()
    store.pull("b")
    return still, store.writer_goes_on(before)


@pytest.mark.proof(area="storage", line=4, title="A member pulled in use, a blank one of equal size: repaired")
@every_release
def test_a_blank_disk_of_equal_size_repairs(store: PoolHost) -> None:
    still, before = lose_a_member(store)
    store.plug("e", size="101M")
    result = store.settled("aecd", volumes=VOLUMES)
    assert result.shapes == [("raid5", 4, 292.5)]
    assert result.values["pool"]["redundant"]
    check_data(store, still, before)


@pytest.mark.proof(area="storage", line=4, title="A member pulled in use, larger blank ones: repaired, then grown")
@every_release
def test_larger_disks_repair_and_grow(store: PoolHost) -> None:
    still, before = lose_a_member(store)
    store.plug("e", size="201M")
    result = store.settled("aecd", volumes=VOLUMES)
    assert result.shapes == [("raid5", 4, 292.5)]
    assert any("wait for a partner" in finding for finding in result.values["findings"])
    store.swap("c", "f", size="201M")
    result = store.settled("aefd", volumes=VOLUMES)
    assert [shape[:2] for shape in result.shapes] == [("raid5", 4), ("raid1", 2)]
    assert result.values["pool"]["redundant"]
    assert result.values["pool"]["free"] == 0
    check_data(store, still, before)


@pytest.mark.proof(area="storage", line=4, title="A member pulled in use, a smaller blank one: refused, untouched")
@every_release
def test_a_smaller_disk_is_refused_and_stays_blank(store: PoolHost) -> None:
    still, before = lose_a_member(store)
    store.plug("e", size="90M")
    blank = store.fingerprint("e")
    words = store.refused("aecd", volumes=VOLUMES)
    assert "virtio-e is too small to repair array data-0" in words
    assert store.fingerprint("e") == blank
    check_data(store, still, before)


def swap_while_off(store: PoolHost, swaps: Sequence[tuple[str, str]], clean: bool) -> None:
    """Take the power away, or shut down, swap disks, and boot."""
    store.host.power_off(clean=clean)
    for old, new in swaps:
        store.host.disk_swap(old, "101M", new_name=new)
    store.boot()


@pytest.mark.proof(area="storage", line=4, title="A disk swapped while off: SSH comes back, the next run repairs")
@pytest.mark.parametrize("clean", [pytest.param(True, id="shut-down"), pytest.param(False, id="power-cut")])
@every_release
def test_a_disk_swapped_while_the_power_was_off_is_repaired(store: PoolHost, clean: bool) -> None:
    installed(store)
    still = store.hash("/srv/bits/still")
    swap_while_off(store, [("b", "e")], clean)
    # The array that lacks a disk was not started at boot; only the module does that.
    assert "inactive" in store.read("/proc/mdstat")
    result = store.settled("aecd", volumes=VOLUMES)
    assert result.shapes == [("raid5", 4, 292.5), ("raid1", 2, 98.9375)]
    assert result.values["pool"]["redundant"]
    assert {each["mounted_on"][0] for each in result.values["pool"]["volumes"]} == {"/srv/bits", "/srv/rest"}
    assert store.hash("/srv/bits/still") == still
