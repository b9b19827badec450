"""Tries to connect without pause until its standard input ends, and counts.

    python3 knocker.py 192.0.2.1 8443 tcp 1500 0.8

tries 1500 times a second, each time from a new port, and waits 0.8 seconds for each; an attempt that gets no answer
holds up nobody. It prints
``trying`` after the first attempts, and at the end a line of JSON: ``attempts``, ``successes`` (a connection, or over
UDP an answer), ``refusals`` (by a reset or an ICMP error) and ``moments``, the seconds after its start of the first
successes.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import resource
import selectors
import socket
import struct
import sys
import time
from dataclasses import dataclass, field

MOST = 4000  # attempts under way, if there may be so many open files
FURTHER_FILES = 50
TOLD = 20
ABORT = struct.pack("ii", 1, 0)  # SO_LINGER: a reset instead of a port in TIME_WAIT


@dataclass
class Count:
    """What came of the attempts."""

    started: float = field(default_factory=time.monotonic)
    attempts: int = 0
    successes: int = 0
    refusals: int = 0
    moments: list[float] = field(default_factory=list)

    def succeed(self) -> None:
        """One got through."""
        self.successes += 1
        if len(self.moments) < TOLD:
            self.moments.append(round(time.monotonic() - self.started, 3))

    def line(self) -> str:
        """For whoever started this program."""
        values = {"attempts": self.attempts, "successes": self.successes, "refusals": self.refusals}
        return json.dumps({**values, "moments": self.moments})


class Knocker:
    """Attempts under way, oldest first."""

    def __init__(self, address: str, port: int, protocol: str, patience: float) -> None:
        self._patience = patience
        self._target = (address, port)
        self._family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
        self._selector = selectors.DefaultSelector()
        self._waiting: dict[socket.socket, float] = {}
        self.count = Count()

    @property
    def under_way(self) -> int:
        """How many attempts have no outcome yet."""
        return len(self._waiting)

    def knock(self) -> None:
        """Begin an attempt."""
        client = socket.socket(self._family, self._kind)
        client.setblocking(False)
        self.count.attempts += 1
        if self._kind == socket.SOCK_STREAM:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            result = client.connect_ex(self._target)
        else:
            result = client.connect_ex(self._target)
            if result == 0:
                with contextlib.suppress(OSError):
                    client.send(b"?")
                    result = errno.EINPROGRESS
        if result == errno.EINPROGRESS:
            tcp = self._kind == socket.SOCK_STREAM
            self._selector.register(client, selectors.EVENT_WRITE if tcp else selectors.EVENT_READ)
            self._waiting[client] = time.monotonic() + self._patience
            return
        self._tell(client, result)

    def _tell(self, client: socket.socket, result: int) -> None:
        if result == 0:
            self.count.succeed()
        else:
            self.count.refusals += 1
        client.close()

    def listen(self, seconds: float) -> None:
        """Take note of outcomes for so long at most."""
        for key, _events in self._selector.select(seconds):
            client = key.fileobj
            if isinstance(client, socket.socket):
                self._selector.unregister(client)
                del self._waiting[client]
                result = client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if result == 0 and self._kind == socket.SOCK_DGRAM:
                    try:
                        client.recv(100)
                    except OSError as error:
                        result = error.errno or errno.EIO
                self._tell(client, result)
        now = time.monotonic()
        for client, end in list(self._waiting.items()):
            if end > now:
                break
            self._selector.unregister(client)
            del self._waiting[client]
            client.close()


def most_under_way() -> int:
    """How many attempts may be under way: each is an open file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST + FURTHER_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return allowed - FURTHER_FILES


def main() -> None:
    """Knock until standard input ends, then wait for what is under way."""
    address, port, protocol, rate, patience = sys.argv[1:6]
    knocker = Knocker(address, int(port), protocol, float(patience))
    os.set_blocking(sys.stdin.fileno(), False)
    most = most_under_way()
    due = time.monotonic()
    told = False
    while True:
        with contextlib.suppress(BlockingIOError):
            if not os.read(sys.stdin.fileno(), 1):
                break
        now = time.monotonic()
        # What a busy machine did not let it do is not made up for at once.
        due = max(due, now - 0.05)
        while due <= now and knocker.under_way < most:
            knocker.knock()
            due += 1 / float(rate)
        knocker.listen(max(0.0, min(due - time.monotonic(), 0.01)))
        if not told and knocker.count.attempts >= 20:
            print("trying", flush=True)
            told = True
    while knocker.under_way:
        knocker.listen(0.05)
    print(knocker.count.line(), flush=True)


if __name__ == "__main__":
    main()
