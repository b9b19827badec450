# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Look at what runs until it is right, or the time is up."""

from __future__ import annotations

import time
import typing as t
from dataclasses import replace

from ..._converge.converge import StepFailed
from ..checks.check import Check, CheckFailed, Moment

_INTERVAL = 0.25
#: No single look may take the time of all others.
_LONGEST_LOOK = 10.0


def verify(checks: t.Sequence[Check], moment: Moment, seconds: float, hold: float) -> None:
    """Return when all checks pass, and pass once more after ``hold`` seconds. Raises :class:`StepFailed`."""
    deadline = time.monotonic() + seconds
    tries = 0
    while True:
        tries += 1
        failures = _failures(checks, moment, deadline)
        if not failures:
            time.sleep(hold)
            failures = _failures(checks, moment, max(deadline, time.monotonic() + _LONGEST_LOOK))
            if not failures:
                return
            failures = [f"{each} (it passed {hold:.0f} s before)" for each in failures]
        if time.monotonic() + _INTERVAL >= deadline:
            raise StepFailed(f"{'; '.join(failures)} (after {tries} tries in {seconds:.0f} s)")
        time.sleep(_INTERVAL)


def _failures(checks: t.Sequence[Check], moment: Moment, deadline: float) -> list[str]:
    failed = []
    for check in checks:
        left = max(0.5, min(_LONGEST_LOOK, deadline - time.monotonic()))
        try:
            check.probe(replace(moment, seconds=left))
        except CheckFailed as failure:
            failed.append(f"{check.title}: {failure}")
    return failed
