"""A daemon that misbehaves when its configuration says so.

    python3 toy.py --serve FILE     answers HTTP with what the configuration says, and reads it again at SIGHUP
    python3 toy.py --check FILE     ends with 0 when the configuration can be used

Lines of a configuration are a word and its value: ``port 8001``, ``says TEXT``, ``include DIRECTORY`` (all of its
``*.conf``), ``needs FILE`` (which must be readable), ``on_reload`` and ``on_check``. With ``on_reload`` the daemon does
not ``obey`` a new configuration: it ``die``s a little after it has answered with it, it ``keep``s the old one, it
``close``s its listener, or it ``crash``es at once. ``on_check hang`` makes the check never end, ``on_check crash``
makes it die of a signal.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

DIES_AFTER = 0.7
WORDS = {"port", "says", "include", "needs", "on_reload", "on_check"}


class Mistake(Exception):
    """The configuration cannot be used; the text quotes the line."""


def lines_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield words and values, also of included files."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        word, _space, value = line.partition(" ")
        if not word or word.startswith("#"):
            continue
        if word not in WORDS:
            raise Mistake(f"{path}:{number}: what is this?\n{line}")
        if word == "include":
            folder = Path(value)
            if not folder.is_dir():
                raise Mistake(f"{path}:{number}: {folder} is no directory")
            for part in sorted(folder.glob("*.conf")):
                yield from lines_of(part)
        else:
            yield word, value


def read(path: Path) -> dict[str, str]:
    """The configuration; what is said in several lines is joined."""
    found = {"says": "", "port": "8001", "on_reload": "obey", "on_check": "pass"}
    for word, value in lines_of(path):
        if word == "needs":
            found["says"] += f" [{len(Path(value).read_bytes())} bytes]"
        elif word == "says":
            found["says"] += f" {value}"
        else:
            found[word] = value
    if not found["port"].isdigit():
        raise Mistake(f"{path}: {found['port']} is no port")
    return found


class Toy:
    """The daemon."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._says = ""
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    def load(self) -> None:
        """Obey the configuration."""
        wanted = read(self._path)
        self._says = wanted["says"].strip()
        port = int(wanted["port"])
        if self._server is None or port != self._port:
            self.close()
            self._listen(port)

    def _listen(self, port: int) -> None:
        toy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = f"{toy._says}\n".encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self._server, self._port = ThreadingHTTPServer(("127.0.0.1", port), Handler), port
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def reload(self) -> None:
        """Read the configuration again, and do as it says about that."""
        try:
            manner = read(self._path)["on_reload"]
            if manner == "crash":
                os.kill(os.getpid(), signal.SIGKILL)
            elif manner == "close":
                self.close()
            elif manner != "keep":
                self.load()
            if manner == "die":
                threading.Timer(DIES_AFTER, os.kill, (os.getpid(), signal.SIGKILL)).start()
        except (Mistake, OSError) as error:
            print(f"the old configuration stays: {error}", flush=True)


def check(path: Path) -> None:
    """Say whether the configuration can be used."""
    manner = read(path)["on_check"]
    print(f"checked {path}", flush=True)
    while manner == "hang":
        time.sleep(3600)
    if manner == "crash":
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Serve until killed, or check."""
    path = Path(sys.argv[2])
    try:
        if sys.argv[1] == "--check":
            check(path)
            return
        # Before there are threads, which would be asked to handle it instead.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
        toy = Toy(path)
        toy.load()
    except (Mistake, OSError) as error:
        sys.exit(f"toy: {error}")
    while True:
        signal.sigwait({signal.SIGHUP})
        toy.reload()


if __name__ == "__main__":
    main()
