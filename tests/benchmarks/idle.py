"""A run with nothing to do, against looking at the same things by hand.

Beside it a module that does nothing at all, which tells what any module costs: Python starts, and Ansible's part of it
is unpacked, compiled and read.
"""

from __future__ import annotations

import json

from .figures import Figure, Sample
from .store import GUEST, BenchmarkFailed, Store

BOUND = 2.0
STARTS = f"{GUEST}/starts"
#: lsblk, mdadm --detail, pvs, vgs, lvs.
BY_HAND_STARTS = 5


def measure(store: Store, repeat: int) -> Figure:
    """Time both in turn, and count the processes that the module starts."""
    store.put_module("idle", store.disks())
    commands = {"ours": store.module("idle"), "theirs": store.by_hand("look"), "empty": store.module("empty")}
    store.measure(commands, 1)  # fills the caches
    found = store.measure(commands, repeat)
    for run in found["ours"]:
        if json.loads(run["stdout"])["changed"]:
            raise BenchmarkFailed("The module had nothing to do and changed something.")
    samples = {name: Sample(tuple(run["seconds"] for run in runs)) for name, runs in found.items()}
    store.measure({"ours": store.module("idle")}, 1, {"PYTHONPATH": GUEST, "WATCH_STARTS": STARTS})
    started = len(store.host.get(STARTS).splitlines())
    empty = samples["empty"].median / samples["theirs"].median
    notes = f"starts {started} processes, by hand {BY_HAND_STARTS}; a module that does nothing takes {empty:.2f} x"
    return Figure("nothing to do", samples["ours"], samples["theirs"], BOUND, store.start(repeat), notes)
