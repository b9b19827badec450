"""Growing a pool with the module, against a shell script that somebody wrote for exactly this host.

The third exchange of the article: the new disk gets its two slices, the first array is repaired, the mirror becomes
raid5, LVM and the file system follow. No new array, so no new initramfs, whose minutes would hide every difference.
Waits for md are the same for both and are left out. A snapshot puts the host back before each run.
"""

from __future__ import annotations

from .figures import Figure, Sample
from .store import GUEST, POOL, BenchmarkFailed, Store, serial

BOUND = 1.5
SNAPSHOT = "grow"
BAY, OLD_SIZE, NEW_SIZE = "bay3", "101M", "201M"
GROWN_MIB = 484
WAITS = f"{GUEST}/waits"
#: What the module and the script run; read once, so that neither pays for the other's reading.
WARM = "cat /usr/sbin/mdadm /usr/sbin/sgdisk /usr/sbin/lvm /usr/sbin/resize2fs /usr/bin/partx > /dev/null"


def measure(store: Store, repeat: int) -> Figure:
    """Exchange the disk, then grow again and again from the same moment."""
    old, new = serial(BAY, OLD_SIZE), serial(BAY, NEW_SIZE)
    store.host.disk_swap(BAY, NEW_SIZE, serial=new)
    if old not in store.payload:
        raise BenchmarkFailed(f"The module's file does not name the disk {old}.")
    store.put_payload("grow", store.payload.replace(old, new))
    store.host.run(["sh", "-c", f"{WARM}; udevadm settle"])
    store.host.snapshot_save(SNAPSHOT)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(repeat):
        ours.append(_by_module(store))
        theirs.append(_by_hand(store))
    notes = "waits for md are left out"
    return Figure("a pool grows", Sample(tuple(ours)), Sample(tuple(theirs)), BOUND, notes)


def _by_module(store: Store) -> float:
    store.host.snapshot_load(SNAPSHOT)
    watch = {"PYTHONPATH": GUEST, "WATCH_WAITS": WAITS}
    run = store.measure({"ours": store.module("grow")}, 1, watch)["ours"][0]
    _check(store)
    return float(run["seconds"]) - float(store.host.get(WAITS))


def _by_hand(store: Store) -> float:
    store.host.snapshot_load(SNAPSHOT)
    run = store.measure({"theirs": store.by_hand("grow", store.host.disks()[BAY])}, 1)["theirs"][0]
    _check(store)
    return float(run["seconds"]) - int(run["stdout"]) / 100


def _check(store: Store) -> None:
    argv = ["vgs", "--noheadings", "--nosuffix", "--units=m", "--options=vg_size", POOL]
    capacity = float(store.host.run(argv).stdout)
    if capacity != GROWN_MIB:
        raise BenchmarkFailed(f"The volume group has {capacity:g} MiB; {GROWN_MIB} MiB were expected.")
