# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What can be done to a set of files, each step a value. Pure."""

from __future__ import annotations

import os
import typing as t
from dataclasses import dataclass, replace

from .._converge.plan import Argv, Step
from .checks.check import Check
from .model import BACK, STAGING, SWAPPING, TOLD, Entry, Exchange, Generation, Host, Live, Reload, Transaction

#: What stands for a time that is known when it has come.
LATER = "(when it is done)"


class ConfigStep(Step):
    """A step, and the host that it leads to."""

    def after(self, host: Host) -> Host:
        """Return ``host`` once the step is done."""
        raise NotImplementedError


def _under_way(host: Host) -> Transaction:
    if host.transaction is None:
        raise TypeError("a step of a change that is not under way")
    return host.transaction


def with_exchanges(host: Host, exchanges: t.Iterable[Exchange]) -> Host:
    """Return ``host`` once live files are exchanged."""
    live = dict(host.live)
    for each in exchanges:
        live[each.path] = as_live(each.path, each.target, each.entry)
    return replace(host, live=live)


def as_live(path: str, target: str, entry: Entry | None) -> Live:
    """The live file at ``path`` as a set has it."""
    if entry is None:
        return Live(path, target)
    return Live(path, target, entry.digest, entry.uid, entry.gid, entry.mode)


@dataclass(frozen=True)
class Unstage(ConfigStep):
    """Remove what a run that was cut off had laid beside the live files."""

    transaction: Transaction
    reason: str

    @property
    def title(self) -> str:
        return f"Remove what was staged as set {self.transaction.generation}"

    def after(self, host: Host) -> Host:
        generations = dict(host.generations)
        if self.is_new:
            generations.pop(self.transaction.generation, None)
        back = host.back(host.current) if self.transaction.untold else None
        missing = without_directories(host, self.transaction)
        return replace(host, generations=generations, transaction=back, missing_directories=missing)

    @property
    def is_new(self) -> bool:
        """Whether the set was not kept before."""
        return self.transaction.generation > self.transaction.replaces


@dataclass(frozen=True)
class PutBack(ConfigStep):
    """Bring the former files back. The daemon is told by a step of its own."""

    transaction: Transaction
    former: Generation
    reason: str

    @property
    def title(self) -> str:
        return f"Put back {described(self.former)} in place of set {self.transaction.generation}"

    def after(self, host: Host) -> Host:
        paths = [each.path for each in self.transaction.exchanges]
        live = {**host.live, **{path: as_live(path, host.live[path].target, self.former.entry(path)) for path in paths}}
        number = self.former.number
        back = host.back(number, self.transaction.starts)
        missing = without_directories(host, self.transaction)
        return replace(host, live=live, current=number, transaction=back, missing_directories=missing)


def without_directories(host: Host, under_way: Transaction) -> tuple[str, ...]:
    """The directories that are missing once those that a change has made are removed."""
    return tuple(sorted({*host.missing_directories, *under_way.directories}))


def described(generation: Generation) -> str:
    """Name a set in a sentence."""
    if generation.number == 0:
        return "what was there before the first set (nothing)"
    return f"set {generation.number}" + ("" if generation.verified else " (the files that were found on the host)")


@dataclass(frozen=True)
class Stage(ConfigStep):
    """Lay the new files beside the live ones, and keep both sets."""

    generation: Generation
    found: Generation | None  #: live files that are not those of a kept set, and become one
    exchanges: tuple[Exchange, ...]
    directories: tuple[str, ...]
    replaces: int
    untold: bool
    reason: str

    @property
    def title(self) -> str:
        return f"Stage set {self.generation.number}: {self.moves or 'the files that are there'}"

    @property
    def moves(self) -> str:
        """What happens to which file."""
        written = [each.path for each in self.exchanges if each.entry is not None]
        removed = [each.path for each in self.exchanges if each.entry is None]
        parts = [f"{verb} {', '.join(paths)}" for verb, paths in (("write", written), ("remove", removed)) if paths]
        return "; ".join(parts)

    @property
    def transaction(self) -> Transaction:
        """The change as it is recorded."""
        return Transaction(
            self.generation.number, self.replaces, STAGING, self.exchanges, self.directories, untold=self.untold
        )

    def after(self, host: Host) -> Host:
        generations = dict(host.generations)
        if self.found is not None:
            generations[self.found.number] = self.found
        generations[self.generation.number] = self.generation
        return replace(host, generations=generations, transaction=self.transaction, missing_directories=())


@dataclass(frozen=True)
class Validate(ConfigStep):
    """Have the daemon's own checker look at the set as it will be seen."""

    number: int
    argv: Argv
    reason: str

    @property
    def title(self) -> str:
        return f"Validate set {self.number}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (self.argv,)

    def after(self, host: Host) -> Host:
        return host


@dataclass(frozen=True)
class PutInPlace(ConfigStep):
    """Exchange the live files. Where a run was cut off in the midst of it, the rest of them."""

    number: int
    exchanges: tuple[Exchange, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Put set {self.number} in place"

    def after(self, host: Host) -> Host:
        under_way = replace(_under_way(host), phase=SWAPPING)
        return replace(with_exchanges(host, self.exchanges), transaction=under_way)


@dataclass(frozen=True)
class Tell(ConfigStep):
    """Have the daemon read its files."""

    reload: Reload
    reason: str

    @property
    def title(self) -> str:
        if self.reload.bird:
            return "Have BIRD configure itself, to go back unless that is confirmed"
        if self.reload.unit:
            return f"{'Restart' if self.reload.restart else 'Reload'} {self.reload.unit}"
        return f"Run {os.path.basename(self.reload.command[0])} to reload"

    @property
    def commands(self) -> tuple[Argv, ...]:
        if self.reload.unit and not self.reload.bird:
            return (("systemctl", "restart" if self.reload.restart else "reload", self.reload.unit),)
        return (self.reload.command,) if self.reload.command else ()

    def after(self, host: Host) -> Host:
        under_way = _under_way(host)
        return replace(host, transaction=under_way if under_way.phase == BACK else replace(under_way, phase=TOLD))


@dataclass(frozen=True)
class Verify(ConfigStep):
    """Look at what really runs."""

    number: int
    checks: tuple[Check, ...]
    seconds: float
    hold: float
    reason: str

    @property
    def title(self) -> str:
        return f"Verify set {self.number}: {', '.join(check.title for check in self.checks)}"

    def after(self, host: Host) -> Host:
        return host


@dataclass(frozen=True)
class Keep(ConfigStep):
    """Record the set as the last good one, and remove the traces of the change."""

    number: int
    keep: int
    reason: str

    @property
    def title(self) -> str:
        return f"Keep set {self.number} as the last good one"

    def after(self, host: Host) -> Host:
        generation = replace(host.generation(self.number), verified=LATER)
        numbers = surviving(host.generations, self.number, self.keep)
        generations = {number: host.generations[number] for number in numbers}
        if self.number:
            generations[self.number] = generation
        return replace(host, generations=generations, current=self.number, transaction=None)


def surviving(generations: t.Mapping[int, Generation], current: int, keep: int) -> tuple[int, ...]:
    """Return the numbers that stay: the current set, those it goes back to, then the newest, ``keep`` besides it."""
    line = []
    number = current
    while number in generations and number not in line:
        line.append(number)
        number = generations[number].parent
    others = sorted(set(generations) - set(line), reverse=True)
    return tuple(sorted([*line, *others][: keep + 1]))
