"""Runs one module in a process of its own, and cuts the run off where it is told to.

What runs is the module's own ``main()``, with its arguments as Ansible hands them over. One object of JSON comes in:
``module``, ``arguments`` and optionally ``cut``, the arguments of :class:`Cut`; ``orphan``, a ``program`` that goes on
for some ``seconds`` after the run was killed beside it; and ``instead``, values for names in module_utils. One goes
out: ``stdout``, ``stderr``, ``status`` (as subprocess has it: negative for a signal), ``seconds``, and ``started``, a
line for each process that the run began to start, as Python's audit events tell them.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import socket
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

    ``calls`` are further functions of ``os`` whose ends count as moments (``link``, ``unlink``), and ``connect`` and
    ``send`` of Unix sockets. With ``anywhere`` what happens outside of steps counts too, such as the recovery from an
    earlier run. With ``alike`` moments whose names differ in numbers only are the same one. With ``at`` the run is
    killed at the moment of that number, counted from 1, whatever is in ``seen``.
    """

    def __init__(
        self,
        pattern: str = "",
        seen: str = "",
        calls: Sequence[str] = (),
        anywhere: bool = False,
        alike: bool = False,
        at: int = 0,
    ) -> None:
        self.calls = tuple(calls)
        self._alike = alike
        self._pattern = re.compile(pattern)
        self._path = seen
        self._step = "elsewhere" if anywhere else ""
        self._outside = self._step
        self._at = at
        self._passed = 0
        # What the run forks, such as a validation in namespaces of its own, is not the run.
        self._pid = os.getpid()
        self._seen: set[str] = set()
        with contextlib.suppress(FileNotFoundError), open(seen, encoding="utf-8") as file:
            self._seen = set(file.read().splitlines())

    def moment(self, name: str) -> None:
        """Die here, or go on."""
        if not self._step or os.getpid() != self._pid or not self._pattern.search(name):
            return
        if self._alike:
            name = re.sub("[0-9]+", "0", name)
        self._passed += 1
        if self._passed != self._at if self._at else name in self._seen:
            return
        if self._path:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(f"{name}\n")
                file.flush()
                _fsync(file.fileno())
        os.kill(os.getpid(), signal.SIGKILL)

    @contextlib.contextmanager
    def during(self, step: str) -> Iterator[None]:
        """Tell where a step begins and ends. What follows on one that failed, such as a rollback, is still its own."""
        self._step = step
        self.moment(f"{step}: begins")
        yield
        self.moment(f"{step}: done")
        self._step = self._outside

    def happened(self, what: str) -> None:
        """Tell of a command, a write or a call; outside of steps it does not count, unless anything does."""
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
    for name in cut.calls:
        if name in ("connect", "send"):
            _listen_to_sockets(cut, name)
        else:
            setattr(os, name, _call_and_tell(cut, name))
    for kind in _resources():
        if "apply" in vars(kind):
            kind.apply = telling(kind.apply)


def _call_and_tell(cut: Cut, name: str) -> Callable[..., Any]:
    call: Callable[..., Any] = getattr(os, name)

    def tell(*args: Any, **options: Any) -> Any:
        result = call(*args, **options)
        cut.happened(f"{name} {' '.join(str(each) for each in args)}")
        return result

    return tell


def _listen_to_sockets(cut: Cut, name: str) -> None:
    """Make ``cut`` hear of what is done to Unix sockets; a message may be sent by either of two methods."""

    def telling(call: Callable[..., Any]) -> Callable[..., Any]:
        def tell(self: socket.socket, *args: Any) -> Any:
            result = call(self, *args)
            if self.family == socket.AF_UNIX:
                cut.happened(f"{name} {args[0]!r}")
            return result

        return tell

    for method in ("connect",) if name == "connect" else ("send", "sendall"):
        setattr(socket.socket, method, telling(getattr(socket.socket, method)))


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


def _tell_processes(file: int) -> None:
    """Write a line for each process that is started from now on (see Python's table of audit events)."""
    events = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}

    def hear(event: str, args: tuple[Any, ...]) -> None:
        if event in events:
            what = " ".join(map(str, args[1])) if event == "subprocess.Popen" else ""
            os.write(file, f"{event} {what}\n".encode())

    sys.addaudithook(hear)


def _child(order: dict[str, Any], stdout: int, stderr: int, started: int) -> int:
    os.setsid()
    _tell_processes(started)
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
    began = time.monotonic()
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr, tempfile.TemporaryFile() as started:
        pid = os.fork()
        if pid == 0:
            os._exit(_child(order, stdout.fileno(), stderr.fileno(), started.fileno()))
        _pid, status = os.waitpid(pid, 0)
        texts = []
        for file in (stdout, stderr, started):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return {
        "stdout": texts[0],
        "stderr": texts[1],
        "started": texts[2].splitlines(),
        "status": os.waitstatus_to_exitcode(status),
        "seconds": time.monotonic() - began,
    }


if __name__ == "__main__":
    print(json.dumps(carry_out(json.load(sys.stdin))))
