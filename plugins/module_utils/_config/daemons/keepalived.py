# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Keepalived, as /proc tells: it has no socket to be asked over.

Tried with 2.2.7 and 2.3.3. A reload keeps the parent and all children, also those that have nothing left to do, and
starts those that have something to do for the first time. A mistake that it cannot pass over, such as an interface
that is not there, ends the parent within 50 ms of a reload, while the reload itself may have succeeded. Words that it
does not know are left out, and a configuration file that cannot be read is taken for an empty one. A child that dies
is started again at once.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass

#: Seconds that the kernel's count of a process's start may be behind: it counts hundredths.
TICK = 0.02


@dataclass(frozen=True)
class Process:
    """A process; ``started`` in seconds since the epoch, as this host's clock is now."""

    pid: int
    parent: int
    state: str
    started: float

    @property
    def runs(self) -> bool:
        """Whether it has not ended; a zombie has."""
        return self.state not in {"Z", "X", "x"}

    def is_older_than(self, moment: float) -> bool:
        """Tell whether it surely was there at ``moment``, in seconds since the epoch."""
        return self.started + TICK < moment


@dataclass(frozen=True)
class Family:
    """Keepalived's parent and its children."""

    parent: Process
    children: tuple[Process, ...]


def parse_stat(text: str, booted: float, ticks_per_second: int) -> Process:
    """Read /proc/PID/stat (proc_pid_stat(5)). ``booted`` is in seconds since the epoch. Raises ValueError."""
    # The name is in parentheses and may hold any.
    head, bracket, tail = text.rpartition(")")
    pid = head.partition(" ")[0]
    fields = tail.split()
    if not bracket or len(fields) < 20 or not pid.isdigit():
        raise ValueError(f"this describes no process: {text[:200]}")
    return Process(int(pid), int(fields[1]), fields[0], booted + int(fields[19]) / ticks_per_second)


def read_pid(pid_file: str) -> int:
    """Read the PID file. Raises OSError and ValueError."""
    with open(pid_file, encoding="ascii") as file:
        return int(file.read(32))


def family(pid: int, proc: str = "/proc") -> Family | None:
    """Look for the process ``pid`` and its children; None when it is not there."""
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    ticks_per_second = os.sysconf("SC_CLK_TCK")
    processes: dict[int, Process] = {}
    for name in os.listdir(proc):
        # What ends meanwhile is not there.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if name.isdigit():
                with open(os.path.join(proc, name, "stat"), encoding="utf-8", errors="replace") as file:
                    processes[int(name)] = parse_stat(file.read(), booted, ticks_per_second)
    if pid not in processes:
        return None
    children = tuple(process for process in processes.values() if process.parent == pid)
    return Family(processes[pid], children)
