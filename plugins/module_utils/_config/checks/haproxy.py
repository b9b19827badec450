# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The workers of HAProxy's last reload serve."""

from __future__ import annotations

from dataclasses import dataclass

from ..daemons.control_socket import NoAnswer
from ..daemons.haproxy import Processes, show_proc
from .check import Check, CheckFailed, Moment


@dataclass(frozen=True)
class HaproxyCheck(Check):
    """The master at ``socket`` has a worker of its last start or reload, and that reload did not fail."""

    socket: str

    @property
    def title(self) -> str:
        return f"haproxy {self.socket}"

    def probe(self, moment: Moment) -> None:
        try:
            processes = show_proc(self.socket, moment.seconds)
        except NoAnswer as error:
            raise CheckFailed(str(error)) from error
        wrong = what_is_wrong(processes)
        if wrong:
            raise CheckFailed(wrong)


def what_is_wrong(processes: Processes) -> str:
    """Return a clause that says why the last reload did not succeed, empty when it did."""
    if processes.failed:
        again = f", and the {processes.failed - 1} before it did too" if processes.failed > 1 else ""
        return f"the last reload failed{again}; what serves is the configuration before"
    if not processes.workers:
        return "it has no worker, so nothing serves"
    newest = min(processes.workers, key=lambda worker: worker.reloads)
    if newest.reloads:
        return f"its newest worker, process {newest.pid}, is {newest.reloads} reloads old"
    return ""
