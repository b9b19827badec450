"""Runs in a process of its own: plans for so many disks, so many times, and prints seconds and peak memory as JSON."""

from __future__ import annotations

import json
import sys
import time
import tracemalloc
from collections.abc import Callable, Sized
from dataclasses import replace
from functools import partial

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.growth import after_plan, plan_pool
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import Disk, Pool, Wanted

TB = 10**12
#: Disks as one buys them over the years; each differs a little from the others of its kind.
KINDS_TB = (4, 6, 8, 8, 12, 16)
JITTER_BYTES = 7 * 1024**2
LARGER_TB = 20


def _disk(number: int, tb: int) -> Disk:
    size = (tb * TB + number * JITTER_BYTES) // 4096 * 4096
    return Disk(node=f"/dev/sd{number}x", size=size, path=f"/dev/disk/by-id/{number}", serial=f"S{number}")


def _with_first_exchanged(pool: Pool) -> Pool:
    old, *others = pool.disks
    new = replace(_disk(0, LARGER_TB), node="/dev/sdnew")
    arrays = tuple(
        replace(array, members=tuple(member for member in array.members if member.disk != old.node))
        for array in pool.arrays
    )
    return replace(pool, arrays=arrays, disks=(new, *others), resolved=((new.path, new.node), *pool.resolved[1:]))


def _measure(plan: Callable[[], Sized], repeat: int) -> dict[str, object]:
    seconds = []
    for _round in range(repeat):
        started = time.perf_counter()
        plan()
        seconds.append(time.perf_counter() - started)
    # Tracing slows everything down, so it has a run of its own.
    tracemalloc.start()
    steps = len(plan())
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"seconds": seconds, "steps": steps, "peak_bytes": peak}


def main(count: int, repeat: int) -> None:
    """Measure the three kinds of plan."""
    disks = tuple(_disk(number, KINDS_TB[number % len(KINDS_TB)]) for number in range(count))
    want = Wanted(name="data", disks=tuple(disk.path for disk in disks))
    blank = Pool(name="data", disks=disks, resolved=tuple((disk.path, disk.node) for disk in disks))
    made = after_plan(blank, plan_pool(blank, want))
    cases = {"a new pool": blank, "a disk exchanged": _with_first_exchanged(made), "nothing to do": made}
    print(json.dumps({name: _measure(partial(plan_pool, pool, want), repeat) for name, pool in cases.items()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
