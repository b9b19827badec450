# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Sets of files, those that are kept, and the change that is under way. Pure values."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from .checks.check import Check

#: How far a change has come. Whatever a phase allows may have been done when it is read.
STAGING = "staging"  #: files are being laid beside the live ones
SWAPPING = "swapping"  #: live files are being exchanged; the daemon was not told
TOLD = "told"  #: all are in place, and the daemon may have been told
RETURNING = "returning"  #: the former files are being put back
VERIFIED = "verified"  #: what runs is right; only the traces are to be removed
BACK = "back"  #: the former set is in place again; the daemon has to be told, and what runs to be verified


@dataclass(frozen=True)
class Entry:
    """One file of a set: where it is live, and how it is there."""

    path: str
    digest: str  #: SHA-256 of the content, in hex
    uid: int
    gid: int
    mode: int
    secret: bool = False


@dataclass(frozen=True)
class Live:
    """What is at a path of the host now. Without a digest nothing is there."""

    path: str
    target: str  #: where symbolic links lead
    digest: str = ""
    uid: int = 0
    gid: int = 0
    mode: int = 0
    obstacle: str = ""  #: what is there instead of a regular file

    def is_as(self, entry: Entry | None) -> bool:
        """Whether the file is as the set has it; None stands for no file."""
        if entry is None:
            return not self.digest
        return (self.digest, self.uid, self.gid, self.mode) == (entry.digest, entry.uid, entry.gid, entry.mode)


@dataclass(frozen=True)
class Reload:
    """How the daemon is told of its files: one of the three, or none."""

    unit: str = ""
    command: tuple[str, ...] = ()
    bird: str = ""
    restart: bool = False
    start: bool = True
    seconds: float = 90.0


@dataclass(frozen=True)
class Guards:
    """What guards a change. ``given`` is what it was read from, as it is kept with the set."""

    validate: tuple[str, ...] = ()
    validate_seconds: float = 60.0
    reload: Reload = Reload()
    checks: tuple[Check, ...] = ()
    verify_seconds: float = 30.0
    hold_seconds: float = 1.0
    given: t.Mapping[str, t.Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Generation:
    """A set that is kept. Number 0 is the empty set: no file was there."""

    number: int
    entries: tuple[Entry, ...] = ()
    parent: int = 0  #: the set that it replaced
    verified: str = ""  #: when, in UTC (ISO 8601); empty for files that were found on the host
    directories: tuple[str, ...] = ()  #: made for its files, outermost first
    guards: t.Mapping[str, t.Any] = field(default_factory=dict)

    def entry(self, path: str) -> Entry | None:
        """The file that is live at ``path``, if the set has one."""
        return next((each for each in self.entries if each.path == path), None)


@dataclass(frozen=True)
class Exchange:
    """One live file that is written, or removed."""

    path: str
    target: str
    existed: bool
    entry: Entry | None  #: the new file; None removes it

    @property
    def staged(self) -> str:
        """Where the new file waits. Daemons that include whole directories leave out names that begin with a dot."""
        return _beside(self.target, "new")

    @property
    def old(self) -> str:
        """Where the old file waits until the new set is verified."""
        return _beside(self.target, "old")


def _beside(target: str, what: str) -> str:
    directory, _slash, name = target.rpartition("/")
    return f"{directory}/.{name}.fabric-{what}"


@dataclass(frozen=True)
class Transaction:
    """A change that is under way, as it is recorded before its first move."""

    generation: int
    replaces: int
    phase: str
    exchanges: tuple[Exchange, ...] = ()
    directories: tuple[str, ...] = ()  #: to be made, outermost first
    starts: bool = False  #: the daemon did not run before
    untold: bool = False  #: when it was staged, the daemon had not been told yet that the former set is back


@dataclass(frozen=True)
class Host:
    """A set on its host. ``contents`` has the bytes of what is live, and of sets that may come back, by digest."""

    name: str
    live: t.Mapping[str, Live] = field(default_factory=dict)
    generations: t.Mapping[int, Generation] = field(default_factory=dict)
    current: int = 0
    transaction: Transaction | None = None
    missing_directories: tuple[str, ...] = ()
    others: t.Mapping[str, str] = field(default_factory=dict)  #: paths of other sets, with their names
    contents: t.Mapping[str, bytes] = field(default_factory=dict, repr=False, compare=False)
    drift: tuple[str, ...] = ()  #: what the run found changed by somebody else
    recovered: str = ""  #: what the run did about one that had been cut off

    def generation(self, number: int) -> Generation:
        """A set that is kept; number 0 is always there."""
        return Generation(0) if number == 0 else self.generations[number]

    def back(self, number: int, starts: bool = False) -> Transaction:
        """The record that a kept set is in place again, and that the daemon has not been told."""
        return Transaction(number, number, BACK, starts=starts)

    def holds(self, entries: t.Iterable[Entry], paths: t.Iterable[str]) -> bool:
        """Whether the live files at ``paths`` are exactly ``entries``."""
        wanted = {entry.path: entry for entry in entries}
        return all(self.live[path].is_as(wanted.get(path)) for path in {*paths, *wanted})


def managed_paths(generations: t.Mapping[int, Generation], number: int) -> set[str]:
    """Return the paths of the last set that was verified, a set or one before it.

    Files that were only found, because somebody wanted to put others in their place, are nobody's to remove.
    """
    seen: set[int] = set()
    while number in generations and number not in seen:
        if generations[number].verified:
            return {entry.path for entry in generations[number].entries}
        seen.add(number)
        number = generations[number].parent
    return set()


def before(generations: t.Mapping[int, Generation], number: int) -> Generation | None:
    """Return the set to go back to from a set: the last one before it that was verified and has other files.

    Where there is none, it is what the host had before the first one, if that is kept.
    """
    found, files = None, set(generations[number].entries) if number in generations else set()
    seen = {number}
    while number in generations:
        number = generations[number].parent
        if number in seen or number not in generations:
            return found
        seen.add(number)
        if set(generations[number].entries) == files:
            continue
        found = generations[number]
        if found.verified:
            return found
    return found


@dataclass(frozen=True)
class Wanted:
    """What the module was asked for."""

    name: str
    entries: tuple[Entry, ...] = ()
    contents: t.Mapping[str, bytes] = field(default_factory=dict, repr=False)
    guards: Guards = Guards()
    previous: bool = False
    keep: int = 5
    wait_seconds: float = 300.0


@dataclass(frozen=True)
class Target:
    """The set that is to be in place. ``number`` is that of a kept one, 0 of one that is not kept yet."""

    entries: tuple[Entry, ...]
    guards: Guards
    number: int = 0
    keep: int = 5
