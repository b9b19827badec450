# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The firewall as the engine sees it: observe, plan, simulate, rehearse, carry out, draw."""

from __future__ import annotations

from dataclasses import replace

from .._converge.command import CommandError, Runner
from .._converge.converge import Pending, Refusal, Resource
from .._converge.plan import Plan, Step
from . import program
from .applying.apply import carry_out, refused
from .host import Host
from .model import Wanted
from .nft_text import creation, text_of
from .observing.kernel import loaded_table
from .observing.namespace import throw_away_network
from .observing.observe import observe_host
from .picture import draw
from .places import NFT
from .planning import pending_confirmation, plan_firewall
from .ruleset import blueprint
from .steps import ChangeElements, FirewallStep, LoadTable


class FirewallResource(Resource[Host]):
    """A host whose published ports shall obey ``want``."""

    def __init__(self, want: Wanted, runner: Runner) -> None:
        self.want = want
        self.runner = runner
        self._digest = program.digest(program.program())
        self._first: Host | None = None

    def observe(self) -> Host:
        """Read the host. What Docker does during the run is for the watcher, which waits for the run to end."""
        host = observe_host(self.want, self.runner)
        if self._first is None:
            self._first = host
        return replace(host, around=self._first.around, docker=self._first.docker)

    def plan(self, state: Host) -> Plan:
        """Return the steps that are left."""
        return plan_firewall(state, self.want, self._digest)

    def simulate(self, state: Host, step: Step) -> Host:
        """Return the host as it is once ``step`` is done."""
        if not isinstance(step, FirewallStep):
            raise TypeError(f"{step!r} is no step on a firewall")
        return step.after(state)

    def rehearse(self, state: Host, plan: Plan) -> None:
        """Load what is planned where it does no harm, and read it back. Raises :class:`Refusal`."""
        if not any(isinstance(step, (LoadTable, ChangeElements)) for step in plan):
            return
        made = blueprint(self.want, state.around)
        lines = creation(made)
        with throw_away_network():
            try:
                self.runner.run((NFT, "-f", "-"), data=text_of(lines).encode())
            except CommandError as error:
                raise Refusal(str(refused(error, lines))) from error
            found = loaded_table(self.runner)
        if found != made.table:
            raise Refusal("This host's nft does not read back the rules that it was given; please report it as a bug.")

    def apply(self, step: Step) -> None:
        """Carry out one step."""
        if not isinstance(step, FirewallStep):
            raise TypeError(f"{step!r} is no step on a firewall")
        carry_out(step, self.runner)

    def pending(self, state: Host) -> tuple[Pending, ...]:
        """Return that a change waits for its confirmation, if one does."""
        return pending_confirmation(state, self.want)

    def picture(self, state: Host) -> str:
        """Draw the policies."""
        return draw(state)
