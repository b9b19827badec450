# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""BIRD, as its control socket tells: replies have codes, and the codes decide.

The codes are those of doc/reply_codes in BIRD's sources, the same in 2.0.12, 2.17.6 and 3.1.8.
"""

from __future__ import annotations

import enum
import re
import time
import typing as t
from dataclasses import dataclass

from .control_socket import conversation

RECONFIGURED = 3
IN_PROGRESS = 4
QUEUED = 5
STATUS = 13
UNQUEUED = 17
CONFIRMED = 18
NOTHING_TO_DO = 19
CONFIGURATION_OK = 20
VERSION = 1000
PROTOCOL = 1002

#: A configuration was accepted; protocols may still be on their way (see :func:`await_settled`).
TAKEN = frozenset((RECONFIGURED, IN_PROGRESS, QUEUED, UNQUEUED))

#: Seconds between two looks at a reconfiguration that is under way.
LOOK_EVERY = 0.1

_CODED = re.compile(r"(\d{4})([ -])(.*)")
_LAST_LINE = re.compile(rb"(?:\A|\n)\d{4} [^\n]*\n\Z")


class BirdRefused(Exception):
    """BIRD did not do what it was asked, in its own words; ``code`` is that of its reply."""

    def __init__(self, command: str, code: int, words: str) -> None:
        self.command = command
        self.code = code
        self.words = words
        super().__init__(f"BIRD answers '{command}' with: {words or f'code {code:04d}'}")


@dataclass(frozen=True)
class Line:
    """A line of a reply."""

    code: int
    text: str


@dataclass(frozen=True)
class Reply:
    """All that BIRD says to one command. The last line says how it went."""

    lines: tuple[Line, ...]

    @property
    def code(self) -> int:
        """The code of the last line."""
        return self.lines[-1].code

    @property
    def words(self) -> str:
        """The text of the last line."""
        return self.lines[-1].text

    def of(self, code: int) -> tuple[str, ...]:
        """Return the text of each line with ``code``."""
        return tuple(line.text for line in self.lines if line.code == code)


class Activity(enum.Enum):
    """What BIRD says that it does. All three have code 0013, so that here its words have to decide."""

    RUNNING = "Daemon is up and running"
    RECONFIGURING = "Reconfiguration in progress"
    SHUTTING_DOWN = "Shutdown in progress"


@dataclass(frozen=True)
class Status:
    """What 'show status' tells; the version as in '2.17.6'."""

    version: str
    activity: Activity


@dataclass(frozen=True)
class Protocol:
    """A protocol of 'show protocols'. ``more`` has when it came to this state, and what it says of itself."""

    name: str
    kind: str
    state: str
    more: str

    @property
    def up(self) -> bool:
        """Whether it works; for BGP that is an established session."""
        return self.state == "up"


def is_complete(data: bytes) -> bool:
    """Tell whether ``data`` ends with the last line of a reply: a code with a space behind it."""
    return _LAST_LINE.search(data) is not None


def parse_reply(text: str) -> Reply:
    """Read one reply. A line that begins with a space has the code of the one before it. Raises ValueError."""
    lines: list[Line] = []
    for row in text.splitlines():
        coded = _CODED.match(row)
        if coded:
            lines.append(Line(int(coded.group(1)), coded.group(3).rstrip()))
        elif row.startswith(" ") and lines:
            lines.append(Line(lines[-1].code, row[1:].rstrip()))
        elif not row.startswith("+"):  # An echo of the log, which 'echo' asks for.
            raise ValueError(f"this is no reply of BIRD: {row[:200]}")
    if not lines:
        raise ValueError("this is no reply of BIRD: it is empty")
    return Reply(tuple(lines))


def ask(socket_path: str, command: str, seconds: float) -> Reply:
    """Send one command and return the reply, whatever it says.

    Raises :class:`NoAnswer` when it does not come within ``seconds``, and :class:`BirdRefused` when it is none.
    """
    with conversation("BIRD", socket_path, seconds) as talk:
        talk.hear(is_complete)  # It greets first.
        talk.say(command)
        text = talk.hear(is_complete)
    try:
        return parse_reply(text)
    except ValueError as error:
        raise BirdRefused(command, 0, str(error)) from error


def check_configuration(socket_path: str, seconds: float) -> None:
    """Let BIRD read its configuration without using it. Raises :class:`BirdRefused`."""
    command = "configure check"
    _expect(command, ask(socket_path, command, seconds), {CONFIGURATION_OK})


def configure(socket_path: str, undo_after: int, seconds: float) -> None:
    """Ask for the configuration on disk, which BIRD undoes by itself after ``undo_after`` seconds.

    Ask :func:`await_settled` before, so that nothing is queued: BIRD 3.1.8 aborted when a queued configuration was
    undone. Raises :class:`BirdRefused` when BIRD keeps to the configuration that it has.
    """
    command = f"configure timeout {undo_after}"
    _expect(command, ask(socket_path, command, seconds), TAKEN)


def reconfigure(socket_path: str, seconds: float) -> None:
    """Ask for the configuration on disk for good; that also ends the wait for a confirmation of another.

    Raises :class:`BirdRefused` when BIRD keeps to the configuration that it has.
    """
    _expect("configure", ask(socket_path, "configure", seconds), TAKEN)


def confirm(socket_path: str, seconds: float) -> bool:
    """Keep the configuration that was asked for with a time limit.

    Returns False when none waits for it: its time is up and BIRD has undone it, or it was confirmed before.
    Raises :class:`BirdRefused`.
    """
    command = "configure confirm"
    return _expect(command, ask(socket_path, command, seconds), {CONFIRMED, NOTHING_TO_DO}) == CONFIRMED


def status(socket_path: str, seconds: float) -> Status:
    """Ask what BIRD does. Raises :class:`BirdRefused`."""
    return parse_status(ask(socket_path, "show status", seconds))


def parse_status(reply: Reply) -> Status:
    """Read the reply to 'show status'. Raises :class:`BirdRefused`."""
    _expect("show status", reply, {STATUS})
    try:
        activity = Activity(reply.words)
    except ValueError as error:
        raise BirdRefused("show status", reply.code, reply.words) from error
    version = next(iter(reply.of(VERSION)), "")
    return Status(version[len("BIRD ") :] if version.startswith("BIRD ") else version, activity)


def protocols(socket_path: str, seconds: float) -> tuple[Protocol, ...]:
    """Ask for all protocols. Raises :class:`BirdRefused`."""
    return parse_protocols(ask(socket_path, "show protocols", seconds))


def parse_protocols(reply: Reply) -> tuple[Protocol, ...]:
    """Read the reply to 'show protocols'. Raises :class:`BirdRefused`."""
    _expect("show protocols", reply, {0})
    return tuple(_protocol(row) for row in reply.of(PROTOCOL))


def await_settled(socket_path: str, seconds: float) -> Status:
    """Wait until no reconfiguration is under way.

    Raises :class:`BirdRefused` when there still is one after ``seconds``, and :class:`NoAnswer`.
    """
    deadline = time.monotonic() + seconds
    while True:
        # Even the last look has time for an answer.
        found = status(socket_path, max(deadline - time.monotonic(), 1.0))
        if found.activity is not Activity.RECONFIGURING:
            return found
        if time.monotonic() >= deadline:
            words = f"{found.activity.value}, which did not end within {seconds:g} s"
            raise BirdRefused("show status", STATUS, words)
        time.sleep(LOOK_EVERY)


def _protocol(row: str) -> Protocol:
    name, kind, state, more = "", "", "", ""
    words = row.split(None, 4)
    if len(words) >= 4:
        # The third column is the routing table.
        name, kind, state = words[0], words[1], words[3]
        more = " ".join(words[4].split()) if len(words) > 4 else ""
    return Protocol(name, kind, state, more)


def _expect(command: str, reply: Reply, codes: t.AbstractSet[int]) -> int:
    if reply.code not in codes:
        raise BirdRefused(command, reply.code, reply.words)
    return reply.code
