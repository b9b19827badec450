"""Measures guarded_config with nothing to do against ansible.builtin.copy of the same files, in turn.

JSON comes in: ``files`` (how many), ``bytes`` (in each), ``repeat``. Lists of seconds go out, by name: ``ours`` and
``theirs`` from a module's ``main()`` to its end with everything imported, ``our process`` and ``their processes``
whole.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ansible.module_utils import basic

OURS = "ansible_collections.baremetal.fabric.plugins.modules.guarded_config"
THEIRS = "copy_module"
LIVE, SOURCE = Path("/etc/fabric-bench"), Path("/root/fabric-bench")


def run(module: str, arguments: dict[str, Any]) -> float:
    """Run a module in a fork, for it ends its process; returns its seconds."""
    main = importlib.import_module(module).main
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode()
    basic._ANSIBLE_PROFILE = "legacy"
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open("/tmp/bench-out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
        try:
            main()
        except SystemExit:
            sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)
    return time.monotonic() - started


def process(module: str, arguments: dict[str, Any]) -> float:
    """The same in a new process, which imports everything."""
    code = (
        "import json,sys\nfrom ansible.module_utils import basic\n"
        "basic._ANSIBLE_ARGS=sys.argv[1].encode(); basic._ANSIBLE_PROFILE='legacy'\n"
        f"import {module} as m; m.main()"
    )
    argv = [sys.executable, "-c", code, json.dumps({"ANSIBLE_MODULE_ARGS": arguments})]
    started = time.monotonic()
    subprocess.run(argv, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - started


def changed() -> bool:
    """Whether the last module in a fork said that it changed something."""
    return bool(json.loads(Path("/tmp/bench-out").read_text())["changed"])


def measure(files: int, size: int, repeat: int) -> dict[str, list[float]]:
    """Take all samples."""
    declared, copies = [], []
    for folder in (LIVE, SOURCE):
        folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        content = "".join(f"option {line} of file {number}\n" for line in range(size // 24))
        source = SOURCE / f"{number}.conf"
        source.write_text(content)
        path = str(LIVE / source.name)
        declared.append({"path": path, "content": content})
        checksum = hashlib.sha1(content.encode()).hexdigest()  # noqa: S324
        copies.append({"src": str(source), "dest": path, "remote_src": True, "mode": "0644", "checksum": checksum})
    ours = {"name": "bench", "files": declared}
    run(OURS, ours)
    found: dict[str, list[float]] = {"ours": [], "theirs": [], "our process": [], "their processes": []}
    for _turn in range(repeat):
        found["theirs"].append(sum(run(THEIRS, each) for each in copies))
        if changed():
            raise AssertionError("copy changed something")
        found["ours"].append(run(OURS, ours))
        if changed():
            raise AssertionError("guarded_config changed something")
        found["their processes"].append(sum(process(THEIRS, each) for each in copies))
        found["our process"].append(process(OURS, ours))
    return found


if __name__ == "__main__":
    order = json.loads(sys.argv[1])
    print(json.dumps(measure(order["files"], order["bytes"], order["repeat"])))
