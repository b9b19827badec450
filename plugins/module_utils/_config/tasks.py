# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of the modules to what the engine runs."""

from __future__ import annotations

import typing as t

from .._converge.command import Runner
from .._converge.converge import Refusal
from .._converge.module import Task
from .config import ConfigResource
from .facts import drift, facts, generation_facts, set_facts, unfinished
from .model import Host
from .observing.observe import kept_names, observe_host
from .parameters import Parameters, wanted_config


def _warnings(before: Host, _after: Host) -> t.Iterator[str]:
    if before.drift:
        yield (
            f"Somebody else had changed {', '.join(before.drift)} since set {before.current} was verified; the diff "
            "shows how, and the files as they were found are kept as a set."
        )
    if before.recovered == "finished":
        yield "A run before this one was cut off; what it had begun was finished."
    elif before.recovered:
        yield "A run before this one was cut off; what it had begun was taken back first."


def config_task(parameters: Parameters) -> Task[Host]:
    """Return the task of guarded_config. Raises Refusal for parameters that make no sense."""
    want = wanted_config(parameters)
    return Task(
        resource=lambda runner: ConfigResource(want, runner),
        lock=f"config-{want.name}",
        facts=facts,
        wait_timeout=want.wait_seconds,
        warnings=_warnings,
    )


def look_at_sets(parameters: Parameters, _runner: Runner) -> dict[str, t.Any]:
    """Return what guarded_config_info tells. Raises Refusal for a set that nobody has put in place."""
    names, name = kept_names(), parameters["name"]
    if name and name not in names:
        raise Refusal(f"No set '{name}' is kept on this host; there are {', '.join(names) or 'none'}.")
    return {"sets": [_look_at(each) for each in ([name] if name else names)]}


def _look_at(name: str) -> dict[str, t.Any]:
    host = observe_host(name)
    newest_first = sorted(host.generations, reverse=True)
    return {
        **set_facts(host),
        "drift": list(drift(host)),
        "unfinished": unfinished(host) or None,
        "generations": [generation_facts(host.generations[number], host.current) for number in newest_first],
    }
