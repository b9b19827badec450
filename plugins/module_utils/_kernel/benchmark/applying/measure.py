# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Runs the loop with the lookup and without, in turn."""

from __future__ import annotations

import contextlib
import errno
import os
import typing as t

from ...._converge.converge import ObservationFailed
from ..model import Measured, Request, Sample
from ..shared_memory import Loop, packed, sample_of, state_of
from ..walk import Walk, walk_over
from .bpf import Program


@contextlib.contextmanager
def _on_one_cpu() -> t.Iterator[None]:
    """Keep this process where it is not moved; not on the first CPU, which has most of the interrupts."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _run(program: Program, loop: Loop, lookups: int) -> tuple[Sample, int]:
    """Return what so many lookups came to, and how far the walk went."""
    program.memory[:] = packed(loop)
    program.run(max(1, lookups // loop.batch))
    memory = bytes(program.memory)
    return sample_of(memory, loop.batch), state_of(memory)


def _complain_of_errors(sample: Sample) -> None:
    if not sample.errors:
        return
    code = -sample.last_error
    meaning = f"{errno.errorcode.get(code, code)}, {os.strerror(code)}" if code > 0 else f"the unknown code {-code}"
    raise ObservationFailed(
        f"{sample.errors} lookups ended with {meaning} instead of an answer; a kernel built with this family's "
        "routing, and an interface that has an address of it, were expected."
    )


def measure(request: Request, interface_index: int) -> Measured:
    """Measure in the network that this process is in. Raises ObservationFailed, Refusal and OSError."""
    walk: Walk = walk_over(request.network)
    found: dict[bool, list[Sample]] = {True: [], False: []}
    with Program() as program, _on_one_cpu():
        state = 0

        def loop(look_up: bool) -> Loop:
            return Loop(walk, request.source, interface_index, request.batch, state, look_up)

        if request.warm_up:
            sample, state = _run(program, loop(True), request.warm_up)
            _complain_of_errors(sample)
        for _number in range(request.runs):
            # Side by side, so that a CPU that changes its pace changes both.
            empty, _state = _run(program, loop(False), request.loops)
            sample, state = _run(program, loop(True), request.loops)
            _complain_of_errors(sample)
            found[False].append(empty)
            found[True].append(sample)
    return Measured(tuple(found[True]), tuple(found[False]))
