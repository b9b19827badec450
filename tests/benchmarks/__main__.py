"""Measures, and prints a table with the bound for each figure."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType

from tests.lab import Lab, LabError, take_down
from tests.lab.recipe import RELEASES
from tests.playbook import PlaybookFailed

from . import dkms, grow, guarded, idle, planner, published
from .figures import Figure, table
from .store import BenchmarkFailed, Store, topology

NAMES = ("planner", "idle", "grow", "new-slice", "published", "guarded", "dkms")


def _measure(names: Sequence[str], repeat: int, lab_name: str, release: str) -> Iterator[Figure]:
    if "planner" in names:
        _say("planning for 10, 100 and 1,000 disks")
        yield from planner.measure(repeat)
    if {"idle", "grow"} & set(names):
        with _store(lab_name, release, grow.WIDER_SLICE) as store:
            if "idle" in names:
                _say("runs with nothing to do")
                yield idle.measure(store, repeat)
            if "grow" in names:
                _say("a slice grows, again and again")
                yield grow.measure(store, grow.WIDER_SLICE, repeat)
    if "published" in names:
        _say("policies for published ports")
        yield from published.measure(f"{lab_name}-docker", repeat)
    if "guarded" in names:
        _say("sets of files with nothing to do")
        yield from guarded.measure(f"{lab_name}-config", release, repeat)
    if "dkms" in names:
        _say("kernel modules, built and with nothing to do")
        yield from dkms.measure(f"{lab_name}-dkms", release, repeat)
    if "new-slice" in names:
        with _store(lab_name, release, grow.NEW_SLICE) as store:
            _say("a new slice, again and again")
            yield grow.measure(store, grow.NEW_SLICE, repeat)


@contextlib.contextmanager
def _store(lab_name: str, release: str, exchange: grow.Exchange) -> Iterator[Store]:
    _say("starting a lab host and making its pool")
    take_down(lab_name)
    with Lab.from_topology(topology(release, exchange.large), lab_name) as lab:
        store = Store(lab)
        store.prepare()
        yield store


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def main() -> int:
    """Returns 0 when everything could be measured, whatever the figures say."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(NAMES)}; all by default")
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each kind (default: 5)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--name", default="bench", help="the lab's name; a lab of that name is removed first")
    parser.add_argument("--release", choices=RELEASES, default="trixie", help="the Debian release of the host")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.names) - set(NAMES)):
        parser.error(f"unknown: {', '.join(unknown)}; there is: {', '.join(NAMES)}")
    if arguments.repeat < 1:
        parser.error("--repeat must be at least 1")

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    figures: list[Figure] = []
    status = 0
    try:
        for figure in _measure(arguments.names or NAMES, arguments.repeat, arguments.name, arguments.release):
            figures.append(figure)
    except (BenchmarkFailed, PlaybookFailed, LabError) as error:
        _say(f"failed: {error}")
        status = 1
    except KeyboardInterrupt:
        status = 130
    if arguments.json:
        print(json.dumps([figure.as_dict() for figure in figures], indent=2))
    elif figures:
        print(table(figures))
    return status


if __name__ == "__main__":
    sys.exit(main())
