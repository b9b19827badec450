# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Read a set's live files, and what is kept of it."""

from __future__ import annotations

import os
import stat
import typing as t

from ..._converge.converge import ObservationFailed
from .. import places
from ..contents import digest
from ..model import STAGING, Generation, Host, Live, Transaction, before, managed_paths
from ..records import BadRecord, manifest_of, state_of

_KINDS: t.Sequence[tuple[t.Callable[[int], bool], str]] = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def observe_host(name: str, paths: t.Iterable[str] = (), previous: bool = False) -> Host:
    """Return a set on this host: its live files, those of ``paths``, and what is kept.

    ``previous`` reads the contents of the set before the current one, too. Raises
    :class:`~..._converge.converge.ObservationFailed`.
    """
    generations = kept_generations(name)
    current, transaction = kept_state(name)
    staged = transaction is not None and transaction.phase != STAGING  # before that both may be missing
    for number in (current, *((transaction.generation, transaction.replaces) if transaction and staged else ())):
        if number and number not in generations:
            raise ObservationFailed(
                f"Set {number} of '{name}' is named in {places.state_file(name)}, but is not kept any more. Compare "
                f"the live files with the other sets in {places.folder(name)}, remove that directory, then run again."
            )
    involved = _paths(generations, current, transaction, previous) | set(paths)
    live, contents = {}, {}
    for path in sorted(involved):
        live[path], content = read_live(path)
        if content is not None:
            contents[live[path].digest] = content
    contents.update(_kept_contents(name, generations, current, transaction, previous, live))
    return Host(
        name=name,
        live=live,
        generations=generations,
        current=current,
        transaction=transaction,
        missing_directories=missing_directories(each.target for each in live.values()),
        others=_paths_of_others(name),
        contents=contents,
    )


def _paths(
    generations: t.Mapping[int, Generation], current: int, transaction: Transaction | None, previous: bool
) -> set[str]:
    numbers = {current}
    if transaction is not None:
        numbers |= {transaction.generation, transaction.replaces}
    if previous:
        numbers |= _former(generations, current)
    found = {entry.path for number in numbers if number in generations for entry in generations[number].entries}
    found |= managed_paths(generations, current)
    return found | {each.path for each in (transaction.exchanges if transaction else ())}


def _former(generations: t.Mapping[int, Generation], current: int) -> set[int]:
    former = before(generations, current)
    return {former.number} if former else set()


def read_live(path: str) -> tuple[Live, bytes | None]:
    """Return what is at ``path``, and its content."""
    target = os.path.realpath(path)
    try:
        descriptor = os.open(target, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return Live(path, target), None
    except OSError as error:
        return _unreadable(path, target, error), None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        return Live(path, target, obstacle=_kind(status.st_mode)), None
    with open(descriptor, "rb") as file:
        content = file.read()
    mode = stat.S_IMODE(status.st_mode)
    return Live(path, target, digest(content), status.st_uid, status.st_gid, mode), content


def _unreadable(path: str, target: str, error: OSError) -> Live:
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return Live(path, target)
    if stat.S_ISREG(mode):
        raise error
    return Live(path, target, obstacle=_kind(mode))


def _kind(mode: int) -> str:
    return next((name for test, name in _KINDS if test(mode)), "a link that leads in a circle")


def missing_directories(targets: t.Iterable[str]) -> tuple[str, ...]:
    """Return the directories that files at ``targets`` need and that are not there, outermost first."""
    missing: set[str] = set()
    for target in targets:
        directory = os.path.dirname(target)
        while not os.path.isdir(directory):
            missing.add(directory)
            directory = os.path.dirname(directory)
    return tuple(sorted(missing))


def kept_names() -> list[str]:
    """Return the names of all sets of this host."""
    try:
        return sorted(os.listdir(places.STATE))
    except FileNotFoundError:
        return []


def kept_generations(name: str) -> dict[int, Generation]:
    """Return what is kept of a set. A directory without a manifest is the trace of a run that was cut off."""
    try:
        numbers = os.listdir(os.path.dirname(places.generation_folder(name, 0)))
    except FileNotFoundError:
        return {}
    found = {}
    for number in sorted(int(each) for each in numbers if each.isdigit()):
        text = _text(places.manifest(name, number))
        if text:
            found[number] = _record(manifest_of, text, places.manifest(name, number))
    return found


def kept_state(name: str) -> tuple[int, Transaction | None]:
    """Return the number of the set in place, and the change under way."""
    text = _text(places.state_file(name))
    return _record(state_of, text, places.state_file(name)) if text else (0, None)


_R = t.TypeVar("_R")


def _record(parse: t.Callable[[str], _R], text: str, path: str) -> _R:
    try:
        return parse(text)
    except BadRecord as error:
        raise ObservationFailed(
            f"{path} cannot be understood: {error}. It is of a later version, or damaged; move {places.STATE} away to "
            "begin anew with the live files."
        ) from error


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _paths_of_others(name: str) -> dict[str, str]:
    found = {}
    for other in kept_names():
        if other != name:
            number, _transaction = kept_state(other)
            text = _text(places.manifest(other, number)) if number else ""
            if text:
                generation = _record(manifest_of, text, places.manifest(other, number))
                found.update({os.path.realpath(entry.path): other for entry in generation.entries})
                found.update({entry.path: other for entry in generation.entries})
    return found


def _kept_contents(
    name: str,
    generations: t.Mapping[int, Generation],
    current: int,
    transaction: Transaction | None,
    previous: bool,
    live: t.Mapping[str, Live],
) -> dict[str, bytes]:
    """Read what a diff may show: sets that may come back, and verified files that somebody else has changed."""
    wanted: list[tuple[int, str]] = []
    if current in generations:
        changed = [each for each in generations[current].entries if not live[each.path].is_as(each)]
        wanted += [(current, each.digest) for each in changed]
    coming = {transaction.replaces, transaction.generation} if transaction else set()
    if previous:
        coming |= _former(generations, current)
    for number in coming & set(generations):
        wanted += [(number, each.digest) for each in generations[number].entries]
    return {digest_: kept for number, digest_ in wanted for kept in _content(name, number, digest_)}


def _content(name: str, number: int, digest_: str) -> t.Iterator[bytes]:
    try:
        with open(places.kept_content(name, number, digest_), "rb") as file:
            yield file.read()
    except FileNotFoundError:
        return
