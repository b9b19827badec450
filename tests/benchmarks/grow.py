"""Growing a pool with the module, against a shell script that somebody wrote for exactly this host.

Two exchanges of the article. With the second larger disk a new slice begins: an array more, so also a new initramfs.
With the third the mirror becomes raid5; LVM and the file system follow. Waits for md are the same for both and are left
out. A snapshot puts the host back before each run.
"""

from __future__ import annotations

from dataclasses import dataclass

from .figures import Figure, Sample
from .store import GUEST, POOL, BenchmarkFailed, Store

BOUND = 1.5
WAITS = f"{GUEST}/waits"
#: What the module and the script run; read once, so that neither pays for the other's reading.
WARM = "cat /usr/sbin/mdadm /usr/sbin/sgdisk /usr/sbin/lvm /usr/sbin/resize2fs /usr/bin/partx > /dev/null"


@dataclass(frozen=True)
class Exchange:
    """A disk gives its bay to a larger one.

    ``large`` are the bays that have had theirs, ``neighbours`` those whose disks the script must know, too;
    ``most_repeats`` limits what takes minutes.
    """

    name: str
    what: str
    large: tuple[str, ...]
    bay: str
    neighbours: tuple[str, ...]
    grown_mib: int
    most_repeats: int
    notes: str


NEW_SLICE = Exchange(
    name="a new slice",
    what="new-slice",
    large=("bay1",),
    bay="bay2",
    neighbours=("bay1",),
    grown_mib=384,
    most_repeats=3,
    notes="rebuilds the initramfs; waits for md left out",
)
WIDER_SLICE = Exchange(
    name="a slice grows",
    what="grow",
    large=("bay1", "bay2"),
    bay="bay3",
    neighbours=(),
    grown_mib=484,
    most_repeats=99,
    notes="waits for md left out",
)


def measure(store: Store, exchange: Exchange, repeat: int) -> Figure:
    """Make the exchange again and again from the same moment."""
    store.exchange(exchange.bay)
    store.put_module(exchange.what, store.disks())
    store.host.run(["sh", "-c", f"{WARM}; udevadm settle"])
    start = store.start(repeat)
    store.host.snapshot_save(exchange.what)
    ours: list[float] = []
    theirs: list[float] = []
    for _turn in range(min(repeat, exchange.most_repeats)):
        theirs.append(_by_hand(store, exchange))
        ours.append(_by_module(store, exchange))
    return Figure(exchange.name, Sample(tuple(ours)), Sample(tuple(theirs)), BOUND, start, exchange.notes)


def _by_module(store: Store, exchange: Exchange) -> float:
    store.host.snapshot_load(exchange.what)
    watch = {"PYTHONPATH": GUEST, "WATCH_WAITS": WAITS}
    run = store.measure({"ours": store.module(exchange.what)}, 1, watch)["ours"][0]
    _check(store, exchange)
    return float(run["seconds"]) - float(store.host.get(WAITS))


def _by_hand(store: Store, exchange: Exchange) -> float:
    store.host.snapshot_load(exchange.what)
    disks = [store.host.disks()[bay] for bay in (*exchange.neighbours, exchange.bay)]
    run = store.measure({"theirs": store.by_hand(exchange.what, *disks)}, 1)["theirs"][0]
    _check(store, exchange)
    return float(run["seconds"]) - int(run["stdout"]) / 100


def _check(store: Store, exchange: Exchange) -> None:
    argv = ["vgs", "--noheadings", "--nosuffix", "--units=m", "--options=vg_size", POOL]
    capacity = float(store.host.run(argv).stdout)
    if capacity != exchange.grown_mib:
        raise BenchmarkFailed(f"The volume group has {capacity:g} MiB; {exchange.grown_mib} MiB were expected.")
