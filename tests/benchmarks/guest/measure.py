"""Runs on the host that is measured: times commands in turn. Reads a request from standard input, prints JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


def timed(argv: list[str], environment: dict[str, str]) -> dict[str, object]:
    """Run a command and return its seconds, its exit status and what it printed."""
    started = time.monotonic()
    done = subprocess.run(
        argv, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    seconds = time.monotonic() - started
    return {"seconds": seconds, "rc": done.returncode, "stdout": done.stdout.decode(), "stderr": done.stderr.decode()}


def main() -> None:
    """Time each command of the request ``repeat`` times, one after the other."""
    request = json.load(sys.stdin)
    environment = request.get("environment", {})
    found: dict[str, list[dict[str, object]]] = {name: [] for name in request["commands"]}
    for _round in range(request["repeat"]):
        for name, argv in request["commands"].items():
            found[name].append(timed(argv, environment))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
