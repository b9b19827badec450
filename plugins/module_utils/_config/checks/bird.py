# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""BIRD answers, does not shut down, and protocols are up."""

from __future__ import annotations

from dataclasses import dataclass

from ..daemons.bird import Activity, BirdRefused, Protocol, protocols, status
from ..daemons.control_socket import NoAnswer
from .check import Check, CheckFailed, Moment


@dataclass(frozen=True)
class BirdCheck(Check):
    """BIRD at ``socket`` runs, has ended its last reconfiguration, and all of ``protocols`` are up."""

    socket: str
    protocols: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        names = " with " + ", ".join(self.protocols) if self.protocols else ""
        return f"bird {self.socket}{names}"

    def probe(self, moment: Moment) -> None:
        try:
            activity = status(self.socket, moment.seconds).activity
            if activity is not Activity.RUNNING:
                raise CheckFailed(f"BIRD says '{activity.value}'")
            wrong = what_is_wrong(self.protocols, protocols(self.socket, moment.seconds)) if self.protocols else ""
        except (BirdRefused, NoAnswer) as error:
            raise CheckFailed(str(error)) from error
        if wrong:
            raise CheckFailed(wrong)


def what_is_wrong(wanted: tuple[str, ...], found: tuple[Protocol, ...]) -> str:
    """Return a clause that names each protocol of ``wanted`` that is not up, empty when all are."""
    by_name = {protocol.name: protocol for protocol in found}
    clauses = []
    for name in wanted:
        protocol = by_name.get(name)
        if protocol is None:
            clauses.append(f"there is no protocol '{name}'")
        elif not protocol.up:
            clauses.append(f"protocol '{name}' is in the state '{protocol.state}' since {protocol.more}")
    return "; ".join(clauses)
