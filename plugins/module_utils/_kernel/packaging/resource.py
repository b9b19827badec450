# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Packages of kernel modules as the engine sees them: observe, plan, simulate, rehearse, carry out, draw."""

from __future__ import annotations

from dataclasses import replace

from ..._converge.command import Runner
from ..._converge.converge import Pending, Refusal, Resource
from ..._converge.plan import Plan, Step
from ..observing.sources import Files
from .carrying import Work
from .facts import draw
from .model import BuildHost, Wanted
from .observing import observe_build_host, source_of
from .planning import hindrances, plan_packages
from .steps import PackageStep


class Packages(Resource[BuildHost]):
    """Packages that shall be as ``want`` has them."""

    def __init__(self, want: Wanted, runner: Runner) -> None:
        self.want = want
        self.runner = runner
        self._files: Files | None = None
        self._work: Work | None = None
        self._plan = Plan()

    @property
    def files(self) -> Files:
        """The source; it is read once."""
        if self._files is None:
            self._files = source_of(self.want)
        return self._files

    def observe(self) -> BuildHost:
        """Read the host."""
        host = observe_build_host(self.want, self.files, self.runner)
        return replace(host, skipped=dict(self._work.skipped)) if self._work else host

    def plan(self, state: BuildHost) -> Plan:
        """Return the steps that are left, but for kernels that this run has given up. Raises :class:`Refusal`."""
        self._plan = plan_packages(state, self.want, self._work.failed if self._work else ())
        return self._plan

    def simulate(self, state: BuildHost, step: Step) -> BuildHost:
        """Return the host as it is once ``step`` is done."""
        return _own(step).after(state)

    def rehearse(self, _state: BuildHost, plan: Plan) -> None:
        """Tell what a run would fail with. Raises :class:`Refusal`."""
        found = hindrances(plan)
        if found:
            raise Refusal(" ".join(found))

    def apply(self, step: Step) -> None:
        """Carry out one step."""
        if self._work is None:
            self._work = Work(self.files, self.runner, self.want.jobs)
        self._work.carry_out(_own(step), self._plan)

    def pending(self, _state: BuildHost) -> tuple[Pending, ...]:
        """Nothing goes on after the module."""
        return ()

    def picture(self, state: BuildHost) -> str:
        """Draw what lies in the destination."""
        return draw(state)


def _own(step: Step) -> PackageStep:
    if not isinstance(step, PackageStep):
        raise TypeError(f"{step!r} is no step on packages")
    return step
