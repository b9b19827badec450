"""Kills a run of a module at each of its moments in turn, and lets the next run end what was begun.

One object of JSON comes in: ``module``; ``before``, the arguments that make the host as it is before each killed run;
``during``, those of the run that is killed, and whether it ``fails`` when nobody kills it; ``after``, those of the run
that follows; ``calls`` (see :class:`on_host.module.Cut`); ``look``, a command that prints what the daemon serves,
``serves``, what it may print while a change is under way, and ``ends``, what it prints before and at the end;
``folders`` with the set's files; and ``settle``, seconds for which the daemon may take to serve what it was told.

One object goes out: ``moments``, where runs were killed, ``recovered``, what the next run said of each, and ``wrong``,
everything that was not as it has to be.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .look import tree
from .module import carry_out

#: Far more than a run has moments.
MOST = 500
#: So many things that are wrong are enough to understand the matter.
ENOUGH = 5


class Cutter:
    """The runs, and what came of them."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._seen = Path(tempfile.mkdtemp()) / "moments"
        self._baselines: dict[str, Any] = {}
        self.recovered: list[str] = []
        self.wrong: list[str] = []

    @property
    def moments(self) -> list[str]:
        """Where runs were killed."""
        return self._seen.read_text().splitlines() if self._seen.exists() else []

    def run(self, which: str, at: int = 0) -> dict[str, Any]:
        """Run the module once; ``at`` is the moment of its death."""
        order: dict[str, Any] = {"module": self._order["module"], "arguments": self._order[which]}
        if at:
            order["cut"] = {"at": at, "seen": str(self._seen), "calls": self._order["calls"], "anywhere": True}
        answer = carry_out(order)
        values: dict[str, Any] = {}
        for line in answer["stdout"].splitlines():
            if line.startswith("{"):
                values = json.loads(line)
        answer["values"] = values
        return answer

    def served(self) -> str:
        """What the daemon serves."""
        done = subprocess.run(self._order["look"], capture_output=True, text=True, check=False, timeout=30)
        return done.stdout.strip() or f"({done.stderr.strip()[-300:]})"

    def look_for(self, wanted: list[str], when: str) -> None:
        """Note when the daemon does not come to serve what it should."""
        deadline = time.monotonic() + self._order["settle"]
        while (found := self.served()) not in wanted:
            if time.monotonic() > deadline:
                self.wrong.append(f"{when}: the daemon serves {found!r} instead of {' or '.join(wanted)}")
                return
            time.sleep(0.05)

    def right(self, which: str, when: str) -> dict[str, Any]:
        """Run the module; it must do its work, and leave the host as its first such run did."""
        answer = self.run(which)
        values = answer["values"]
        if answer["status"] != 0 or values.get("failed", not values):
            self.wrong.append(f"{when}: {values.get('msg')} {values.get('output')} {answer['stderr'][-2000:]}")
            return answer
        self.look_for([self._order["ends"][which]], when)
        now = tree(self._order["folders"], times=False)
        baseline = self._baselines.setdefault(which, now)
        if now != baseline:
            different = {path for path in {*now, *baseline} if now.get(path) != baseline.get(path)}
            told = [f"{path}: {baseline.get(path)} became {now.get(path)}" for path in sorted(different)]
            self.wrong.append(f"{when}: {'; '.join(told)}")
        return answer

    def one(self, at: int) -> bool:
        """Kill one run, and have the next one end it; False when the run came to its end before its death."""
        killed = self.run("during", at)
        if killed["status"] != -9:
            fails = bool(killed["values"].get("failed", not killed["values"]))
            if fails is not self._order["fails"]:
                self.wrong.append(f"not killed at {at}: {killed['values'].get('msg')} {killed['stderr'][-2000:]}")
            return False
        when = f"killed at {at}, {self.moments[-1]!r}"
        self.look_for(self._order["serves"], when)
        ended = self.right("after", f"{when}; the next run")
        self.recovered.append(ended["values"].get("recovered", "?"))
        return True

    def work(self) -> None:
        """Kill at each moment in turn."""
        self.right("before", "before")
        for at in range(1, MOST):
            if not self.one(at) or len(self.wrong) >= ENOUGH:
                break
            if self._order["after"] != self._order["before"]:
                self.right("before", "back to the beginning")
        else:
            self.wrong.append(f"not at the end after {MOST} runs")
        self.right("after", "at the end")
        again = self.run("after")
        if again["values"].get("changed", True) or again["values"].get("plan", True) or again["started"]:
            self.wrong.append(f"the last run was not the last: {again['values']} {again['started']}")


def main() -> None:
    """Carry out one order."""
    cutter = Cutter(json.load(sys.stdin))
    cutter.work()
    print(json.dumps({"moments": cutter.moments, "recovered": cutter.recovered, "wrong": cutter.wrong}))


if __name__ == "__main__":
    main()
