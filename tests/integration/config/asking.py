"""A client that asks a web server all the time, from outside."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab import LabHost

PROGRAM = Path(__file__).parent / "on_host" / "asker.py"
THREADS = 6
PER_SECOND = 400


@dataclass
class Asking:
    """What came of the requests; complete when the ``with`` block has ended."""

    attempts: int = 0
    failures: int = 0
    #: What the first failures were, and how many seconds after the start.
    told: list[tuple[float, str]] = field(default_factory=list)


@contextlib.contextmanager
def asking(client: LabHost, address: str, port: int) -> Iterator[Asking]:
    """Ask without pause during the block, several times at once, each time over a new connection."""
    argv = [sys.executable, str(PROGRAM), address, str(port), str(THREADS), str(PER_SECOND)]
    found = Asking()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with client.popen(argv, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            assert process.stdout.readline() == b"asking\n", process.stderr.read().decode()
            yield found
        finally:
            process.stdin.close()
            values = process.stdout.read()
        assert process.wait(60) == 0, process.stderr.read().decode()
    vars(found).update(json.loads(values))
