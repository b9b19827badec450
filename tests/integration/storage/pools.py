"""Pools that several proofs begin with."""

from __future__ import annotations

from tests.integration.storage.pool_host import PoolHost, volume

VOLUMES = [volume("bits", "40MiB"), volume("rest", "100%FREE")]
#: KiB/s and disk: a slice of 100 MiB then lasts more than a minute, longer than any command here takes.
SLOW = 1000


def four_in_use(store: PoolHost) -> PoolHost:
    """A pool of four disks that is written to, on a host without initramfs-tools."""
    return store.at("four-in-use", _four_in_use)


def _four_in_use(store: PoolHost) -> None:
    store.plug("a", "b", "c", "d")
    store.settled("abcd", volumes=VOLUMES)
    store.fill("/srv/bits", 20)
    store.start_writer("/srv/rest")


def installed(store: PoolHost) -> PoolHost:
    """A pool of four disks and two arrays with data on it, in mdadm.conf and in the initramfs."""
    return store.at("installed", _installed, start="fresh")


def _installed(store: PoolHost) -> None:
    store.plug("a", "b", size="101M")
    store.plug("c", "d", size="201M")
    store.settled("abcd", volumes=VOLUMES)
    store.fill("/srv/bits", 20)


def check_data(store: PoolHost, still: str, before: int) -> None:
    """All that was written is there, and more than ``before`` was written meanwhile."""
    assert store.writer_goes_on(before) > before
    store.check_records("/srv/rest")
    assert store.hash("/srv/bits/still") == still
