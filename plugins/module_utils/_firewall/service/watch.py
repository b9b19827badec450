# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Keeps the table in step with Docker's networks.

Runs as a service. It waits for what Docker tells of networks, and then changes the elements of those sets that do not
come from a policy. Between Docker's change and this one nothing is open that should not be: a policy
names ports, and a bridge that nobody knows yet counts as Docker's. Elements change in place: the sets of interfaces are
hash tables, in which others are found all the while (see :func:`difference.only_denies_meanwhile`).
"""

from __future__ import annotations

import sys
import time
import typing as t

from ..._converge.command import CommandError, Runner
from ..._converge.lock import Lock, LockHeld
from .. import difference, places
from ..applying import files
from ..formats.nft_text import changing, text_of
from ..model import Table
from ..observing import docker, docker_api
from ..observing.kernel import loaded_table
from ..ruleset import AROUND_SETS, around_sets
from ..surroundings import around_text

LOCK = "docker_firewall"
#: Seconds between two attempts to reach Docker, and for which a run of the module may keep the lock.
RETRY = 1.0
LOCK_PATIENCE = 120.0
#: What of Docker's networks matters here; that containers come and go in them does not.
ACTIONS = frozenset(("create", "destroy", "remove", "update"))

Say = t.Callable[[str], None]


def refresh(socket: str, runner: Runner, say: Say, thoroughly: bool) -> None:
    """Bring the sets, and the file that is loaded at boot, in step with Docker.

    The file tells what the sets hold; ``thoroughly`` asks the kernel all the same.
    """
    around = docker.around(docker.bridges_of_docker(socket))
    if not thoroughly and files.holds(places.AROUND_FILE, around_text(around).encode()):
        return
    table = loaded_table(runner)
    if table is not None and all(name in table.sets for name in AROUND_SETS):
        have = Table(sets={name: table.sets[name] for name in AROUND_SETS})
        want = Table(sets={each.name: each for each in around_sets(around)})
        changes = difference.changes(have, want)
        if changes:
            runner.run((places.NFT, "-f", "-"), data=text_of(changing(changes, AROUND_SETS, {})).encode())
            say("; ".join(f"{each.name}: +{list(each.added)} -{list(each.removed)}" for each in changes))
    text = around_text(around).encode()
    if not files.holds(places.AROUND_FILE, text):
        files.put(places.AROUND_FILE, text, files.PRIVATE)


def watch(socket: str, say: Say) -> None:
    """Refresh now, and after each event, until Docker ends."""
    # Listening first: what changes during the first refresh is then seen as an event.
    events = docker_api.events(socket)
    locked_refresh(socket, say, thoroughly=True)
    for event in events:
        if str(event.get("Action", "")).partition(":")[0] in ACTIONS:
            locked_refresh(socket, say, thoroughly=False)


def locked_refresh(socket: str, say: Say, thoroughly: bool) -> None:
    """Refresh while no run of the module is at work."""
    with Lock(LOCK) as lock:
        lock.acquire(LOCK_PATIENCE)
        refresh(socket, Runner(), say, thoroughly)


def main(arguments: t.Sequence[str]) -> int:
    """Watch for ever. The only argument is the path of Docker's socket."""
    (socket,) = arguments

    def say(text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    silent = ""
    while True:
        try:
            watch(socket, say)
            silent = ""
        except docker_api.DockerSilent as error:
            if str(error) != silent:  # once, not every second while Docker is off
                silent = str(error)
                say(silent)
        except (CommandError, LockHeld, OSError) as error:
            say(str(error))
        time.sleep(RETRY)
