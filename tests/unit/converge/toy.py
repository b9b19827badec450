# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A toy for the engine: a kiln that shall reach a temperature. It heats in steps, and cooling down takes time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import (
    Pending,
    Refusal,
    Resource,
    SetAside,
    StillRunning,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.plan import Plan, Step

STRIDE = 100


@dataclass(frozen=True)
class Kiln:
    """Degrees, whether the load is soaking up the heat, and what is in it."""

    degrees: int
    soaking: bool = False
    load: str = ""


@dataclass(frozen=True)
class Heat(Step):
    degrees: int
    reason: str = "too cold"

    @property
    def title(self) -> str:
        return f"Heat to {self.degrees}"

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        return (("burner", str(self.degrees)),)


@dataclass(frozen=True)
class Soak(Step):
    reason: str = "the load must take the heat"

    @property
    def title(self) -> str:
        return "Wait for the load"

    @property
    def waits(self) -> bool:
        return True


@dataclass(frozen=True)
class Open(Step):
    reason: str = "nobody knows what is inside"

    @property
    def title(self) -> str:
        return "Open the door"

    @property
    def reveals(self) -> bool:
        return True


@dataclass(frozen=True)
class Unload(Step):
    load: str
    reason: str = "it does not belong there"

    @property
    def title(self) -> str:
        return f"Unload {self.load}"

    @property
    def destructive(self) -> bool:
        return True


class KilnResource(Resource[Kiln]):
    """``kiln`` is the real thing.

    Not ``honest``: apply does nothing. Not ``patient``: a soak never ends. Not ``visible``: nobody sees one.
    """

    def __init__(
        self,
        kiln: Kiln,
        wanted: int,
        hidden: str = "",
        honest: bool = True,
        patient: bool = True,
        visible: bool = True,
    ) -> None:
        self.kiln = kiln
        self.wanted = wanted
        self.hidden = hidden
        self.honest = honest
        self.patient = patient
        self.visible = visible
        self.observed = 0
        self.applied: list[str] = []
        self.rehearsed: list[int] = []

    def observe(self) -> Kiln:
        self.observed += 1
        return self.kiln

    def plan(self, state: Kiln) -> Plan:
        if self.wanted > 1400:
            raise Refusal("The bricks melt at 1400 degrees.")
        steps: list[Step] = []
        if state.load == "unknown":
            return Plan((Open(),))
        if state.load:
            steps.append(Unload(state.load))
        if state.soaking:
            steps.append(Soak())
        for degrees in range(state.degrees + STRIDE, self.wanted + 1, STRIDE):
            steps += [Heat(degrees), Soak()]
        return Plan(steps)

    def simulate(self, state: Kiln, step: Step) -> Kiln:
        if isinstance(step, Heat):
            return replace(state, degrees=step.degrees, soaking=True)
        if isinstance(step, Soak):
            return replace(state, soaking=False)
        if isinstance(step, Open):
            return replace(state, load=self.hidden)
        return replace(state, load="")

    def rehearse(self, state: Kiln, plan: Plan) -> None:
        self.rehearsed.append(len(plan))
        if self.wanted > 1300:
            raise Refusal(f"The thermostat of a kiln with {state.degrees} degrees does not take more than 1300.")

    def apply(self, step: Step) -> None:
        if isinstance(step, Soak) and not self.patient:
            raise StillRunning("The load is still soaking.")
        self.applied.append(step.title)
        if self.honest:
            self.kiln = self.simulate(self.kiln, step)

    def pending(self, state: Kiln) -> tuple[Pending, ...]:
        return (Pending("Soaking", 50.0, 60.0),) if state.soaking and self.visible else ()

    def picture(self, state: Kiln) -> str:
        return f"{state.degrees} degrees, {state.load or 'empty'}"


class CrackedKiln(KilnResource):
    """Nobody can unload it, for the reason that is ``hidden``; it remembers that, unless it is not ``visible``."""

    def __init__(self, kiln: Kiln, wanted: int, hidden: str = "", visible: bool = True) -> None:
        super().__init__(kiln, wanted, hidden, visible=visible)
        self.given_up = False

    def plan(self, state: Kiln) -> Plan:
        return Plan(step for step in super().plan(state) if not (self.given_up and isinstance(step, Unload)))

    def apply(self, step: Step) -> None:
        if isinstance(step, Unload):
            self.given_up = self.visible
            raise SetAside(self.hidden)
        super().apply(step)
