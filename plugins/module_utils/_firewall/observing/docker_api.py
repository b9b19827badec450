# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Docker's HTTP interface on its socket (docs.docker.com/reference/api/engine); the command line is not needed."""

from __future__ import annotations

import http.client
import json
import socket
import typing as t

#: Seconds to wait for an answer.
PATIENCE = 30.0


class DockerSilent(Exception):
    """Docker does not answer on its socket, as it does when it is not running."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float | None) -> None:
        super().__init__("docker")
        self._path = path
        self._patience = timeout

    def connect(self) -> None:
        """Connect to the socket instead of a port."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self._patience)
        self.sock.connect(self._path)


def _response(path: str, query: str, timeout: float | None) -> http.client.HTTPResponse:
    connection = _Connection(path, timeout)
    try:
        connection.request("GET", query)
        response = connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise DockerSilent(f"Docker does not answer on {path}: {error}") from error
    if response.status >= 300:
        raise DockerSilent(f"Docker answers {query} on {path} with {response.status} {response.reason}")
    return response


def get(path: str, query: str) -> t.Any:
    """Return Docker's answer to ``query`` on the socket ``path``; raise :class:`DockerSilent` when there is none."""
    try:
        return json.loads(_response(path, query, PATIENCE).read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DockerSilent(f"Docker's answer to {query} on {path} broke off: {error}") from error


def events(path: str) -> t.Iterator[t.Mapping[str, t.Any]]:
    """Yield what happens to networks, as it happens. Ends when Docker does."""
    filters = json.dumps({"type": {"network": True}}).replace(" ", "").replace('"', "%22")
    response = _response(path, f"/events?filters={filters}", None)
    try:
        for line in response:
            if line.strip():
                yield json.loads(line)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise DockerSilent(f"Docker's events on {path} broke off: {error}") from error
