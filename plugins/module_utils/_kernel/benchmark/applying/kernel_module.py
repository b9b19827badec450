# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Has the kernel module loaded for as long as a run takes, and lets it look routes up."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import typing as t

from ...._converge.command import SEARCH_PATH, CommandError, Runner
from ...._converge.converge import ObservationFailed, Refusal
from ..model import Loop, Run, Sample
from ..module_orders import DEVICE, FOR_ONE_RUN, NAME, VERSION, BadAnswer, order, refusal_in, sample_of

TOOLS = {"modprobe": "kmod", "modinfo": "kmod", "rmmod": "kmod"}
_LOADED = f"/sys/module/{NAME}"
_HOW_TO_GET_IT = (
    "The role baremetal.fabric.kernel_benchmark with kernel_benchmark_engine set to module builds and installs it; the "
    "engine bpf needs none."
)

Warn = t.Callable[[str], None]


def _read(path: str) -> str:
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        return file.read().strip()
    return ""


def require_module(runner: Runner) -> None:
    """Raise Refusal unless the running kernel has the module, or can load it, in the version that is needed."""
    loaded = os.path.isdir(_LOADED)
    if loaded:
        version = _read(f"{_LOADED}/version")
    else:
        try:
            version = runner.run(("modinfo", "--field", "version", NAME)).strip()
        except CommandError as error:
            raise Refusal(
                f"The kernel module {NAME} is not installed for the running kernel {os.uname().release}. "
                f"{_HOW_TO_GET_IT}"
            ) from error
    if version != VERSION:
        what = f"loaded as version {version}; unload it with rmmod" if loaded else f"installed as version {version}"
        raise Refusal(f"The kernel module {NAME} is {what}, but version {VERSION} is needed. {_HOW_TO_GET_IT}")


def _is_for_one_run() -> bool:
    return _read(f"{_LOADED}/parameters/{FOR_ONE_RUN}") == "Y"


def _wait_and_unload(alive: int) -> t.NoReturn:
    """Be the keeper: unload the module once nobody has the other end of the pipe ``alive`` any more."""
    os.setsid()
    # What ends the run is to be survived; then there is nothing left to wait for.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)
    os.read(alive, 1)
    rmmod = shutil.which("rmmod", path=SEARCH_PATH) or "/usr/sbin/rmmod"
    os.execv(rmmod, (rmmod, NAME))  # noqa: S606 - no shell is wanted


@contextlib.contextmanager
def _keeper(warn: Warn) -> t.Iterator[int]:
    """Have a process that unloads the module at the end, also when this one is killed; yield what keeps it waiting."""
    alive, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(held)
            _wait_and_unload(alive)
        finally:
            os._exit(1)
    os.close(alive)
    try:
        yield held
    finally:
        os.close(held)
        os.waitpid(pid, 0)
        if os.path.isdir(_LOADED):
            warn(f"The kernel module {NAME} stays loaded, because something else uses it; unload it with rmmod.")


@contextlib.contextmanager
def _loaded(runner: Runner, warn: Warn) -> t.Iterator[None]:
    """Have the module loaded inside; afterwards it is not, unless somebody had it loaded before."""
    if os.path.isdir(_LOADED) and not _is_for_one_run():
        yield
        return
    with _keeper(warn) as held:
        # Should this process be killed meanwhile, the keeper waits for modprobe, too.
        Runner(inherit=(*runner.inherit, held)).run(("modprobe", NAME, f"{FOR_ONE_RUN}=1"))
        yield


def _everything_of(descriptor: int) -> str:
    parts: list[bytes] = []
    while True:
        part = os.read(descriptor, 1 << 20)
        if not part:
            return b"".join(parts).decode()
        parts.append(part)


def _refusal(descriptor: int) -> str:
    """Return why the last order was refused, or nothing when the module has no words for it."""
    with contextlib.suppress(OSError):
        return refusal_in(_everything_of(descriptor))
    return ""


def _run(loop: Loop, lookups: int) -> tuple[Sample, int]:
    """Return what so many lookups came to, and how far the walk went."""
    descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            os.write(descriptor, order(loop, lookups).encode())
        except OSError as error:
            reason = _refusal(descriptor)
            if not reason:
                raise
            raise ObservationFailed(f"The kernel module {NAME} refuses: {reason} ({error.strerror}).") from error
        return sample_of(_everything_of(descriptor), loop.batch)
    except BadAnswer as error:
        raise ObservationFailed(str(error)) from error
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def module_engine(runner: Runner, warn: Warn) -> t.Iterator[Run]:
    """Have the kernel module do it. Raises CommandError when it cannot be loaded, and ObservationFailed."""
    with _loaded(runner, warn):
        if not os.path.exists(DEVICE):
            raise ObservationFailed(
                f"The kernel module {NAME} is loaded, but there is no {DEVICE}; in a container, run on the host."
            )
        yield _run
