# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of the module to what it returns."""

from __future__ import annotations

import contextlib
import typing as t

from ..._converge.command import Runner, require
from ..._converge.lock import Lock
from .applying.bpf import bpf_engine
from .applying.kernel_module import TOOLS, module_engine, require_module
from .applying.measure import measure
from .applying.network import INTERFACE, network_with_routes
from .facts import asked_for, found, warnings
from .model import MODULE, Measured, Request, Run
from .observing.host import interface_index, require_capabilities
from .parameters import Parameters, wanted

#: No two runs on a host at once: each would measure the other.
LOCK = "kernel-benchmark"
_OWN_NETWORK = {"ip": "iproute2"}
NOT_MEASURED = "Check mode: nothing was measured, nothing was loaded, and no route was made."

Look = t.Callable[[Parameters, Runner], t.Dict[str, t.Any]]


def _measure(request: Request, runner: Runner, warn: t.Callable[[str], None]) -> Measured:
    with contextlib.ExitStack() as stack:
        if request.routes is not None:
            stack.enter_context(network_with_routes(request, request.routes, runner))
        index = interface_index(request.interface if request.routes is None else INTERFACE)
        run: Run = stack.enter_context(module_engine(runner, warn) if request.engine == MODULE else bpf_engine())
        return measure(request, index, run)


def _require(request: Request, runner: Runner) -> None:
    """Raise what is missing before anything is made."""
    require_capabilities(own_network=request.routes is not None, own_module=request.engine == MODULE)
    if request.routes is None:
        interface_index(request.interface)
    else:
        require(_OWN_NETWORK)
    if request.engine == MODULE:
        require(TOOLS)
        require_module(runner)


def benchmark(check_mode: bool, warn: t.Callable[[str], None]) -> Look:
    """Return what a module looks with; in check mode it looks at the parameters only."""

    def look(parameters: Parameters, runner: Runner) -> dict[str, t.Any]:
        request = wanted(parameters)
        if check_mode:
            return {**asked_for(request), "ran": False, "msg": NOT_MEASURED}
        _require(request, runner)
        with Lock(LOCK) as lock:
            lock.acquire(request.wait_seconds)
            # What loads the routes holds the lock, too, should this process be killed meanwhile.
            measured = _measure(request, Runner(inherit=(lock.descriptor,)), warn)
        for words in warnings(request, measured):
            warn(words)
        return {**asked_for(request), "ran": True, **found(request, measured)}

    return look
