"""Runs one module in a process of its own, and cuts the run off where it is told to.

What runs is the module's own ``main()``, with its arguments as Ansible hands them over. One object of JSON comes in:
``module``, ``arguments`` and optionally ``cut``, the arguments of :class:`Cut`; ``orphan``, a ``program`` that goes on
for some ``seconds`` after the run was killed beside it; and ``instead``, values for names in module_utils. One goes
out: ``stdout``, ``stderr``, ``status`` (as subprocess has it: negative for a signal) and ``seconds``.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ansible.module_utils import basic

from ansible_collections.baremetal.fabric.plugins.module_utils._converge import command, converge

MODULES = "ansible_collections.baremetal.fabric.plugins.modules"
UTILS = "ansible_collections.baremetal.fabric.plugins.module_utils"
_fsync = os.fsync
_replace = os.replace


class Cut:
    """Kills the run at the first moment that matches ``pattern`` and is not in the file ``seen``.

    Moments of a step are its beginning, the time after each of its commands, after each file that it put through to
    a disk and after each that it put in place, and its end. The file remembers where runs were killed, so a chain of
    runs is killed once at every moment there is, and comes to an end.
    """

    def __init__(self, pattern: str, seen: str = "") -> None:
        self._pattern = re.compile(pattern)
        self._path = seen
        self._step = ""
        self._seen: set[str] = set()
        with contextlib.suppress(FileNotFoundError), open(seen, encoding="utf-8") as file:
            self._seen = set(file.read().splitlines())

    def moment(self, name: str) -> None:
        """Die here, or go on."""
        if not self._step or name in self._seen or not self._pattern.search(name):
            return
        if self._path:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(f"{name}\n")
                file.flush()
                _fsync(file.fileno())
        os.kill(os.getpid(), signal.SIGKILL)

    @contextlib.contextmanager
    def during(self, step: str) -> Iterator[None]:
        """Tell where a step begins and ends."""
        self._step = step
        self.moment(f"{step}: begins")
        yield
        self.moment(f"{step}: done")
        self._step = ""

    def happened(self, what: str) -> None:
        """Tell of a command or a write; outside of steps it does not count."""
        self.moment(f"{self._step}: {what}")


def _resources(kind: type[Any] = converge.Resource) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _resources(each)


def _listen(cut: Cut) -> None:
    """Make ``cut`` hear of every step, command and write."""
    run = command.Runner.run

    def run_and_tell(self: command.Runner, argv: Sequence[str], *args: Any, **options: Any) -> str:
        output = run(self, argv, *args, **options)
        cut.happened(f"ran {' '.join(argv)}")
        return output

    def telling(apply: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def apply_and_tell(self: Any, step: Any) -> None:
            with cut.during(step.title):
                apply(self, step)

        return apply_and_tell

    def fsync_and_tell(fd: Any) -> None:
        _fsync(fd)
        cut.happened("wrote")

    def replace_and_tell(src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        _replace(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        cut.happened(f"put {os.fspath(dst)!s} in place")

    command.Runner.run = run_and_tell  # type: ignore[method-assign]
    os.fsync = fsync_and_tell
    os.replace = replace_and_tell
    for kind in _resources():
        if "apply" in vars(kind):
            kind.apply = telling(kind.apply)


def _orphan(program: str, seconds: int) -> None:
    """Kill the run while ``program`` works, which takes it so many seconds and goes on without its parent."""
    run = command.Runner.run

    def run_and_die(self: command.Runner, argv: Sequence[str], *args: Any, **options: Any) -> str:
        if argv[0] != program:
            return run(self, argv, *args, **options)
        slow = ["sh", "-c", f'sleep {seconds}; exec "$@"', "slow", *argv]
        subprocess.Popen(slow, stdin=subprocess.DEVNULL, pass_fds=self.inherit, env=dict(os.environ, LC_ALL="C"))
        os.kill(os.getpid(), signal.SIGKILL)
        return ""

    command.Runner.run = run_and_die  # type: ignore[method-assign]


def _run_module(order: dict[str, Any]) -> None:
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": order["arguments"]}).encode()
    basic._ANSIBLE_PROFILE = "legacy"
    module = importlib.import_module(f"{MODULES}.{order['module']}")
    for path, value in order.get("instead", {}).items():
        place, name = path.rsplit(".", 1)
        setattr(importlib.import_module(f"{UTILS}.{place}"), name, value)
    if order.get("cut"):
        _listen(Cut(**order["cut"]))
    if order.get("orphan"):
        _orphan(**order["orphan"])
    module.main()


def _child(order: dict[str, Any], stdout: int, stderr: int) -> int:
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    try:
        _run_module(order)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def carry_out(order: dict[str, Any]) -> dict[str, Any]:
    """Run one module in a process of its own."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        pid = os.fork()
        if pid == 0:
            os._exit(_child(order, stdout.fileno(), stderr.fileno()))
        _pid, status = os.waitpid(pid, 0)
        texts = []
        for file in (stdout, stderr):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return {
        "stdout": texts[0],
        "stderr": texts[1],
        "status": os.waitstatus_to_exitcode(status),
        "seconds": time.monotonic() - started,
    }


if __name__ == "__main__":
    print(json.dumps(carry_out(json.load(sys.stdin))))
