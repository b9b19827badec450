# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ports, handshakes and requests, with real sockets of this host."""

from __future__ import annotations

import contextlib
import http.server
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.check import Check, CheckFailed, Moment
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.http import FIRST_MIB, HttpCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.tcp import TcpCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.tls import TlsCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from tests.unit.config.certificates import authority, certificate_with_key


@dataclass(frozen=True)
class Papers:
    """Files with certificates: what signs, somebody else who signs, and what they signed."""

    trusted: str
    stranger: str
    good: Path
    expired: Path


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    folder = tmp_path_factory.mktemp("papers")
    ours, stranger = authority(folder, "ours"), authority(folder, "stranger")
    return Papers(
        trusted=str(ours.path),
        stranger=str(stranger.path),
        good=certificate_with_key(folder, ours, "good.pem"),
        expired=certificate_with_key(folder, ours, "expired.pem", days_left=-1),
    )


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        host = self.headers["Host"]
        if self.path == "/moved":
            self._answer(302, b"", Location="/")
        elif self.path == "/broken":
            self._answer(503, b"no backend")
        elif self.path == "/long":
            self._answer(200, b"." * (FIRST_MIB - 3) + b"end" + b"late")
        elif self.path == "/short":
            self._answer(200, b"half", length=100)
        elif self.path == "/slow":
            self._drip()
        else:
            self._answer(200, b"served as " + host.encode())

    def _drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            for beat in range(50):
                self.wfile.write(b"%d" % beat)
                self.wfile.flush()
                time.sleep(0.1)

    def _answer(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are part of the tests."""


@contextlib.contextmanager
def serving(certificate: Path | None = None) -> Iterator[int]:
    """Serve HTTP, or HTTPS with a certificate, and yield the port."""
    server = Server(("127.0.0.1", 0), Handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        # The handshake is made in the connection's own thread, at its first read.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return port


@pytest.fixture
def mute_port() -> Iterator[int]:
    """Accepts, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        yield mute.getsockname()[1]


def probe(check: Check, seconds: float = 10) -> None:
    check.probe(Moment(Runner(), seconds))


def words_of(check: Check, seconds: float = 10) -> str:
    with pytest.raises(CheckFailed) as failed:
        probe(check, seconds)
    return str(failed.value)


def test_a_port_that_accepts_passes_whatever_comes_then(mute_port: int) -> None:
    probe(TcpCheck("127.0.0.1", mute_port))
    probe(TcpCheck("localhost", mute_port))


def test_a_port_that_nobody_listens_at_is_told(closed_port: int) -> None:
    assert words_of(TcpCheck("127.0.0.1", closed_port)) == "nothing listens: the connection is refused"
    assert words_of(TlsCheck("127.0.0.1", closed_port)) == "nothing listens: the connection is refused"
    assert "Connection refused" in words_of(HttpCheck(f"http://127.0.0.1:{closed_port}/"))


def test_a_name_without_address_is_told() -> None:
    assert words_of(TcpCheck("no-such-name.invalid", 80)).startswith("the name 'no-such-name.invalid' has no address: ")


def test_a_name_that_is_none_is_told() -> None:
    assert "the connection fails" in words_of(TcpCheck("a" * 70 + ".invalid", 80))


def test_titles_name_the_address() -> None:
    assert TcpCheck("::1", 80).title == "tcp [::1]:80"
    assert TlsCheck("127.0.0.1", 443, "www.example.com").title == "tls 127.0.0.1:443 for www.example.com"
    assert HttpCheck("http://127.0.0.1/", "www.example.com").title == "http http://127.0.0.1/ of www.example.com"


def test_a_good_certificate_passes(papers: Papers) -> None:
    with serving(papers.good) as port:
        probe(TlsCheck("127.0.0.1", port, "www.example.com", papers.trusted))
        probe(TlsCheck("localhost", port, ca_file=papers.trusted))
        probe(TlsCheck("127.0.0.1", port, ca_file=papers.trusted))


def test_a_certificate_for_another_name_is_told(papers: Papers) -> None:
    with serving(papers.good) as port:
        words = words_of(TlsCheck("127.0.0.1", port, "mail.example.com", papers.trusted))
    assert words.startswith("the certificate is not good for 'mail.example.com': Hostname mismatch")


def test_an_expired_certificate_is_told(papers: Papers) -> None:
    with serving(papers.expired) as port:
        words = words_of(TlsCheck("127.0.0.1", port, "www.example.com", papers.trusted))
    assert words == "the certificate is not good for 'www.example.com': certificate has expired"


def test_a_certificate_that_nobody_trusted_has_signed_is_told(papers: Papers) -> None:
    with serving(papers.good) as port:
        for ca_file in (papers.stranger, ""):
            words = words_of(TlsCheck("127.0.0.1", port, "www.example.com", ca_file))
            assert words.endswith("unable to get local issuer certificate")


def test_what_speaks_no_tls_is_told() -> None:
    with serving() as port:
        assert words_of(TlsCheck("127.0.0.1", port)).startswith("the handshake fails: ")


def test_a_handshake_that_does_not_end_is_not_waited_for(mute_port: int) -> None:
    assert words_of(TlsCheck("127.0.0.1", mute_port), 0.3) == "the handshake does not end within 0.3 s"


def test_files_of_certificates_that_cannot_be_used_are_told(papers: Papers, tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("nothing\n")
    with serving(papers.good) as port:
        missing = words_of(TlsCheck("127.0.0.1", port, ca_file=str(tmp_path / "none.pem")))
        assert missing == f"the file {tmp_path}/none.pem cannot be read: No such file or directory"
        unusable = words_of(TlsCheck("127.0.0.1", port, ca_file=str(empty)))
        assert unusable == f"the file {empty} has no certificates that can be read"
        assert "No such file" in words_of(HttpCheck(f"https://127.0.0.1:{port}/", ca_file=str(tmp_path / "none.pem")))
        assert "not answered" in words_of(HttpCheck(f"https://127.0.0.1:{port}/", ca_file=str(empty)))


def test_a_request_is_answered() -> None:
    with serving() as port:
        probe(HttpCheck(f"http://127.0.0.1:{port}/"))
        probe(HttpCheck(f"http://127.0.0.1:{port}/", contains=f"served as 127.0.0.1:{port}"))
        assert words_of(HttpCheck(f"http://127.0.0.1:{port}/", contains="other")) == (
            "the answer does not have the text 'other'"
        )


def test_a_request_is_for_the_given_host() -> None:
    with serving() as port:
        probe(HttpCheck(f"http://127.0.0.1:{port}/", "www.example.com", contains="served as www.example.com"))


def test_other_statuses_can_be_expected() -> None:
    with serving() as port:
        url = f"http://127.0.0.1:{port}"
        probe(HttpCheck(f"{url}/broken", status=503, contains="no backend"))
        assert words_of(HttpCheck(f"{url}/broken")) == "it is answered with 503 (Service Unavailable) instead of 200"
        assert words_of(HttpCheck(f"{url}/", status=404)) == "it is answered with 200 (OK) instead of 404"


def test_redirections_are_not_followed() -> None:
    with serving() as port:
        url = f"http://127.0.0.1:{port}/moved"
        probe(HttpCheck(url, status=302))
        assert words_of(HttpCheck(url)) == "it is answered with 302 (Found) instead of 200"


def test_no_proxy_is_used(monkeypatch: pytest.MonkeyPatch, closed_port: int) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{closed_port}")
    monkeypatch.delenv("no_proxy", raising=False)
    with serving() as port:
        probe(HttpCheck(f"http://127.0.0.1:{port}/"))


def test_the_first_mib_of_an_answer_is_searched() -> None:
    with serving() as port:
        probe(HttpCheck(f"http://127.0.0.1:{port}/long", contains="end"))
        assert "text 'late'" in words_of(HttpCheck(f"http://127.0.0.1:{port}/long", contains="late"))


def test_an_answer_that_takes_too_long_is_not_waited_for(mute_port: int) -> None:
    began = time.monotonic()
    assert words_of(HttpCheck(f"http://127.0.0.1:{mute_port}/"), 0.3).endswith("it takes too long")
    assert time.monotonic() - began < 3
    began = time.monotonic()
    with serving() as port:
        words = words_of(HttpCheck(f"http://127.0.0.1:{port}/slow", contains="x"), 0.5)
        assert words == "the answer does not end in time"
        assert time.monotonic() - began < 3


def test_certificates_are_verified_for_https(papers: Papers) -> None:
    with serving(papers.good) as port:
        probe(HttpCheck(f"https://localhost:{port}/", ca_file=papers.trusted))
        words = words_of(HttpCheck(f"https://localhost:{port}/", ca_file=papers.stranger))
        assert words == (
            "the request is not answered: the certificate is not good: unable to get local issuer certificate"
        )
    with serving(papers.expired) as port:
        words = words_of(HttpCheck(f"https://localhost:{port}/", ca_file=papers.trusted))
        assert words.endswith("the certificate is not good: certificate has expired")
