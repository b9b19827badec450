"""A run with nothing to do, against looking at the same things by hand."""

from __future__ import annotations

import json

from .figures import Figure, Sample
from .store import GUEST, BenchmarkFailed, Store

BOUND = 2.0
STARTS = f"{GUEST}/starts"


def measure(store: Store, repeat: int) -> Figure:
    """Time both in turn, and count the processes that the module starts."""
    commands = {"ours": store.module("idle"), "theirs": store.by_hand("idle")}
    store.measure(commands, 1)  # fills the caches
    found = store.measure(commands, repeat)
    for run in found["ours"]:
        if json.loads(run["stdout"])["changed"]:
            raise BenchmarkFailed("The module had nothing to do and changed something.")
    samples = {name: Sample(tuple(run["seconds"] for run in runs)) for name, runs in found.items()}
    store.measure({"ours": store.module("idle")}, 1, {"PYTHONPATH": GUEST, "WATCH_STARTS": STARTS})
    started = store.host.get(STARTS).decode().split("\n")
    notes = f"starts {len(started)} processes, by hand 5"
    return Figure("nothing to do", samples["ours"], samples["theirs"], BOUND, notes)
