# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Between Ansible and the engine: run a task, return what it found and did, and turn every error into a failure."""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, field

from .command import CommandError, MissingTool, Runner, require
from .converge import (
    Incomplete,
    Journal,
    NotConverged,
    ObservationFailed,
    Outcome,
    Pending,
    Refusal,
    Resource,
    StepFailed,
    StepUndone,
    StillRunning,
    converge,
)
from .lock import Lock, LockHeld

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

S = t.TypeVar("S")
Parameters = t.Mapping[str, t.Any]

#: Seconds to wait for another run's lock when the user does not want to wait.
SHORT_WAIT = 5.0

#: What is told to the user in its own words. Anything else is a defect, and Ansible shows where it happened.
TOLD: tuple[type[Exception], ...] = (
    Refusal,
    MissingTool,
    LockHeld,
    CommandError,
    ObservationFailed,
    StepFailed,
    StillRunning,
    NotConverged,
    Incomplete,
    OSError,
)


@dataclass(frozen=True)
class Task(t.Generic[S]):
    """What one call of a module wants.

    ``resource`` makes the resource from the runner that its commands go through. ``lock`` names what no two runs
    may change at once. ``tools`` are the programs needed, each with its Debian package. ``wait_timeout`` is in
    seconds and holds for the lock too. ``facts`` returns the resource's own return values, ``warnings`` what the
    user should see without asking, from the state before the run and the one after it.
    """

    resource: t.Callable[[Runner], Resource[S]]
    lock: str
    facts: t.Callable[[S], dict[str, t.Any]]
    tools: t.Mapping[str, str] = field(default_factory=dict)
    wait: bool = True
    wait_timeout: float = 60.0
    warnings: t.Callable[[S, S], t.Iterable[str]] = lambda _before, _after: ()


def run(module: AnsibleModule, task_for: t.Callable[[Parameters], Task[S]]) -> None:
    """Carry out the task that the module's parameters describe, and end the module.

    ``task_for`` raises :class:`Refusal` for parameters that make no sense. A failure returns the plan and what of
    it was done. Check mode takes no lock: it changes nothing, and may look while another run works.
    """
    journal = Journal()
    with contextlib.ExitStack() as stack:
        try:
            task = task_for(module.params)
            require(task.tools)
            runner = Runner()
            if not module.check_mode:
                lock = stack.enter_context(Lock(task.lock))
                lock.acquire(task.wait_timeout if task.wait else SHORT_WAIT)
                runner = Runner(inherit=(lock.descriptor,))
            outcome = _converged(task, runner, module.check_mode, journal)
        except TOLD as error:
            module.fail_json(**failure(error, journal))
        else:
            for warning in task.warnings(outcome.before, outcome.after):
                module.warn(warning)
            module.exit_json(**success(outcome, task.facts(outcome.after)))


def _converged(task: Task[S], runner: Runner, check_mode: bool, journal: Journal) -> Outcome[S]:
    try:
        return converge(task.resource(runner), check_mode, task.wait, journal)
    except Incomplete as error:
        error.details.update(task.facts(error.after))  # for those who can do with what there is
        raise


def look(
    module: AnsibleModule, look_at: t.Callable[[Parameters, Runner], dict[str, t.Any]], tools: t.Mapping[str, str]
) -> None:
    """Return what ``look_at`` finds, and end the module. For modules that change nothing."""
    try:
        require(tools)
        found = look_at(module.params, Runner())
    except TOLD as error:
        module.fail_json(msg=_words(error))
    else:
        module.exit_json(changed=False, **found)


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"The host answered: {error.strerror or error}" + (f" ({error.filename})." if error.filename else ".")
    return str(error)


def success(outcome: Outcome[S], facts: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the values that a module returns when all went well."""
    return {
        **facts,
        "changed": outcome.changed,
        "plan": outcome.plan.as_list(),
        "pending": [each.as_dict() for each in outcome.pending],
        "diff": outcome.diff,
    }


def failure(error: Exception, journal: Journal) -> dict[str, t.Any]:
    """Return the values that a module returns when it fails: also what was planned, and what of it is done."""
    text = _words(error)
    if journal.plan:
        done = f"{len(journal.done)} of {len(journal.plan)} steps were done"
        passed = len(journal.done) + len(journal.aside)
        next_step = journal.plan[passed].title if passed < len(journal.plan) else ""
        text += f" ({done}; stopped at: {next_step}.)" if next_step else f" ({done}.)"
    pending = [Pending(text).as_dict()] if isinstance(error, StillRunning) else []
    return {
        **(error.details if isinstance(error, (StepUndone, Incomplete)) else {}),
        "msg": text,
        "changed": journal.changed and not isinstance(error, StepUndone),
        "plan": journal.plan.as_list(),
        "done": [step.title for step in journal.done],
        "pending": pending,
    }
