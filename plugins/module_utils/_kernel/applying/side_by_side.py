# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Work for several kernels at once, while its steps are still taken one after the other."""

from __future__ import annotations

import typing as t
from concurrent.futures import Future, ThreadPoolExecutor

S = t.TypeVar("S", bound=t.Hashable)
R = t.TypeVar("R")


class SideBySide(t.Generic[S, R]):
    """Work that was begun. ``jobs`` is how much at a time."""

    def __init__(self, work: t.Callable[[S], R], jobs: int) -> None:
        self._work = work
        self._jobs = jobs
        self._pool: ThreadPoolExecutor | None = None
        self._begun: dict[S, Future[R]] = {}

    def outcome(self, step: S, others: t.Sequence[S], alone: bool = False) -> R:
        """Do the work of a step, while that of others that come later begins, unless it is to be done ``alone``."""
        if step not in self._begun:
            self._begin(step, () if alone else others)
        return self._begun[step].result()

    def _begin(self, step: S, others: t.Sequence[S]) -> None:
        if self._jobs < 2 or not others:
            outcome: Future[R] = Future()
            outcome.set_result(self._work(step))
            self._begun[step] = outcome
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._jobs)
        for each in (step, *others):
            if each not in self._begun:
                self._begun[each] = self._pool.submit(self._work, each)

    def close(self) -> None:
        """Begin nothing more."""
        for future in self._begun.values():
            future.cancel()
        if self._pool is not None:
            self._pool.shutdown(wait=True)
