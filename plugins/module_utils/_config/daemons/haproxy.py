# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""HAProxy, as its master socket tells.

A reload that fails leaves the former workers at work, and neither systemd nor an exit status tells (haproxy.cfg's
checker passes an address that cannot be bound). The master counts it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .control_socket import NoAnswer, conversation

_MASTER = re.compile(r"(\d+)\s+master\s+(\d+) \[failed: (\d+)\]\s+(\S+)\s+(\S+)\s*")
_WORKER = re.compile(r"(\d+)\s+worker\s+(\d+)\s+(\S+)\s+(\S+)\s*")


@dataclass(frozen=True)
class Worker:
    """A process that serves. ``reloads`` counts how often the master was reloaded, or tried to, since it started."""

    pid: int
    reloads: int


@dataclass(frozen=True)
class Processes:
    """What 'show proc' tells. ``failed`` counts the reloads that failed since the last that did not.

    ``old_workers`` serve what was connected before, until that ends.
    """

    master: int
    version: str
    reloads: int
    failed: int
    workers: tuple[Worker, ...]
    old_workers: tuple[Worker, ...]


def parse_show_proc(text: str) -> Processes:
    """Read the answer to 'show proc' of HAProxy 2.6 to 3.0. Raises ValueError."""
    master = None
    workers: dict[str, list[Worker]] = {"workers": [], "old workers": []}
    section = ""
    for row in text.splitlines():
        if row.startswith("# "):
            section = row[2:].strip()
            continue
        master = master or _MASTER.fullmatch(row)
        worker = _WORKER.fullmatch(row)
        if worker and section in workers:
            workers[section].append(Worker(int(worker.group(1)), int(worker.group(2))))
    if master is None:
        raise ValueError("this is no list of HAProxy's processes: " + (text.strip()[:200] or "it is empty"))
    return Processes(
        master=int(master.group(1)),
        version=master.group(5),
        reloads=int(master.group(2)),
        failed=int(master.group(3)),
        workers=tuple(workers["workers"]),
        old_workers=tuple(workers["old workers"]),
    )


def show_proc(socket_path: str, seconds: float) -> Processes:
    """Ask the master for its processes.

    Raises :class:`NoAnswer`; also, for a moment, while the master starts itself anew in a reload.
    """
    with conversation("HAProxy", socket_path, seconds) as talk:
        talk.say("show proc")
        # The master waits for more commands otherwise.
        talk.say_no_more()
        text = talk.hear_all()
    try:
        return parse_show_proc(text)
    except ValueError as error:
        raise NoAnswer(f"what is at {socket_path} does not answer as HAProxy's master: {error}") from error
