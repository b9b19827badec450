# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The firewall as the engine sees it: observe, plan, simulate, rehearse, carry out, draw."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from .._converge.command import CommandError, Runner
from .._converge.converge import Pending, Refusal, Resource
from .._converge.namespace import throw_away_network
from .._converge.plan import Plan, Step
from .applying.apply import carry_out, refused, refused_rules
from .applying.restore import RulesRefused, load_rules
from .backends import chains_of
from .docker_user import user_rules
from .flush_guard import guard_lines
from .formats.nft_text import creation, text_of
from .formats.restore_text import kept
from .host import Host
from .model import Wanted
from .observing.iptables import loaded_rules, saved_tables
from .observing.kernel import loaded_table
from .observing.observe import observe_host
from .picture import draw
from .places import NFT
from .planning import pending_confirmation, plan_firewall
from .ruleset import blueprint
from .service import program
from .steps import ChangeElements, FirewallStep, LoadRules, LoadTable


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
        for step in plan:
            rehearsal = _REHEARSALS.get(type(step))
            if rehearsal is not None:
                rehearsal(self.want, state, self.runner)

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


def _rehearse_table(want: Wanted, state: Host, runner: Runner) -> None:
    made = blueprint(want, state.around, state.group)
    # The guard as well: what is loaded at boot has been loaded before.
    lines = [*creation(made), *guard_lines(want)]
    with throw_away_network():
        try:
            runner.run((NFT, "-f", "-"), data=text_of(lines).encode())
        except CommandError as error:
            raise Refusal(str(refused(error, lines))) from error
        found = loaded_table(runner)
    if found != made.table:
        raise Refusal("This host's nft does not read back the rules that it was given; please report it as a bug.")


def _rehearse_rules(want: Wanted, state: Host, runner: Runner) -> None:
    made = chains_of(state, want)
    with throw_away_network():
        try:
            load_rules({version: kept(chains) for version, chains in made.items()}, runner)
        except RulesRefused as refusal:
            raise Refusal(refused_rules(refusal)) from refusal
        found = loaded_rules({version: saved_tables(version, runner) for version in made})
    if found != {version: user_rules(chains) for version, chains in made.items()}:
        raise Refusal("This host's iptables does not list the rules that it was given; please report it as a bug.")


_REHEARSALS: t.Mapping[type[Step], t.Callable[[Wanted, Host, Runner], None]] = {
    LoadTable: _rehearse_table,
    ChangeElements: _rehearse_table,
    LoadRules: _rehearse_rules,
}
