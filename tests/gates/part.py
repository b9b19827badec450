"""Runs commands side by side, shows what failed in full and the rest in one line each, and adds up what passed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CACHE = Path(os.environ.get("FABRIC_CACHE") or ROOT / ".cache").resolve()

# A person who watches, and a CI that stops silent jobs, see that a long part is alive.
HEARTBEAT_SECONDS = 60.0

_COUNT = re.compile(r"(\d+) (passed|failed|errors?)\b")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Part:
    """One command, and how to judge it.

    ``complaint`` is for programs that print what is wrong and exit with 0: output that matches it means failure.
    """

    name: str
    argv: Sequence[str]
    cwd: Path = ROOT
    env: Mapping[str, str] = field(default_factory=dict)
    complaint: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Outcome:
    """How a part ended; ``passed`` and ``failed`` count its tests, or the part itself when it counts nothing."""

    name: str
    ok: bool
    seconds: float
    output: str
    passed: int
    failed: int


def count(output: str, ok: bool) -> tuple[int, int]:
    """Return how many tests passed and failed, by the last line of the output that totals them.

    Understands pytest's own last line and :func:`total`. An output without such a line counts as one. A command that
    failed although all its tests passed has one failure more: its own.
    """
    for line in reversed(_COLOUR.sub("", output).splitlines()):
        numbers = {word: int(number) for number, word in _COUNT.findall(line)}
        if "passed" in numbers or "failed" in numbers:
            failed = numbers.get("failed", 0) + numbers.get("error", 0) + numbers.get("errors", 0)
            return numbers.get("passed", 0), failed or int(not ok)
    return int(ok), int(not ok)


def total(outcomes: Iterable[Outcome]) -> str:
    """Return the closing line, in the form that pytest uses."""
    outcomes = list(outcomes)
    return f"{sum(o.passed for o in outcomes)} passed, {sum(o.failed for o in outcomes)} failed"


def table(outcomes: Iterable[Outcome]) -> str:
    """Return one line for each part: how it ended, its seconds, its tests."""
    return "\n".join(
        f"  {'ok  ' if o.ok else 'FAIL'} {o.name:<24} {o.seconds:7.1f} s  {o.passed} passed, {o.failed} failed"
        for o in outcomes
    )


class Runner:
    """Runs sequences of parts, ``jobs`` of them at a time, and can be stopped as a whole."""

    def __init__(self, logs: Path, say: Callable[[str], None] = print, heartbeat: float = HEARTBEAT_SECONDS) -> None:
        self._logs = logs
        self._say = say
        self._heartbeat = heartbeat
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, sequences: Iterable[Sequence[Part]], jobs: int) -> list[Outcome]:
        """Run each sequence in order and the sequences side by side; a failure keeps nothing else from running."""
        self._logs.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            running = [pool.submit(self._run_sequence, sequence) for sequence in sequences]
            try:
                return [outcome for future in running for outcome in future.result()]
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """Ask everything that runs to end; what runs can still clean up after itself."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.send_signal(signal.SIGTERM)

    def _run_sequence(self, parts: Sequence[Part]) -> list[Outcome]:
        return [self._run_part(part) for part in parts if not self._stopped]

    def _run_part(self, part: Part) -> Outcome:
        log = self._logs / f"{part.name}.log"
        start = time.monotonic()
        with log.open("wb") as sink:
            returncode = self._execute(part, log, sink.fileno())
        seconds = time.monotonic() - start
        output = log.read_text(encoding="utf-8", errors="replace")
        ok = returncode == 0 and not (part.complaint and part.complaint.search(output))
        outcome = Outcome(part.name, ok, seconds, output, *count(output, ok))
        with self._lock:
            if not ok:
                self._say(f"---- {part.name}: {' '.join(part.argv)}\n{output.rstrip()}\n---- end of {part.name}")
            self._say(f"{'ok  ' if ok else 'FAIL'} {part.name:<24} {seconds:7.1f} s")
        return outcome

    def _execute(self, part: Part, log: Path, sink: int) -> int:
        try:
            with self._lock:
                process = subprocess.Popen(
                    list(part.argv),
                    cwd=part.cwd,
                    # What goes into a log is read in editors, too.
                    env={**os.environ, "NO_COLOR": "1", **part.env},
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                )
                self._running.add(process)
        except OSError as error:
            os.write(sink, f"{part.argv[0]}: {error.strerror}\n".encode())
            return 127
        try:
            return self._wait(process, part.name, log)
        finally:
            with self._lock:
                self._running.discard(process)

    def _wait(self, process: subprocess.Popen[bytes], name: str, log: Path) -> int:
        start = time.monotonic()
        while True:
            try:
                return process.wait(self._heartbeat)
            except subprocess.TimeoutExpired:
                with self._lock:
                    self._say(f"     {name}: {(time.monotonic() - start) / 60:.0f} min so far: {_last_line(log)}")


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return _COLOUR.sub("", lines[-1])[:100] if lines else "no output yet"
