# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A set of files as the engine sees it: observe, plan, simulate, rehearse, carry out, show."""

from __future__ import annotations

import signal
import typing as t
from dataclasses import replace

from .._converge.command import CommandError, Runner
from .._converge.converge import Difference, Pending, Refusal, Resource, StepFailed
from .._converge.plan import Plan, Step
from .applying import exchange
from .applying.apply import Change
from .applying.view import as_if
from .facts import drift, unfinished
from .model import RETURNING, STAGING, Exchange, Host, Target, Wanted
from .observing.observe import observe_host
from .parameters import guards_of
from .picture import difference
from .planning import plan_config, target_of
from .steps import ConfigStep, PutBack, PutInPlace, Stage, Unstage, Validate


class ConfigResource(Resource[Host]):
    """A set of files that shall be as ``want`` has it."""

    def __init__(self, want: Wanted, runner: Runner) -> None:
        self.want = want
        self.runner = runner
        self._target: Target | None = None
        self._change: Change | None = None
        self._first: Host | None = None

    def observe(self) -> Host:
        """Read the set's files, and what is kept of it."""
        paths = {entry.path for entry in self.want.entries} | set(self._first.live if self._first else ())
        host = observe_host(self.want.name, paths, self.want.previous)
        host = replace(host, contents={**self.want.contents, **host.contents})
        if self._first is None:
            self._first = replace(host, drift=drift(host), recovered=self._recovery(host))
        return replace(host, drift=self._first.drift, recovered=self._first.recovered)

    def _recovery(self, host: Host) -> str:
        if host.transaction is None:
            return ""
        plan = plan_config(host, self.target(host))
        back = host.transaction.phase in (STAGING, RETURNING) or any(isinstance(step, PutBack) for step in plan)
        return "put_back" if back or host.transaction.generation == host.transaction.replaces else "finished"

    def target(self, host: Host) -> Target:
        """The set that is wanted; it stays the same for the whole run, also when that goes back one set."""
        if self._target is None:
            self._target = target_of(host, self.want, guards_of)
        return self._target

    def plan(self, state: Host) -> Plan:
        """Return the steps that are left. Raises :class:`Refusal`."""
        return plan_config(state, self.target(state))

    def simulate(self, state: Host, step: Step) -> Host:
        """Return the host as it is once ``step`` is done."""
        return _own(step).after(state)

    def rehearse(self, state: Host, plan: Plan) -> None:
        """Have the checker look at what the files will be, without a trace. Raises :class:`Refusal`."""
        if not any(isinstance(step, Validate) for step in plan):
            return
        change = self._change_of(state)
        directories = [each.target.rpartition("/")[0] for step in plan for each in _exchanges(_own(step))]
        try:
            with as_if(directories):
                for step in plan:
                    _rehearse(_own(step), change)
        except (CommandError, StepFailed, OSError) as error:
            raise Refusal(change.masked(f"The set would not be put in place. {error}")) from error

    def _change_of(self, state: Host) -> Change:
        change = Change(self.target(state), guards_of, self.runner)
        change.host = state
        return change

    def apply(self, step: Step) -> None:
        """Carry out one step."""
        if self._change is None:
            if self._first is None:
                raise TypeError("apply before observe")
            self._change = self._change_of(self._first)
            # When the controller's connection goes through what is changed, its end must not be that of the run.
            signal.signal(signal.SIGHUP, lambda _number, _frame: None)
        self._change.carry_out(_own(step))

    def pending(self, state: Host) -> tuple[Pending, ...]:
        """Return the change that a run was cut off in, while there is one; no work goes on after a run."""
        return tuple(Pending(text) for text in (unfinished(state),) if text)

    def picture(self, state: Host) -> str:
        """Name the set that is in place; the files are in :meth:`difference`."""
        return f"set {state.current}\n"

    def difference(self, before: Host, after: Host) -> Difference:
        """Return each file that changes, and those that somebody else had changed."""
        return difference(before, after, self.want.contents)


def _own(step: Step) -> ConfigStep:
    if not isinstance(step, ConfigStep):
        raise TypeError(f"{step!r} is no step on a set of files")
    return step


def _exchanges(step: ConfigStep) -> t.Sequence[Exchange]:
    if isinstance(step, Stage):
        return step.exchanges
    return step.transaction.exchanges if isinstance(step, (PutBack, Unstage)) else ()


def _rehearse(step: ConfigStep, change: Change) -> None:
    if isinstance(step, (PutBack, Unstage)):
        for each in reversed(step.transaction.exchanges):
            exchange.take_back(each)
    elif isinstance(step, Stage):
        change.lay(step)
        for each in step.exchanges:
            exchange.put(each)
    elif isinstance(step, Validate):
        change.run_validation(step)
    if not isinstance(step, PutInPlace):
        change.host = step.after(change.host)
