# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A package of modules as the engine sees it: observe, plan, simulate, rehearse, carry out, draw."""

from __future__ import annotations

from ..._converge.command import Runner
from ..._converge.converge import Pending, Refusal, Resource
from ..._converge.plan import Plan, Step
from ..model import Host, Wanted
from .applying.apply import Work
from .observing import Given, given_source, observe_host
from .picture import draw
from .planning import missing_headers, plan_module, with_skipped, without_headers
from .steps import KernelStep


class PackageResource(Resource[Host]):
    """A package of modules that shall be as ``want`` has it."""

    def __init__(self, want: Wanted, runner: Runner) -> None:
        self.want = want
        self.runner = runner
        self._given: Given | None = None
        self._work: Work | None = None
        self._state = Host(want.name)
        self._plan = Plan()

    @property
    def given(self) -> Given:
        """The source that was given; it is read once."""
        if self._given is None:
            self._given = given_source(self.want)
        return self._given

    def observe(self) -> Host:
        """Read the host."""
        host = observe_host(self.want, self.given, self.runner)
        self._state = with_skipped(host, self._work.skipped if self._work else {})
        return self._state

    def plan(self, state: Host) -> Plan:
        """Return the steps that are left, but for kernels that this run has given up. Raises :class:`Refusal`."""
        self._plan = plan_module(state, self.want, self._work.failed if self._work else {})
        return self._plan

    def simulate(self, state: Host, step: Step) -> Host:
        """Return the host as it is once ``step`` is done."""
        return _own(step).after(state)

    def rehearse(self, _state: Host, plan: Plan) -> None:
        """Tell what a run would fail with. Raises :class:`Refusal`."""
        missing = without_headers(plan)
        if missing:
            raise Refusal(" ".join(missing_headers(step.kernel) for step in missing))

    def apply(self, step: Step) -> None:
        """Carry out one step."""
        if self._work is None:
            self._work = Work(self.given, self.runner, self.want.jobs)
        self._work.carry_out(_own(step), self._plan, self._state)

    def pending(self, _state: Host) -> tuple[Pending, ...]:
        """Nothing goes on after the module."""
        return ()

    def picture(self, state: Host) -> str:
        """Draw versions and kernels."""
        return draw(state)


def _own(step: Step) -> KernelStep:
    if not isinstance(step, KernelStep):
        raise TypeError(f"{step!r} is no step on kernel modules")
    return step
