"""Members that are lost: pulled while in use, and swapped while the power was off."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.integration.storage.pool_host import PoolHost, volume
from tests.integration.storage.releases import every_release

pytestmark = [pytest.mark.qemu, pytest.mark.slow]

VOLUMES = [volume("bits", "40MiB"), volume("rest", "100%FREE")]


def four_in_use(store: PoolHost) -> None:
    """A pool of four disks that is written to, without initramfs-tools."""
    store.plug("a", "b", "c", "d")
    store.settled("abcd", volumes=VOLUMES)
    store.fill("/srv/bits", 20)
    store.start_writer("/srv/rest")


def lose_a_member(store: PoolHost) -> tuple[str, int]:
    """Pull disk ``b`` while it is in use; returns a hash, and how many records were acknowledged then."""
    store.at("four-in-use", four_in_use)
    still = store.hash("/srv/bits/still")
    before = store.acknowledged()
    store.pull("b")
    return still, store.writer_goes_on(before)


def check_data(store: PoolHost, still: str, before: int) -> None:
    """All that was written is there, and more was written meanwhile."""
    assert store.writer_goes_on(before) > before
    store.check_records("/srv/rest")
    assert store.hash("/srv/bits/still") == still


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


def installed(store: PoolHost) -> None:
    """A pool of four disks and two arrays with data on it, in mdadm.conf and in the initramfs."""
    store.plug("a", "b", size="101M")
    store.plug("c", "d", size="201M")
    store.settled("abcd", volumes=VOLUMES)
    store.fill("/srv/bits", 20)


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
    store.at("installed", installed, start="fresh")
    still = store.hash("/srv/bits/still")
    swap_while_off(store, [("b", "e")], clean)
    # The array that lacks a disk was not started at boot; only the module does that.
    assert "inactive" in store.read("/proc/mdstat")
    result = store.settled("aecd", volumes=VOLUMES)
    assert result.shapes == [("raid5", 4, 292.5), ("raid1", 2, 98.9375)]
    assert result.values["pool"]["redundant"]
    assert {each["mounted_on"][0] for each in result.values["pool"]["volumes"]} == {"/srv/bits", "/srv/rest"}
    assert store.hash("/srv/bits/still") == still
