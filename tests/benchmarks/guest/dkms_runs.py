"""Measures dkms_module with nothing to do against one ``dkms status``, in turn.

JSON comes in: ``arguments`` of the module, and ``repeat``. Lists of seconds go out, by name: ``ours`` from the module's
``main()`` to its end with everything imported, ``start`` for a Python that imports it all, ``theirs``.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ansible.module_utils import basic

MODULE = "ansible_collections.baremetal.fabric.plugins.modules.dkms_module"
OUTPUT = Path("/tmp/bench-out")


def run(arguments: dict[str, Any]) -> float:
    """Run the module in a fork, for it ends its process; returns its seconds."""
    main = importlib.import_module(MODULE).main
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
    basic._ANSIBLE_PROFILE = "legacy"
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
        try:
            main()
        except SystemExit:
            sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)
    result = json.loads(OUTPUT.read_text())
    if result.get("failed") or result["changed"]:
        raise AssertionError(f"it had something to do: {result}")
    return time.monotonic() - started


def command(*argv: str) -> float:
    """Run a command; returns its seconds."""
    started = time.monotonic()
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - started


def measure(arguments: dict[str, Any], repeat: int) -> dict[str, list[float]]:
    """Take all samples."""
    found: dict[str, list[float]] = {"ours": [], "start": [], "theirs": []}
    for _turn in range(repeat):
        found["theirs"].append(command("dkms", "status"))
        found["ours"].append(run(arguments))
        found["start"].append(command(sys.executable, "-c", f"import {MODULE}"))
    return found


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    print(json.dumps(measure(order["arguments"], order["repeat"])))
