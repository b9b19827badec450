"""Finding and ending a lab's processes: by the names they carry, never by a broad pattern."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterable
from pathlib import Path

from . import addresses
from .commands import run
from .errors import LabError
from .network import namespaces

LAB_PROGRAMS = ("qemu-system-x86_64", "systemd-nspawn", "ssh")


def command_line(pid: int) -> list[str]:
    """The arguments of a process; empty when it is gone or a kernel thread."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return []


def of_lab(lab: str, state_directory: Path) -> list[int]:
    """QEMU, nspawn and SSH master processes of a lab, and whatever runs inside its namespaces."""
    markers = (addresses.namespace(lab, ""), f"{state_directory}/")
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        argv = command_line(int(entry.name))
        program = Path(argv[0].split(":")[0]).name if argv else ""
        if program in LAB_PROGRAMS and any(marker in word for word in argv for marker in markers):
            found.add(int(entry.name))
    for name in namespaces(lab):
        found.update(inside_namespace(name))
    return sorted(found - {os.getpid()})


def inside_namespace(name: str) -> list[int]:
    """Processes in a network namespace."""
    listed = run(["ip", "netns", "pids", name], check=False)
    return [int(word) for word in listed.stdout.split()]


def of_host(lab: str, host: str) -> int | None:
    """The QEMU or nspawn process of one host, or None when it is off."""
    wanted = addresses.namespace(lab, host)
    machine = f"--machine={addresses.machine_name(wanted)}"
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            argv = command_line(int(entry.name))
            if argv and Path(argv[0]).name in LAB_PROGRAMS[:2] and (machine in argv or wanted in argv):
                return int(entry.name)
    return None


def end(pids: Iterable[int], timeout: float = 10.0) -> None:
    """Kill and wait until each is really gone.

    Raises:
        LabError: one of them does not go within ``timeout`` seconds.
    """
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            wait_gone(descriptor, pid, timeout)
        except ProcessLookupError:
            continue
        finally:
            os.close(descriptor)


def wait_gone(descriptor: int, pid: int, timeout: float) -> None:
    """Wait for the end of the process behind a pidfd; raises LabError after ``timeout`` seconds."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(timeout * 1000):
        raise LabError(f"process {pid} ({' '.join(command_line(pid))[:80]}) does not end")


def wait_end(pid: int, timeout: float) -> None:
    """Wait for a process to end by itself; raises LabError after ``timeout`` seconds."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        wait_gone(descriptor, pid, timeout)
    finally:
        os.close(descriptor)


def end_in_order(pid: int, timeout: float = 5.0) -> None:
    """Wait for a process that is about to end by itself; kill it when it does not."""
    try:
        wait_end(pid, timeout)
    except LabError:
        end([pid])
