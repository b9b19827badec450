# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Talk to a daemon over its Unix socket, within a bounded time."""

from __future__ import annotations

import contextlib
import socket
import time
import typing as t

#: More than a daemon says of itself; whoever sends more is something else.
LONGEST_ANSWER = 16 * 1024 * 1024


class NoAnswer(Exception):
    """Nobody is at the socket, or whoever is there does not answer in time; one sentence."""


class Conversation:
    """One connection. All that is said and heard on it has to fit into the time that it was opened with."""

    def __init__(self, peer: str, path: str, seconds: float) -> None:
        self.peer = peer
        self.path = path
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def open(self) -> None:
        """Connect. Raises :class:`NoAnswer`."""
        try:
            self._set_time_left()
            self._connection.connect(self.path)
        except FileNotFoundError as error:
            raise NoAnswer(f"{self.peer}'s socket {self.path} does not exist; {self.peer} may not run") from error
        except ConnectionRefusedError as error:
            raise NoAnswer(f"nobody listens at {self.peer}'s socket {self.path}") from error
        except socket.timeout as error:
            raise self._silence() from error
        except OSError as error:
            raise NoAnswer(f"{self.peer}'s socket {self.path} cannot be opened: {error.strerror or error}") from error

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def say(self, line: str) -> None:
        """Send a line. Raises :class:`NoAnswer`."""
        try:
            self._set_time_left()
            self._connection.sendall(line.encode() + b"\n")
        except socket.timeout as error:
            raise self._silence() from error
        except OSError as error:
            raise self._cut_off() from error

    def say_no_more(self) -> None:
        """Tell the other side that nothing follows, and hear on. Raises :class:`NoAnswer`."""
        try:
            self._connection.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise self._cut_off() from error

    def hear(self, complete: t.Callable[[bytes], bool]) -> str:
        """Return what comes until ``complete`` says that it is all. Raises :class:`NoAnswer`."""
        heard = b""
        while not complete(heard):
            part = self._receive()
            if not part:
                raise self._cut_off()
            heard += part
        return heard.decode("utf-8", "replace")

    def hear_all(self) -> str:
        """Return what comes until the other side closes. Raises :class:`NoAnswer`."""
        heard = b""
        while True:
            part = self._receive()
            if not part:
                return heard.decode("utf-8", "replace")
            heard += part
            if len(heard) > LONGEST_ANSWER:
                raise NoAnswer(f"{self.peer} sends more than an answer over {self.path}")

    def _receive(self) -> bytes:
        try:
            self._set_time_left()
            return self._connection.recv(65536)
        except socket.timeout as error:
            raise self._silence() from error
        except OSError as error:
            raise self._cut_off() from error

    def _set_time_left(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout
        self._connection.settimeout(left)

    def _silence(self) -> NoAnswer:
        return NoAnswer(f"{self.peer} does not answer over {self.path} within {self._seconds:g} s")

    def _cut_off(self) -> NoAnswer:
        return NoAnswer(f"{self.peer} closed the connection over {self.path} before it had answered")


@contextlib.contextmanager
def conversation(peer: str, path: str, seconds: float) -> t.Iterator[Conversation]:
    """Open a connection to the socket ``path`` of the daemon ``peer``, and close it in the end.

    Raises :class:`NoAnswer` when that, or what is said on it, takes more than ``seconds``.
    """
    talk = Conversation(peer, path, seconds)
    try:
        talk.open()
        yield talk
    finally:
        talk.close()
