# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Runs the loop with the lookup and without, in turn, whatever engine does it."""

from __future__ import annotations

import contextlib
import errno
import os
import typing as t

from ...._converge.converge import ObservationFailed
from ..model import Loop, Measured, Request, Run, Sample


@contextlib.contextmanager
def _on_one_cpu() -> t.Iterator[None]:
    """Keep this process where it is not moved; not on the first CPU, which has most of the interrupts."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _complain_of_errors(sample: Sample) -> None:
    if not sample.errors:
        return
    code = -sample.last_error
    meaning = f"{errno.errorcode.get(code, code)}, {os.strerror(code)}" if code > 0 else f"the unknown code {-code}"
    raise ObservationFailed(
        f"{sample.errors} lookups ended with {meaning} instead of an answer; a kernel built with this family's "
        "routing, and an interface that has an address of it, were expected."
    )


def measure(request: Request, interface_index: int, run: Run) -> Measured:
    """Measure in the network that this process is in. Raises ObservationFailed, Refusal and OSError."""
    found: dict[bool, list[Sample]] = {True: [], False: []}
    with _on_one_cpu():
        state = 0

        def loop(look_up: bool) -> Loop:
            return Loop(request.network, request.source, interface_index, request.batch, state, look_up)

        if request.warm_up:
            sample, state = run(loop(True), max(request.warm_up, request.batch))
            _complain_of_errors(sample)
        for _number in range(request.runs):
            # Side by side, so that a CPU that changes its pace changes both.
            empty, _state = run(loop(False), request.loops)
            sample, state = run(loop(True), request.loops)
            _complain_of_errors(sample)
            found[False].append(empty)
            found[True].append(sample)
    return Measured(tuple(found[True]), tuple(found[False]))
