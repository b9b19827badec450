# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of the module to what it returns."""

from __future__ import annotations

import typing as t

from ..._converge.command import Runner, require
from ..._converge.lock import Lock
from .applying.measure import measure
from .applying.network import INTERFACE, network_with_routes
from .facts import asked_for, found, warnings
from .model import Measured, Request
from .observing.host import interface_index, require_capabilities
from .parameters import Parameters, wanted

#: No two runs on a host at once: each would measure the other.
LOCK = "kernel-benchmark"
_OWN_NETWORK = {"ip": "iproute2"}
NOT_MEASURED = "Check mode: nothing was measured, and no route, program or map was made."

Look = t.Callable[[Parameters, Runner], t.Dict[str, t.Any]]


def _measure(request: Request, runner: Runner) -> Measured:
    if request.routes is None:
        return measure(request, interface_index(request.interface))
    with network_with_routes(request, request.routes, runner):
        return measure(request, interface_index(INTERFACE))


def benchmark(check_mode: bool, warn: t.Callable[[str], None]) -> Look:
    """Return what a module looks with; in check mode it looks at the parameters only."""

    def look(parameters: Parameters, _runner: Runner) -> dict[str, t.Any]:
        request = wanted(parameters)
        if check_mode:
            return {**asked_for(request), "ran": False, "msg": NOT_MEASURED}
        require_capabilities(own_network=request.routes is not None)
        if request.routes is None:
            interface_index(request.interface)
        else:
            require(_OWN_NETWORK)
        with Lock(LOCK) as lock:
            lock.acquire(request.wait_seconds)
            # What loads the routes holds the lock, too, should this process be killed meanwhile.
            measured = _measure(request, Runner(inherit=(lock.descriptor,)))
        for words in warnings(request, measured):
            warn(words)
        return {**asked_for(request), "ran": True, **found(request, measured)}

    return look
