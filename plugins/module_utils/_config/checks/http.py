# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""A request is answered as expected."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
import typing as t
from dataclasses import dataclass
from urllib.error import HTTPError, URLError

from ansible.module_utils.urls import open_url

from .check import Check, CheckFailed, Moment

#: Bytes of an answer, or a file, in which a text is looked for.
FIRST_MIB = 1024 * 1024


@dataclass(frozen=True)
class HttpCheck(Check):
    """``url`` is answered with ``status``, and with ``contains`` in the first MiB of the answer.

    An empty ``host_header`` means that of the URL, an empty ``ca_file`` what the host trusts. Redirections are not
    followed, and no proxy is used.
    """

    url: str
    host_header: str = ""
    status: int = 200
    contains: str = ""
    ca_file: str = ""

    @property
    def title(self) -> str:
        host = f" of {self.host_header}" if self.host_header else ""
        return f"http {self.url}{host}"

    def probe(self, moment: Moment) -> None:
        deadline = time.monotonic() + moment.seconds
        answer = self._answer(moment.seconds)
        try:
            status = answer.code
            if status != self.status:
                raise CheckFailed(f"it is answered with {_words_of(status)} instead of {self.status}")
            if self.contains and self.contains.encode() not in _first_mib(answer, deadline):
                raise CheckFailed(f"the answer does not have the text '{self.contains}'")
        except (OSError, http.client.HTTPException) as error:
            raise CheckFailed(f"the answer ends too soon: {_reason(error)}") from error
        finally:
            answer.close()

    def _answer(self, seconds: float) -> t.Any:
        try:
            return open_url(
                self.url,
                headers={"Host": self.host_header} if self.host_header else None,
                use_proxy=False,
                timeout=seconds,
                validate_certs=True,
                follow_redirects="none",
                ca_path=self.ca_file or None,
                use_netrc=False,
                decompress=False,
            )
        except HTTPError as error:
            return error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise CheckFailed(f"the request is not answered: {_reason(error)}") from error


def _first_mib(answer: t.Any, deadline: float) -> bytes:
    """Read in parts, because the time limit of a connection is one for each part."""
    begin = b""
    while len(begin) < FIRST_MIB:
        if time.monotonic() >= deadline:
            raise CheckFailed("the answer does not end in time")
        part: bytes = answer.read1(FIRST_MIB - len(begin))
        if not part:
            break
        begin += part
    return begin


def _words_of(status: int) -> str:
    phrase = http.client.responses.get(status, "")
    return f"{status} ({phrase})" if phrase else str(status)


def _reason(error: BaseException) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"the certificate is not good: {reason.verify_message}"
    if isinstance(reason, socket.timeout):
        return "it takes too long"
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return str(reason) or type(reason).__name__
