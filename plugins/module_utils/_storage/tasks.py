# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of raid_pool to the task that the engine runs."""

from __future__ import annotations

import time
import typing as t

from .._converge.command import Runner
from .._converge.module import Task
from .applying.execution import Execution
from .facts import facts
from .model import Pool, Wanted
from .observing.host import Host
from .parameters import Parameters, tools_for, wanted_pool
from .picture import draw
from .pool import PoolResource
from .refusals import findings

#: Seconds that a step may wait although the user does not want to: work that is over before anybody looks.
_MOMENT = 2.0


def results(pool: Pool, want: Wanted) -> dict[str, t.Any]:
    """Return what a module tells of a pool besides what it did."""
    return {"pool": facts(pool), "layout": draw(pool), "findings": list(findings(pool, want))}


def pool_task(parameters: Parameters) -> Task[Pool]:
    """Return the task of raid_pool. Raises Refusal for parameters that make no sense."""
    want = wanted_pool(parameters)
    wait = bool(parameters["wait"])
    timeout = float(parameters["wait_timeout"])

    def resource(runner: Runner) -> PoolResource:
        return PoolResource(want, Execution(runner, Host(), time.monotonic() + (timeout if wait else _MOMENT)))

    return Task(
        resource=resource,
        lock=f"raid_pool-{want.name}",
        facts=lambda pool: results(pool, want),
        tools=tools_for(want),
        wait=wait,
        wait_timeout=timeout,
        warnings=lambda _before, after: findings(after, None),
    )
