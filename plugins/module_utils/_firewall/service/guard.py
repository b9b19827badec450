# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Keeps the chains below DOCKER-USER in place, and in step with Docker's networks.

Runs as a service. Others remove these chains: firewalld when it is reloaded, everybody who flushes. The kernel tells
of each change of its rules, if iptables is the nf_tables variant; the legacy variant is looked at every few seconds.
A jump that somebody has put at another place in DOCKER-USER stays there until the module runs: two programs that both
want to be the first would never end (mailcow-dockerized#6795).
"""

from __future__ import annotations

import errno
import os
import select
import socket
import sys
import threading
import time
import typing as t

from ..._converge.command import CommandError, Runner
from ..._converge.lock import Lock, LockHeld
from .. import places
from ..applying import files
from ..applying.restore import RulesRefused, load_rules, texts_of
from ..formats.restore_text import expected, rules_of, with_bridges
from ..observing import docker, docker_api
from ..observing.iptables import saved_tables
from .watch import ACTIONS, LOCK, LOCK_PATIENCE, RETRY, Say

#: linux/netlink.h and linux/netfilter/nfnetlink.h.
_NETLINK_NETFILTER = 12
_NFNLGRP_NFTABLES = 7
#: Seconds between two looks when the kernel tells nothing, and at least when it tells a lot.
_POLL = 5.0
_PAUSE = 0.2


def restore(runner: Runner, say: Say) -> None:
    """Load our chains again where they are not as they should be."""
    names = places.CANDIDATE_RULES if _unconfirmed(runner) else places.RULES_FILES
    for version, text in texts_of(names).items():
        want, have = expected(text), rules_of(saved_tables(version, runner))
        if want is not None and (have is None or have.chains != want.chains or not have.jumps):
            load_rules({version: text}, runner, move=False)
            say(f"The chains below DOCKER-USER for IPv{version} were not as they should be, and are loaded again.")


def _unconfirmed(runner: Runner) -> bool:
    """Whether what is in force is a change that waits for its confirmation."""
    if not os.path.exists(places.UNDO_RECORD):
        return False
    timer = f"{places.UNDO_UNIT}.timer"
    return runner.run(("systemctl", "show", "--property=ActiveState", "--value", timer)).strip() == "active"


def follow(path: str) -> None:
    """Bring what is kept in step with Docker's networks; ``path`` is Docker's socket."""
    around = docker.around(docker.bridges_of_docker(path))
    for names in (places.RULES_FILES, places.CANDIDATE_RULES):
        for version, text in texts_of(names).items():
            new = with_bridges(text, around)
            if new != text:
                files.put(names[version], new.encode(), files.PRIVATE)


def _locked(work: t.Callable[[Runner], None]) -> None:
    with Lock(LOCK) as lock:
        lock.acquire(LOCK_PATIENCE)
        work(Runner())


def _watch_docker(path: str, say: Say) -> None:
    def refresh(runner: Runner) -> None:
        follow(path)
        restore(runner, say)

    # Listening first: what changes during the first refresh is then seen as an event.
    events = docker_api.events(path)
    _locked(refresh)
    for event in events:
        if str(event.get("Action", "")).partition(":")[0] in ACTIONS:
            _locked(refresh)


def _watch_kernel(say: Say) -> None:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as heard:
        heard.bind((0, 1 << (_NFNLGRP_NFTABLES - 1)))
        heard.setblocking(False)
        while True:
            _locked(lambda runner: restore(runner, say))
            select.select([heard], [], [], _POLL)
            time.sleep(_PAUSE)
            _drain(heard)


def _drain(heard: socket.socket) -> None:
    while True:
        try:
            heard.recv(65536)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # more was told than fits: that something happened is all that matters
                raise


def _for_ever(work: t.Callable[[], None], say: Say) -> None:
    told = ""
    while True:
        try:
            work()
            told = ""
        except (docker_api.DockerSilent, CommandError, LockHeld, RulesRefused, OSError) as error:
            if str(error) != told:  # once, not every second
                told = str(error)
                say(told)
        time.sleep(RETRY)


def main(arguments: t.Sequence[str]) -> int:
    """Watch for ever. The only argument is the path of Docker's socket."""
    (path,) = arguments

    def say(text: str) -> None:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    threading.Thread(target=_for_ever, args=(lambda: _watch_kernel(say), say), daemon=True).start()
    _for_ever(lambda: _watch_docker(path, say), say)
    return 0
