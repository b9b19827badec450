# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A host that packages are installed on as the engine sees it: observe, plan, simulate, carry out, draw."""

from __future__ import annotations

from ..._converge.command import Runner
from ..._converge.converge import Pending, Resource
from ..._converge.plan import Plan, Step
from .carrying import carry_out
from .facts import draw
from .model import Target, Wanted
from .observing import observe_target
from .planning import plan_binary
from .steps import BinaryStep


class Binary(Resource[Target]):
    """Packages that shall be installed as ``want`` has them."""

    def __init__(self, want: Wanted, runner: Runner) -> None:
        self.want = want
        self.runner = runner
        self._host = Target(want.name)

    def observe(self) -> Target:
        """Read the host."""
        self._host = observe_target(self.want, self.runner)
        return self._host

    def plan(self, state: Target) -> Plan:
        """Return the steps that are left. Raises :class:`Refusal`."""
        return plan_binary(state, self.want)

    def simulate(self, state: Target, step: Step) -> Target:
        """Return the host as it is once ``step`` is done."""
        return _own(step).after(state)

    def apply(self, step: Step) -> None:
        """Carry out one step."""
        carry_out(_own(step), self._host, self.runner)

    def pending(self, _state: Target) -> tuple[Pending, ...]:
        """Nothing goes on after the module."""
        return ()

    def picture(self, state: Target) -> str:
        """Draw the host."""
        return draw(state)


def _own(step: Step) -> BinaryStep:
    if not isinstance(step, BinaryStep):
        raise TypeError(f"{step!r} is no step on packages of modules")
    return step
