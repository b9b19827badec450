# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The four moves that every module makes: observe, plan, apply, prove."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .plan import Plan, Step

S = t.TypeVar("S")
#: As Ansible's callbacks take it: keys before, after, and in a list also before_header and after_header.
Difference = t.Union[t.Dict[str, str], t.List[t.Dict[str, str]]]


class Refusal(Exception):
    """The request cannot be carried out safely; nothing was touched. One sentence for the person on call."""


class ObservationFailed(Exception):
    """A tool answered in a way that leaves the state of the host unknown."""


class StillRunning(Exception):
    """Work that a step waits for did not end within the time allowed; it goes on by itself."""


class StepFailed(Exception):
    """A step's commands succeeded, or its work ended, and what the step is for did not come true."""


class StepUndone(StepFailed):
    """A step failed, and whatever the run had changed before was taken back."""

    def __init__(self, message: str, **details: t.Any) -> None:
        self.details = details  #: further values for the module to return
        super().__init__(message)


class SetAside(Exception):
    """A step failed, or builds on one that did, and what is left of the plan does not need it.

    The run goes on, and raises :class:`Incomplete` at its end. The resource has to leave what was set aside out of
    the plans of this run. Without a message nothing failed: the step turned out to be for nothing.
    """


class Incomplete(Exception):
    """Everything was done but what was set aside; the rest is in the wanted state, ``after`` is what there is."""

    def __init__(self, failures: t.Sequence[str], after: t.Any) -> None:
        self.details: dict[str, t.Any] = {"failures": list(failures)}  #: further values for the module to return
        self.after = after
        super().__init__(" ".join(failures))


class NotConverged(Exception):
    """Every step was applied without an error, and yet the host is not in the wanted state."""


@dataclass(frozen=True)
class Pending:
    """Long work that goes on by itself, and that a later run continues from.

    ``percent`` is 0 to 100 and ``seconds_left`` an estimate; None where the kernel does not tell.
    """

    what: str
    percent: float | None = None
    seconds_left: float | None = None

    def as_dict(self) -> dict[str, t.Any]:
        """Return the work as modules return it: percent with one decimal, whole seconds."""
        return {
            "what": self.what,
            "percent": None if self.percent is None else round(self.percent, 1),
            "seconds_left": None if self.seconds_left is None else round(self.seconds_left),
        }


class Resource(t.Generic[S]):
    """What a domain gives to the engine. S is its frozen state."""

    def observe(self) -> S:
        """Read the host. Changes nothing."""
        raise NotImplementedError

    def plan(self, state: S) -> Plan:
        """Return the steps from ``state`` to the wanted state. Pure. Raises :class:`Refusal`."""
        raise NotImplementedError

    def simulate(self, state: S, step: Step) -> S:
        """Return the state that ``step`` leads to. Pure."""
        raise NotImplementedError

    def rehearse(self, state: S, plan: Plan) -> None:
        """Try ``plan`` where it does no harm. Raises :class:`Refusal` when the host would not take it.

        Called in check mode, where nothing else finds out. A resource whose plans cannot be tried does nothing.
        """

    def apply(self, step: Step) -> None:
        """Carry out one step. A step that waits raises :class:`StillRunning` when its time is up."""
        raise NotImplementedError

    def pending(self, state: S) -> tuple[Pending, ...]:
        """Return the long work under way in ``state``; a resource without any returns ()."""
        raise NotImplementedError

    def picture(self, state: S) -> str:
        """Draw ``state`` as a person would, for the diff."""
        raise NotImplementedError

    def difference(self, before: S, after: S) -> Difference:
        """Return what Ansible shows as the diff: one picture of each state, unless a resource has something better."""
        return {
            "before": _with_final_newline(self.picture(before)),
            "after": _with_final_newline(self.picture(after)),
        }


@dataclass(frozen=True)
class Outcome(t.Generic[S]):
    """What a run found and did. ``after`` is simulated in check mode, observed otherwise."""

    before: S
    after: S
    plan: Plan
    changed: bool
    pending: tuple[Pending, ...]
    diff: Difference


@dataclass
class Journal:
    """What a run has planned and done so far; the caller keeps it, so that a failure can tell."""

    plan: Plan = field(default_factory=Plan)
    done: list[Step] = field(default_factory=list)
    aside: list[Step] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether a step that changes something has been carried out."""
        return any(not step.waits for step in self.done)


def _simulated(resource: Resource[S], state: S, plan: Plan) -> S:
    for step in plan:
        state = resource.simulate(state, step)
    return state


def _with_final_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def converge(
    resource: Resource[S], check_mode: bool = False, wait: bool = True, journal: Journal | None = None
) -> Outcome[S]:
    """Bring the host to the wanted state and prove that it got there.

    A step that reveals something ends a plan; the host is then observed and the rest is planned from there.
    With ``wait`` false the run ends at the first step that waits for unfinished work; that work and what is
    left of the plan are reported as pending. Raises :class:`Refusal` before anything is touched,
    :class:`StillRunning` when a wait is too long, :class:`NotConverged` when the proof fails, :class:`Incomplete` when
    steps were set aside, and whatever else ``apply`` raises; ``journal`` then tells how far it came.
    """
    journal = Journal() if journal is None else journal
    before = resource.observe()
    plan = journal.plan = resource.plan(before)
    if check_mode:
        resource.rehearse(before, plan)
    if check_mode or not plan:
        after = _simulated(resource, before, plan)
        changed = any(not step.waits for step in plan)
        unknown = tuple(
            Pending(f"What follows '{step.title}' is known when it is done") for step in plan[-1:] if step.reveals
        )
        return _outcome(resource, before, after, plan, changed, resource.pending(before) + unknown)

    while True:
        complete = _carried_out_all(resource, plan, wait, journal)
        after = resource.observe()
        left = resource.plan(after)
        if not complete or not left or left == plan or not plan[-1].reveals:
            break
        plan = left
        journal.plan = Plan((*journal.done, *left))

    pending = resource.pending(after)
    if not complete:
        pending += tuple(Pending(what="Next run: " + step.title) for step in left if not step.waits)
    elif left and not (pending and not wait):
        titles = "; ".join(step.title for step in left)
        raise NotConverged(
            f"All {len(journal.plan)} steps ran without an error, but the host is not in the wanted state. "
            f"Still to do: {titles}. Something else may be changing the same resource; look at it, then run again."
        )
    if journal.failures:
        raise Incomplete(journal.failures, after)
    return _outcome(resource, before, after, journal.plan, journal.changed, pending)


def _carried_out_all(resource: Resource[S], plan: Plan, wait: bool, journal: Journal) -> bool:
    """Carry out ``plan``; return False when the run ends at a step that waits."""
    for step in plan:
        try:
            if not _carried_out(resource, step, wait):
                return False
        except SetAside as failure:
            journal.aside.append(step)
            journal.failures += [str(failure)] if str(failure) else []
            continue
        journal.done.append(step)
    return True


def _carried_out(resource: Resource[S], step: Step, wait: bool) -> bool:
    """Carry out ``step``; return False when it waits for work under way and the run shall not."""
    if wait or not step.waits:
        resource.apply(step)
        return True
    if resource.pending(resource.observe()):
        return False
    try:
        resource.apply(step)
    except StillRunning:
        return False
    return True


def _outcome(
    resource: Resource[S], before: S, after: S, plan: Plan, changed: bool, pending: tuple[Pending, ...]
) -> Outcome[S]:
    return Outcome(
        before=before, after=after, plan=plan, changed=changed, pending=pending, diff=resource.difference(before, after)
    )
