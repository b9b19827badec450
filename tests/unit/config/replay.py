# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A daemon at a Unix socket that says what real ones were recorded to say."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

CAPTURED = Path(__file__).parent / "captured"

#: The releases of Debian and its bird3.
BIRD_VERSIONS = ("2.0.12", "2.17.6", "3.1.8")
HAPROXY_VERSIONS = ("2.6.12", "3.0.11")


def bird(version: str, scene: str) -> list[str]:
    """What BIRD said in a scene: its greeting, and a reply to each command."""
    scenes: dict[str, list[str]] = json.loads((CAPTURED / f"bird-{version}.json").read_text())
    return scenes[scene]


def haproxy(version: str, scene: str) -> str:
    """What HAProxy's master said to 'show proc' in a scene."""
    return (CAPTURED / f"haproxy-{version}-{scene}.txt").read_text()


class Daemon:
    """Each connection is greeted, then each line heard is answered with the next answer; the last one stays.

    It ends a connection when the other side has said all, as BIRD and HAProxy's master do.
    """

    def __init__(self, path: Path, greeting: str, answers: Sequence[str], closes: bool = False) -> None:
        self.path = str(path)
        self.heard: list[str] = []
        self._greeting = greeting
        self._answers = list(answers)
        self._closes = closes
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _peer = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("r") as lines, contextlib.suppress(OSError):
                connection.sendall(self._greeting.encode())
                for line in lines:
                    self.heard.append(line.rstrip("\n"))
                    answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
                    # In two parts, as a slow daemon's answer may come.
                    connection.sendall(answer[:7].encode())
                    connection.sendall(answer[7:].encode())
                    if self._closes:
                        break

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()


@contextlib.contextmanager
def replayed(path: Path, answers: Sequence[str], greeting: str = "", closes: bool = False) -> Iterator[Daemon]:
    """Serve at ``path`` while the body runs. ``closes`` ends each connection after its first answer."""
    daemon = Daemon(path, greeting, answers, closes)
    try:
        yield daemon
    finally:
        daemon.close()


@contextlib.contextmanager
def replayed_bird(path: Path, *scenes: tuple[str, str]) -> Iterator[Daemon]:
    """A BIRD that answers with the replies of scenes, each given as version and name, one after the other."""
    recorded = [bird(*scene) for scene in scenes]
    answers = [answer for scene in recorded for answer in scene[1:]]
    with replayed(path, answers, greeting=recorded[0][0]) as daemon:
        yield daemon
