"""Asks a web server without pause until its standard input ends, each time over a new connection, and counts.

    python3 asker.py 192.0.2.1 80 4 400

has four requests under way at a time and begins 400 in a second at most. It prints ``asking`` after the first answers,
and at the end a line of JSON: ``attempts``, ``failures`` and ``told``, what the first failures were and when, in
seconds after its start. Anything but a whole answer with status 200 and the body ``served`` is a failure.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time

PATIENCE = 10.0  # seconds for one request
TOLD = 20


class Asker:
    """Requests of several threads, and what came of them."""

    def __init__(self, address: str, port: int, per_second: float) -> None:
        self._target = (address, port)
        self._between = 1 / per_second
        self._lock = threading.Lock()
        self._started = self._due = time.monotonic()
        self.ending = threading.Event()
        self.attempts = 0
        self.failures = 0
        self.told: list[tuple[float, str]] = []

    def work(self) -> None:
        """Ask until the end."""
        while not self.ending.is_set():
            with self._lock:
                self.attempts += 1
                # What a busy machine did not let it do is not made up for at once.
                self._due = max(self._due + self._between, time.monotonic() - 0.05)
                due = self._due
            time.sleep(max(0.0, due - time.monotonic()))
            wrong = self._ask()
            if wrong:
                with self._lock:
                    self.failures += 1
                    if len(self.told) < TOLD:
                        self.told.append((round(time.monotonic() - self._started, 3), wrong))

    def _ask(self) -> str:
        """Ask once; returns what was wrong with the answer."""
        answer = b""
        try:
            with socket.create_connection(self._target, PATIENCE) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n")
                while part := client.recv(65536):
                    answer += part
        except OSError as error:
            return f"{error!r} after {answer!r}"
        head, _empty, body = answer.partition(b"\r\n\r\n")
        right = head.startswith(b"HTTP/1.1 200 ") and body.strip() == b"served"
        return "" if right else repr(answer[:200])


def main() -> None:
    """Ask until standard input ends."""
    address, port, threads, per_second = sys.argv[1:5]
    asker = Asker(address, int(port), float(per_second))
    workers = [threading.Thread(target=asker.work) for _each in range(int(threads))]
    for worker in workers:
        worker.start()
    while asker.attempts < 20:
        time.sleep(0.01)
    print("asking", flush=True)
    sys.stdin.read()
    asker.ending.set()
    for worker in workers:
        worker.join()
    print(json.dumps({"attempts": asker.attempts, "failures": asker.failures, "told": asker.told}), flush=True)


if __name__ == "__main__":
    main()
