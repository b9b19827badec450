# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Something accepts connections."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from .check import Check, CheckFailed, Moment


@dataclass(frozen=True)
class TcpCheck(Check):
    """A connection to ``host`` is accepted. What happens to it then is not looked at."""

    host: str
    port: int

    @property
    def title(self) -> str:
        return f"tcp {address(self.host, self.port)}"

    def probe(self, moment: Moment) -> None:
        connect(self.host, self.port, moment.seconds).close()


def address(host: str, port: int) -> str:
    """Write an address as URLs do."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def connect(host: str, port: int, seconds: float) -> socket.socket:
    """Open a connection, which also times out after ``seconds``. Raises :class:`CheckFailed`."""
    try:
        return socket.create_connection((host, port), timeout=seconds)
    except socket.timeout as error:
        raise CheckFailed(f"the connection is not accepted within {seconds:g} s") from error
    except socket.gaierror as error:
        raise CheckFailed(f"the name '{host}' has no address: {error.strerror or error}") from error
    except ConnectionRefusedError as error:
        raise CheckFailed("nothing listens: the connection is refused") from error
    except (OSError, UnicodeError) as error:
        raise CheckFailed(f"the connection fails: {getattr(error, 'strerror', None) or error}") from error
