# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From a host and the set that it shall have to the steps in between. Pure."""

from __future__ import annotations

import os
import typing as t

from .._converge.converge import Refusal
from .._converge.plan import Plan
from .model import (
    BACK,
    RETURNING,
    STAGING,
    VERIFIED,
    Entry,
    Exchange,
    Generation,
    Guards,
    Host,
    Target,
    Transaction,
    Wanted,
    before,
    managed_paths,
)
from .steps import ConfigStep, Keep, PutBack, PutInPlace, Stage, Tell, Unstage, Validate, Verify

_FINISH = "a run was cut off on the way to this set"
_BACK = "a run was cut off on the way to another set"


def target_of(host: Host, want: Wanted, guards_from: t.Callable[[t.Mapping[str, t.Any]], Guards]) -> Target:
    """Return the set that is wanted of this host. Raises :class:`Refusal`.

    ``guards_from`` reads the guards that are kept with a set.
    """
    if not want.previous:
        return Target(want.entries, want.guards, keep=want.keep)
    if host.transaction is not None and host.transaction.phase != BACK:
        raise Refusal(
            f"A change of set '{host.name}' was cut off. Run with state=present first, which ends it; then go back."
        )
    current = host.generation(host.current)
    former = before(host.generations, host.current)
    if former is None:
        raise Refusal(f"There is no set before the current one of '{host.name}', so there is nothing to go back to.")
    given = want.guards.given
    kept = former.guards if former.guards else current.guards
    chosen = {key: value if _is_given(key, value) else kept.get(key, value) for key, value in given.items()}
    return Target(former.entries, guards_from(chosen), number=former.number, keep=want.keep)


def _is_given(key: str, value: t.Any) -> bool:
    """Times have defaults, so what is kept with the set wins over them."""
    return bool(value) and key in ("validate", "reload", "verify")


def is_settled(host: Host, target: Target) -> bool:
    """Whether the set is in place and was verified."""
    current = host.generation(host.current)
    return (
        host.transaction is None
        and bool(current.entries)
        and (current.number == target.number if target.number else bool(current.verified))
        and _same(current.entries, target.entries)
        and host.holds(target.entries, ())
    )


def _same(one: t.Iterable[Entry], other: t.Iterable[Entry]) -> bool:
    return sorted(one, key=lambda entry: entry.path) == sorted(other, key=lambda entry: entry.path)


def check_paths(host: Host, target: Target) -> None:
    """Raise :class:`Refusal` for files that cannot be there."""
    targets: dict[str, str] = {}
    for entry in target.entries:
        live = host.live[entry.path]
        if live.obstacle:
            raise Refusal(f"{entry.path} is {live.obstacle}, not a file; move it away, or name another path.")
        if live.target in targets:
            raise Refusal(f"{entry.path} and {targets[live.target]} are the same file; declare it once.")
        targets[live.target] = entry.path
        owner = host.others.get(entry.path) or host.others.get(live.target)
        if owner:
            raise Refusal(f"{entry.path} belongs to the set '{owner}'; a file is in one set only.")


def plan_config(host: Host, target: Target) -> Plan:
    """Return the steps that are left. Raises :class:`Refusal`."""
    if is_settled(host, target):
        return Plan()
    check_paths(host, target)
    steps: list[ConfigStep] = []
    under_way = host.transaction
    if under_way is not None and under_way.phase == STAGING:
        steps = [Unstage(under_way, "a run was cut off before it had changed anything")]
    elif under_way is not None and under_way.phase == VERIFIED:
        steps = [Keep(under_way.generation, target.keep, "a run was cut off when it had verified this set")]
    elif under_way is not None and under_way.phase != BACK:
        if under_way.phase != RETURNING and _same(host.generation(under_way.generation).entries, target.entries):
            return Plan(_finish(under_way, target))
        former = host.generation(under_way.replaces)
        steps = [PutBack(under_way, former, _BACK)]
    for step in steps:
        host = step.after(host)
    if not is_settled(host, target):
        steps += _way(host, target)
    return Plan(steps)


def _finish(under_way: Transaction, target: Target) -> t.Iterator[ConfigStep]:
    number = under_way.generation
    yield PutInPlace(number, under_way.exchanges, _FINISH)
    yield from _prove(number, target, _FINISH)


def _prove(number: int, target: Target, reason: str) -> t.Iterator[ConfigStep]:
    guards = target.guards
    if guards.reload.unit or guards.reload.command or guards.reload.bird:
        yield Tell(guards.reload, reason)
    if guards.checks:
        yield Verify(number, guards.checks, guards.verify_seconds, guards.hold_seconds, reason)
    yield Keep(number, target.keep, reason)


def _way(host: Host, target: Target) -> t.Iterator[ConfigStep]:
    under_way, current = host.transaction, host.generation(host.current)
    paths = {entry.path for entry in target.entries} | managed_paths(host.generations, host.current)
    in_place = host.holds(current.entries, paths)
    if (
        under_way is not None
        and in_place
        and (current.verified or current.number == target.number)
        and _same(current.entries, target.entries)
    ):
        # The former set is back and is what is wanted; the daemon may still have the other one.
        yield from _prove(current.number, target, _BACK)
        return
    last = max(host.generations, default=0)
    replaces, found = current.number, None
    if not in_place:
        entries = tuple(_as_found(host, target, paths))
        replaces = last
        if not last or host.generations[last].verified or not _same(host.generations[last].entries, entries):
            replaces = last = last + 1
            found = Generation(last, entries, parent=current.number)
    exchanges = tuple(_exchanges(host, target, paths))
    kept = host.generations.get(target.number)
    directories = tuple(_directories(host, host.missing_directories, target))
    made = tuple(_directories(host, {*current.directories, *directories}, target))
    generation = kept or Generation(last + 1, target.entries, replaces, "", made, target.guards.given)
    reason = "the live files differ" if exchanges else "the files are there, but nobody has verified them"
    yield Stage(generation, found, exchanges, directories, replaces, under_way is not None, reason)
    if target.guards.validate:
        yield Validate(generation.number, target.guards.validate, "nothing is put in place that the daemon refuses")
    yield PutInPlace(generation.number, exchanges, reason)
    yield from _prove(generation.number, target, "what is kept as good is what was seen to run")


def _as_found(host: Host, target: Target, paths: t.Iterable[str]) -> t.Iterator[Entry]:
    secret = {entry.path for entry in target.entries if entry.secret}
    secret |= {entry.path for entry in host.generation(host.current).entries if entry.secret}
    for path in sorted(paths):
        live = host.live[path]
        if live.digest:
            yield Entry(path, live.digest, live.uid, live.gid, live.mode, path in secret)


def _exchanges(host: Host, target: Target, paths: t.Iterable[str]) -> t.Iterator[Exchange]:
    wanted = {entry.path: entry for entry in target.entries}
    for path in sorted(paths):
        live, entry = host.live[path], wanted.get(path)
        if not live.is_as(entry):
            yield Exchange(path, live.target, bool(live.digest), entry)


def _directories(host: Host, directories: t.Iterable[str], target: Target) -> t.Iterator[str]:
    """Those that files of the set lie below, outermost first."""
    parents = [os.path.dirname(host.live[entry.path].target) for entry in target.entries]
    for each in sorted(directories):
        if any(_is_below(parent, each) for parent in parents):
            yield each


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")
