"""Those outside: clients of published ports, and the server that containers connect to."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.firewall.places import ADDRESSES
from tests.lab import LabHost

PROGRAMS = Path(__file__).parent / "on_host"
#: A drop is known by silence. Longer than TCP waits before it repeats a lost SYN, on a busy machine.
PATIENCE = 2.0
KNOCKS_PER_SECOND = 1500
#: Seconds for one of them: less than TCP waits before it repeats a SYN.
KNOCK = 0.8


@dataclass(frozen=True)
class Target:
    """Whom to ask."""

    address: str
    port: int
    protocol: str = "tcp"

    def order(self) -> dict[str, str | int]:
        """As the probe wants it."""
        return {"address": self.address, "port": self.port, "protocol": self.protocol}


def order(targets: Sequence[Target], seconds: float = PATIENCE, again: float = 0.0) -> str:
    """What the probe reads."""
    return json.dumps({"seconds": seconds, "again": again, "targets": [target.order() for target in targets]})


@dataclass
class Knocking:
    """What a client that tried all the time came to; complete when the ``with`` block has ended."""

    attempts: int = 0
    successes: int = 0
    refusals: int = 0
    #: When the first successes were, in seconds after the start.
    moments: list[float] = field(default_factory=list)


@dataclass
class Talk:
    """A connection that is open."""

    process: subprocess.Popen[Any]

    def answers(self) -> bool:
        """Whether a word that is sent comes back in time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("say\n")
        self.process.stdin.flush()
        return bool(self.process.stdout.readline() == "answered\n")

    def time(self, rounds: int) -> float:
        """The seconds that so many words take there and back, one after the other."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"time {rounds}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


@dataclass
class Client:
    """A netns host."""

    host: LabHost

    def ask(self, targets: Sequence[Target], seconds: float = PATIENCE, again: float = 0.0) -> list[str | None]:
        """What each answers; all are asked at the same time, the silent ones again when that has seconds."""
        argv = [sys.executable, str(PROGRAMS / "probe.py")]
        done = self.host.run(argv, stdin=order(targets, seconds, again), timeout=seconds + again + 60)
        answers: list[str | None] = json.loads(done.stdout)
        return answers

    def can(self, host: str, port: int, protocol: str = "tcp", family: int = 4, seconds: float = PATIENCE) -> bool:
        """Whether a host (by its name in the lab, or its address) answers."""
        address = ADDRESSES[host][family] if host in ADDRESSES else host
        return self.ask([Target(address, port, protocol)], seconds)[0] is not None

    @contextlib.contextmanager
    def knocking(
        self, target: Target, per_second: int = KNOCKS_PER_SECOND, patience: float = KNOCK
    ) -> Iterator[Knocking]:
        """Try to connect without pause during the block, and wait for each so many seconds."""
        argv = [sys.executable, str(PROGRAMS / "knocker.py"), target.address, str(target.port), target.protocol]
        knocking = Knocking()
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with self.host.popen([*argv, str(per_second), str(patience)], **pipes) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stderr is not None
            try:
                assert process.stdout.readline() == b"trying\n", process.stderr.read().decode()
                yield knocking
            finally:
                process.stdin.close()
                values = process.stdout.read()
            assert process.wait(30) == 0, process.stderr.read().decode()
        vars(knocking).update(json.loads(values))

    @contextlib.contextmanager
    def talking(self, host: str, port: int, family: int = 4) -> Iterator[Talk]:
        """Keep a connection to an echo port open during the block."""
        argv = [sys.executable, str(PROGRAMS / "talker.py"), ADDRESSES[host][family], str(port)]
        with self.host.popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            try:
                yield Talk(process)
            finally:
                process.kill()

    @contextlib.contextmanager
    def answering(self, name: str, *ports: str) -> Iterator[None]:
        """Answer on ports (``tcp:8443``) during the block."""
        argv = [sys.executable, str(PROGRAMS / "answerer.py"), name, *ports]
        with self.host.popen(argv, stderr=subprocess.PIPE) as process:
            try:
                targets = [Target("127.0.0.1", int(port), protocol) for protocol, port in (p.split(":") for p in ports)]
                for _attempt in range(50):
                    if None not in self.ask(targets, 0.5):
                        break
                yield
            finally:
                process.terminate()
