# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out the steps, and take everything back when one of them fails."""

from __future__ import annotations

import contextlib
import datetime
import time
import typing as t
from dataclasses import replace

from ..._converge.command import CommandError, Runner
from ..._converge.converge import Refusal, StepFailed, StepUndone
from ..checks.check import Moment
from ..checks.unit import UnitCheck, main_pid
from ..contents import masked
from ..model import BACK, RETURNING, STAGING, SWAPPING, TOLD, VERIFIED, Guards, Host, Target, Transaction
from ..steps import (
    ConfigStep,
    Keep,
    PutBack,
    PutInPlace,
    Stage,
    Tell,
    Unstage,
    Validate,
    Verify,
    described,
    surviving,
)
from . import exchange, store
from .tell import Told, confirm_bird, runs, stop, tell
from .verify import verify
from .view import as_if

#: What a step may fail with that is told in its own words.
_FAILURES = (StepFailed, CommandError, OSError)
#: BIRD's own time limit is longer than what the checks may take.
_BIRD_MARGIN = 20.0


class Change:
    """A run's way from the host as it was found to the target. ``host`` follows what is done."""

    def __init__(self, target: Target, guards_of: t.Callable[[t.Mapping[str, t.Any]], Guards], runner: Runner) -> None:
        self.target = target
        self.runner = runner
        self.host = Host("")
        self._guards_of = guards_of
        self._moment = Moment(runner, 0.0)
        self._left = False  # the daemon does not run, and is not to be started
        self._unconfirmed = False  # BIRD will go back by itself

    def carry_out(self, step: ConfigStep) -> None:
        """Carry out one step. Raises :class:`StepUndone` when it failed and the former set is back."""
        try:
            _WAYS[type(step)](self, step)
        except _FAILURES as error:
            if isinstance(step, (Unstage, PutBack)):
                raise
            raise self._undone(step, error) from error
        self.host = step.after(self.host)

    # Contents

    def content(self, number: int, digest: str) -> bytes:
        """The content of a set's file."""
        known = self.host.contents.get(digest)
        return store.kept_content(self.host.name, number, digest) if known is None else known

    def masked(self, text: str) -> str:
        """``text`` without what is secret."""
        entries = {entry for each in self.host.generations.values() for entry in each.entries if entry.secret}
        secrets = [self.host.contents[digest] for digest in {e.digest for e in entries} if digest in self.host.contents]
        return masked(text, secrets)

    # Steps

    def _unstage(self, step: Unstage) -> None:
        self._clear(step.transaction, step.is_new)
        after = step.after(self.host)
        store.keep_state(self.host.name, after.current, after.transaction)

    def _clear(self, under_way: Transaction, is_new: bool) -> None:
        for each in under_way.exchanges:
            exchange.take_back(each)
        exchange.remove_directories(under_way.directories)
        if is_new:
            store.drop_generation(self.host.name, under_way.generation)

    def _put_back(self, step: PutBack) -> None:
        self._return(step.transaction)
        after = step.after(self.host)
        store.keep_state(self.host.name, after.current, after.transaction)

    def _return(self, under_way: Transaction) -> None:
        with contextlib.suppress(OSError):  # on a full disk the files come back all the same
            self._record(replace(under_way, phase=RETURNING))
        for each in reversed(under_way.exchanges):
            exchange.take_back(each)
        exchange.synchronize_all(under_way.exchanges)
        exchange.remove_directories(under_way.directories)

    def _record(self, under_way: Transaction | None) -> None:
        store.keep_state(self.host.name, self.host.current, under_way)
        self.host = replace(self.host, transaction=under_way)

    def _stage(self, step: Stage) -> None:
        name = self.host.name
        # What was cut off before it had a record.
        store.drop_traces(name, set(self.host.generations))
        self._record(step.transaction)
        for generation in (step.found, step.generation):
            if generation is not None and generation.number not in self.host.generations:
                store.keep_generation(name, generation, self.host.contents)
        self.lay(step)

    def lay(self, step: Stage) -> None:
        """Lay the files of a set beside the live ones."""
        exchange.make_directories(step.directories)
        for each in step.exchanges:
            if each.entry is not None:
                exchange.lay(each, self.content(step.generation.number, each.entry.digest))

    def _validate(self, step: Validate) -> None:
        exchanges = self._under_way.exchanges
        with as_if([each.target.rpartition("/")[0] for each in exchanges]):
            for each in exchanges:
                exchange.put(each)
            self.run_validation(step)

    def run_validation(self, step: Validate) -> None:
        """Have the checker look at what is to be seen now."""
        self.runner.run(step.argv, timeout=self.target.guards.validate_seconds, tied=True)

    def _put_in_place(self, step: PutInPlace) -> None:
        self._record(replace(self._under_way, phase=SWAPPING))
        for each in step.exchanges:
            exchange.put(each)
        exchange.synchronize_all(step.exchanges)

    @property
    def _under_way(self) -> Transaction:
        if self.host.transaction is None:
            raise TypeError("a step of a change that is not under way")
        return self.host.transaction

    def _tell(self, step: Tell) -> None:
        under_way = self._under_way
        starts = under_way.starts or not runs(step.reload, self.runner)
        self._record(replace(under_way, phase=under_way.phase if under_way.phase == BACK else TOLD, starts=starts))
        guards = self.target.guards
        self._moment, told = self._told(guards, guards.verify_seconds + guards.hold_seconds + _BIRD_MARGIN)
        self._left = told is Told.LEFT
        self._unconfirmed = bool(guards.reload.bird) and told is Told.RELOADED

    def _told(self, guards: Guards, undo_after: float) -> tuple[Moment, Told]:
        names = [check.unit for check in guards.checks if isinstance(check, UnitCheck)]
        main_pids = {name: main_pid(name, self.runner) for name in names}
        now = time.time()
        told = tell(guards.reload, undo_after, self.runner)
        kept = main_pids if told is Told.RELOADED else {}
        return Moment(self.runner, 0.0, now, {name: pid for name, pid in kept.items() if pid}), told

    def _verify(self, step: Verify) -> None:
        if not self._left:
            verify(step.checks, self._moment, step.seconds, step.hold)

    def _keep(self, step: Keep) -> None:
        under_way, name = self._under_way, self.host.name
        if self._unconfirmed:
            confirm_bird(self.target.guards.reload.bird)
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        generation = self.host.generation(step.number)
        if generation.number:
            store.keep_manifest(name, replace(generation, verified=now))
        self._record(replace(under_way, phase=VERIFIED))
        self._end(step.number, under_way)
        store.drop_traces(name, surviving(self.host.generations, step.number, step.keep))

    def _end(self, current: int, under_way: Transaction) -> None:
        for each in under_way.exchanges:
            exchange.forget(each)
        exchange.synchronize_all(under_way.exchanges)
        former = self.host.generation(under_way.replaces)
        exchange.remove_directories(set(former.directories) - set(self.host.generation(current).directories))
        store.keep_state(self.host.name, current, None)

    # Failures

    def _undone(self, step: ConfigStep, error: Exception) -> Exception:
        words = self.masked(_words(error))
        under_way = self.host.transaction
        if under_way is None or under_way.phase == STAGING:
            return self._unstaged(step, words)
        if under_way.phase == VERIFIED:
            return StepFailed(
                f"The set is in place and verified; the next run removes the traces of the change. {words}"
            )
        if under_way.phase == BACK:
            return StepFailed(f"The former files are in place, but what runs cannot be verified. {words}")
        return self._rolled_back(under_way, words)

    def _unstaged(self, step: ConfigStep, words: str) -> Exception:
        under_way = self.host.transaction
        number = under_way.generation if under_way else self.target.number
        if under_way is not None and under_way.phase == STAGING:
            undo = Unstage(under_way, "the set cannot be put in place")
            with contextlib.suppress(OSError):  # the disk may be full, and the next run looks again
                self._unstage(undo)
                self.host = undo.after(self.host)
        what = f"set {number} cannot be staged" if isinstance(step, Stage) else f"set {number} was not put in place"
        message = f"The live files are as before: {what}. {words}"
        return StepUndone(message, rolled_back=False, output=words, output_after="")

    def _rolled_back(self, under_way: Transaction, words: str) -> Exception:
        former = self.host.generation(under_way.replaces)
        head = f"Set {under_way.generation} did not stand, and {described(former)} is back"
        try:
            self._return(under_way)
            undo = PutBack(under_way, former, "")
            self.host = undo.after(self.host)
            if under_way.generation > under_way.replaces:
                generations = {n: each for n, each in self.host.generations.items() if n != under_way.generation}
                self.host = replace(self.host, generations=generations)
            self._record(None if under_way.phase == SWAPPING else self.host.transaction)
            store.drop_traces(self.host.name, set(self.host.generations))
            after = self._former_proved(under_way) if under_way.phase == TOLD else "the daemon was not told"
        except _FAILURES as error:
            after = self.masked(_words(error))
            message = f"{head}, but cannot be verified either: {after}\nThe new set failed with: {words}"
            return StepUndone(message, rolled_back=True, output=words, output_after=after)
        message = f"{head} ({after}). The new set failed with: {words}"
        return StepUndone(message, rolled_back=True, output=words, output_after=after)

    def _former_proved(self, under_way: Transaction) -> str:
        """Have the daemon read its former files, and look at what runs."""
        guards = self._former_guards(under_way)
        if under_way.starts:
            stop(guards.reload, self.runner)
            self._record(None)
            return "the daemon is stopped again, as it was"
        moment, told = self._told(guards, 0.0)
        if told is not Told.LEFT:
            verify(guards.checks, moment, guards.verify_seconds, guards.hold_seconds)
        self._record(None)
        return "verified: " + ", ".join(check.title for check in guards.checks) if guards.checks else "reloaded"

    def _former_guards(self, under_way: Transaction) -> Guards:
        """The checks that the former set was verified with, else the present ones; the daemon is told as now."""
        kept = self.host.generation(under_way.replaces).guards
        with contextlib.suppress(Refusal, KeyError, TypeError):  # of a version that had other checks
            if kept:
                return replace(self._guards_of(kept), reload=self.target.guards.reload)
        return self.target.guards


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or error}" + (f" ({error.filename})." if error.filename else ".")
    return str(error)


_WAYS: t.Mapping[type[ConfigStep], t.Callable[[Change, t.Any], None]] = {
    Unstage: Change._unstage,
    PutBack: Change._put_back,
    Stage: Change._stage,
    Validate: Change._validate,
    PutInPlace: Change._put_in_place,
    Tell: Change._tell,
    Verify: Change._verify,
    Keep: Change._keep,
}
