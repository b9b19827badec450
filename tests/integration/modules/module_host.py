"""A lab host on which modules run, and that tells all when a test fails."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tests.integration.modules.payload import FOLDER, payload
from tests.integration.modules.result import Result, Values
from tests.lab import LabError, LabHost


@dataclass
class ModuleHost:
    """A host that has the payload. What a domain does on its hosts is in a subclass."""

    host: LabHost
    last: Result | None = None
    history: list[str] = field(default_factory=list)

    #: What :meth:`module` returns, and how long it waits for it.
    result: ClassVar[type[Result]] = Result
    patience: ClassVar[float] = 300.0
    #: Folders with further programs for the host.
    programs: ClassVar[tuple[Path, ...]] = ()
    #: Scripts whose output helps to understand a failure.
    telling: ClassVar[tuple[str, ...]] = ()

    # Modules

    def install(self) -> None:
        """Bring the payload to the host."""
        archive = f"{FOLDER}.tar"
        self.host.put(payload(*self.programs), archive)
        self.run("mkdir", "-p", FOLDER)
        self.run("tar", "-x", "-C", FOLDER, "-f", archive)

    def module(
        self, module: str, arguments: Values, check: bool = False, timeout: float | None = None, **ending: Any
    ) -> Result:
        """Run a module in a fresh process on the host; ``ending`` is what cuts the run off."""
        order = {
            "module": module,
            "arguments": {**arguments, "_ansible_check_mode": check, "_ansible_diff": True},
            **ending,
        }
        answer = self.ask(json.dumps(order), self.patience if timeout is None else timeout)
        values: Values = {}
        for line in answer["stdout"].splitlines():
            if line.startswith("{"):
                values = json.loads(line)
        result = self.result(values, answer["status"], answer["stderr"], answer["seconds"])
        self.last = result
        self.history.append(f"{module}{' (check mode)' if check else ''}: {result.outcome}")
        assert values or result.killed, f"{module} returned nothing:\n{result.described()}"
        return result

    def ask(self, order: str, timeout: float) -> dict[str, Any]:
        """Have the host carry out an order of :mod:`on_host.module`."""
        argv = ["env", f"PYTHONPATH={FOLDER}", "python3", "-m", "on_host.module"]
        answer: dict[str, Any] = json.loads(self.host.run(argv, stdin=order, timeout=timeout).stdout)
        return answer

    # The host

    def run(self, *argv: str, check: bool = True, timeout: float = 300.0, stdin: str | None = None) -> str:
        """Run a command and return what it printed."""
        return self.host.run(argv, check=check, timeout=timeout, stdin=stdin).stdout

    def sh(self, script: str, check: bool = True, timeout: float = 300.0) -> str:
        """Run a script of the shell, stopping at its first error."""
        return self.run("sh", "-euc", script, check=check, timeout=timeout)

    def succeeds(self, *argv: str, timeout: float = 300.0) -> bool:
        """Whether a command ends with 0."""
        return self.host.run(argv, check=False, timeout=timeout).returncode == 0

    def until(self, argv: Sequence[str], seconds: float) -> None:
        """Wait on the host until a command succeeds."""
        script = f'n={int(seconds * 5)}; until "$@"; do n=$((n-1)); [ $n -gt 0 ] || exit 1; sleep 0.2; done'
        done = self.host.run(["sh", "-c", script, "until", *argv], check=False, timeout=seconds * 5 + 60)
        assert done.returncode == 0, f"not within {seconds:.0f} s: {' '.join(argv)}\n{done.stderr[-500:]}"

    def read(self, path: str) -> str:
        """The text of a file."""
        return self.run("cat", path).strip()

    # Failures

    def evidence(self) -> str:
        """All that helps to understand a failure. Never hangs, and never fails itself."""
        parts = ["runs:\n  " + "\n  ".join(self.history[-30:])]
        if self.last is not None:
            parts.append(f"the last run:\n{self.last.described()}")
        parts += [f"$ {script}\n{self._quietly(script)}" for script in self.telling]
        parts.append(f"console:\n{self.host.console(30)}")
        return "\n\n".join(parts)

    def _quietly(self, script: str) -> str:
        started = time.monotonic()
        try:
            return self.host.run(["timeout", "-k", "1", "10", "sh", "-c", script], check=False, timeout=20).stdout
        except (LabError, OSError, subprocess.SubprocessError) as error:
            return f"(no answer after {time.monotonic() - started:.0f} s: {error})"
