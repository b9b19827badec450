"""A control group for each nspawn host: two in one group would take each other's processes for their own."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from . import addresses


def hierarchies(mounts: str) -> list[Path]:
    """The mounted trees that systemd keeps its units in, from the text of /proc/mounts: version 2, and v1's own."""
    found = []
    for line in mounts.splitlines():
        where, kind, options = line.split()[1:4]
        if kind == "cgroup2" or (kind == "cgroup" and "name=systemd" in options.split(",")):
            found.append(Path(where))
    return found


def _mounted() -> list[Path]:
    return hierarchies(Path("/proc/mounts").read_text())


def enter(machine: str) -> Callable[[], None]:
    """A preexec function: the child, and all that comes of it, is in groups named after the machine.

    Where the machine itself may not make groups, they stay where they are.
    """
    groups = [hierarchy / machine for hierarchy in _mounted()]

    def move() -> None:
        for group in groups:
            with contextlib.suppress(OSError):
                group.mkdir(exist_ok=True)
                (group / "cgroup.procs").write_text("0")

    return move


def remove(lab: str) -> None:
    """Remove the groups of a lab's machines. The lab's processes are gone; what is still dying keeps its group."""
    for hierarchy in _mounted():
        for group in hierarchy.glob(f"{addresses.namespace(lab, '')}*"):
            for directory, _children, _files in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(directory)
