"""Runs playbooks as a person does, and hands back what every task returned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("FABRIC_CACHE") or ROOT / ".cache").resolve()
COLLECTIONS = ROOT / ".cache" / "collections"
TICK_SECONDS = 0.5


class PlaybookFailed(Exception):
    """A playbook did not end well; the text is what Ansible said last."""


@dataclass(frozen=True)
class TaskResult:
    """What one task returned for one host; ``values`` are the module's own."""

    task: str
    host: str
    action: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Played:
    """A playbook that ended well."""

    results: tuple[TaskResult, ...]
    changed: int  #: tasks that changed something, over all hosts
    seconds: float

    def of(self, action: str) -> Mapping[str, Any]:
        """What the last task with this action returned, such as ``baremetal.fabric.raid_pool``."""
        return next(each.values for each in reversed(self.results) if each.action == action)


def playbook_argv(playbook: str, inventories: Sequence[Path], *options: str) -> list[str]:
    """The command line for a playbook of the collection, or for a file."""
    argv = [str(Path(sys.executable).parent / "ansible-playbook"), playbook]
    for inventory in inventories:
        argv += ["-i", str(inventory)]
    return [*argv, *options]


def ansible_environment(**settings: str) -> dict[str, str]:
    """The environment in which Ansible finds this checkout, speaks JSON, and leaves the home directory alone."""
    return {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_HOME": str(CACHE / "ansible"),
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.jsonl",
        "ANSIBLE_DEPRECATION_WARNINGS": "false",
        "ANSIBLE_NOCOLOR": "1",
        "LC_ALL": "C.UTF-8",
        **settings,
    }


def play(
    argv: Sequence[str],
    log: Path,
    meanwhile: Callable[[], None] = lambda: None,
    environment: Mapping[str, str] | None = None,
) -> Played:
    """Run ``argv``, keep all that it prints in ``log``, and call ``meanwhile`` as long as it runs.

    Raises:
        PlaybookFailed: a task failed, a host was not reached, or nothing was played.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with log.open("wb") as sink, tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            list(argv),
            cwd=ROOT,
            env=dict(environment or ansible_environment()),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=complaints,
        )
        try:
            while process.poll() is None:
                meanwhile()
                try:
                    process.wait(TICK_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        complaints.seek(0)
        said = complaints.read().decode(errors="replace")
    return _judge(process.returncode, log.read_text(errors="replace"), said, log, time.monotonic() - started)


def _judge(returncode: int, output: str, said: str, log: Path, seconds: float) -> Played:
    results: list[TaskResult] = []
    changed = 0
    failures: list[str] = []
    played = False
    for event in _events(output):
        if event["_event"] == "v2_playbook_on_stats":
            played = bool(event["stats"])
            changed = sum(stats["changed"] for stats in event["stats"].values())
        if not event["_event"].startswith("v2_runner_on_"):
            continue
        for host, values in event.get("hosts", {}).items():
            task = event["task"]["name"]
            results.append(TaskResult(task, host, values.get("action", ""), values))
            if event["_event"] in ("v2_runner_on_failed", "v2_runner_on_unreachable"):
                failures.append(f"{host}: {task}: {values.get('msg', values)}")
    if returncode != 0 or not played:
        reason = "\n".join(failures) or said.strip() or f"ansible-playbook ended with {returncode} and played nothing"
        raise PlaybookFailed(f"{reason}\nAll it said is in {log}.")
    return Played(tuple(results), changed, seconds)


def _events(output: str) -> list[dict[str, Any]]:
    events = []
    for line in output.splitlines():
        if line.startswith("{") and '"_event"' in line:
            events.append(json.loads(line))
    return events
