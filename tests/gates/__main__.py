"""Command line of the gates: ``python -m tests.gates {lint,molecule,docs,test} [NAME...]``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from . import docs, lint
from .part import CACHE, ROOT, Part, Runner, table, total


def _refuse_unknown(names: list[str], known: set[str]) -> None:
    if unknown := sorted(set(names) - known):
        raise SystemExit(f"unknown: {', '.join(unknown)}; there is: {', '.join(sorted(known))}")


def _select(sequences: list[Sequence[Part]], names: list[str]) -> list[Sequence[Part]]:
    """Return the sequences that hold a part of these names, all when there are none."""
    if not names:
        return sequences
    _refuse_unknown(names, {part.name for sequence in sequences for part in sequence})
    return [sequence for sequence in sequences if any(part.name in names for part in sequence)]


def _scenarios(names: list[str]) -> list[Sequence[Part]]:
    """Return the scenarios of these names as one sequence, as two cores carry one emulated host well and two badly."""
    known = sorted(path.parent.name for path in (ROOT / "molecule").glob("*/molecule.yml"))
    _refuse_unknown(names, set(known))
    command = [sys.executable, "-m", "molecule", "test", "--scenario-name"]
    return [[Part(name, [*command, name]) for name in names or known]]


def _everything() -> list[Sequence[Part]]:
    """Return what CI runs: what needs one core beside what boots hosts, each in its order."""

    def target(name: str) -> Part:
        return Part(name, ["make", name], ROOT)

    return [[target("lint"), target("unit"), target("docs")], [target("integration"), target("molecule")]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.gates", description=__doc__)
    parser.add_argument("what", choices=["lint", "molecule", "docs", "test"])
    parser.add_argument("names", nargs="*", help="run only these")
    arguments = parser.parse_args()

    # Tools are taken from the environment that runs this, also when make did not set PATH.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if arguments.what == "molecule":
        sequences = _scenarios(arguments.names)
    else:
        collect = {"lint": lint.gates, "docs": docs.build, "test": _everything}
        sequences = _select(collect[arguments.what](), arguments.names)

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    runner = Runner(CACHE / "logs" / arguments.what, say=lambda text: print(text, flush=True))
    try:
        outcomes = runner.run(sequences, jobs=os.cpu_count() or 1)
    except KeyboardInterrupt:
        return 130
    print(f"{arguments.what}, part by part:\n{table(outcomes)}\n{total(outcomes)}")
    return int(not outcomes or any(not outcome.ok for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
