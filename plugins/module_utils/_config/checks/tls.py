# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A handshake of TLS succeeds with a certificate that is valid now and for the name."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass

from .check import Check, CheckFailed, Moment
from .tcp import address, connect


@dataclass(frozen=True)
class TlsCheck(Check):
    """The certificate is for ``server_name``, which also is what is asked for; empty means ``host``.

    ``ca_file`` has the certificates that are trusted; empty means those of the host.
    """

    host: str
    port: int
    server_name: str = ""
    ca_file: str = ""

    @property
    def title(self) -> str:
        name = f" for {self.server_name}" if self.server_name else ""
        return f"tls {address(self.host, self.port)}{name}"

    def probe(self, moment: Moment) -> None:
        context = trusting(self.ca_file)
        name = self.server_name or self.host
        with connect(self.host, self.port, moment.seconds) as connection:
            try:
                context.wrap_socket(connection, server_hostname=name).close()
            except ssl.SSLCertVerificationError as error:
                raise CheckFailed(f"the certificate is not good for '{name}': {error.verify_message}") from error
            except socket.timeout as error:
                raise CheckFailed(f"the handshake does not end within {moment.seconds:g} s") from error
            except ssl.SSLError as error:
                raise CheckFailed(f"the handshake fails: {error.reason or error}") from error
            except (OSError, ValueError) as error:
                raise CheckFailed(f"the connection ends in the handshake: {error}") from error


def trusting(ca_file: str) -> ssl.SSLContext:
    """Return what verifies certificates against ``ca_file``, or what the host trusts. Raises :class:`CheckFailed`."""
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except ssl.SSLError as error:
        raise CheckFailed(f"the file {ca_file} has no certificates that can be read") from error
    except OSError as error:
        raise CheckFailed(f"the file {ca_file} cannot be read: {error.strerror}") from error
