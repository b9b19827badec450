"""The planner alone: seconds and peak memory at 10, 100 and 1,000 disks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from tests.playbook import COLLECTIONS, ROOT

from .figures import Figure, Sample

SIZES = (10, 100, 1000)
BOUND_SECONDS = 1.0


def measure(repeat: int) -> Iterator[Figure]:
    """Measure in a process of its own for each size, so that none pays for the others' garbage."""
    for disks in SIZES:
        argv = [sys.executable, "-m", "tests.benchmarks.planning", str(disks), str(repeat)]
        environment = {**os.environ, "PYTHONPATH": str(COLLECTIONS)}
        output = subprocess.run(argv, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE).stdout
        for name, found in json.loads(output).items():
            notes = f"{found['steps']} steps, peak memory {found['peak_bytes'] / 1024:,.0f} KiB"
            seconds = Sample(tuple(found["seconds"]))
            yield Figure(f"plan, {disks:,} disks, {name}", seconds, None, BOUND_SECONDS, notes=notes)
