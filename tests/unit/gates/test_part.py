from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.gates.part import Outcome, Part, Runner, count, table, total


def python(name: str, code: str, complaint: re.Pattern[str] | None = None) -> Part:
    return Part(name, [sys.executable, "-c", code], complaint=complaint)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def runner(tmp_path: Path, said: list[str]) -> Runner:
    return Runner(tmp_path / "logs", say=said.append)


@pytest.mark.parametrize(
    ("output", "ok", "expected"),
    [
        ("=== 12 passed, 1 skipped in 3.1s ===", True, (12, 0)),
        ("=== 2 failed, 12 passed, 3 errors in 3.1s ===", False, (12, 5)),
        ("9 passed, 3 failed", False, (9, 3)),
        ("\x1b[32m4 passed\x1b[0m in 1s\nbye", True, (4, 0)),
        ("nothing to count", True, (1, 0)),
        ("Found 7 errors.", False, (0, 1)),
        ("5 passed in 1s\nand then the exit code was 1", False, (5, 1)),
        ("", False, (0, 1)),
    ],
)
def test_count_reads_the_last_total(output: str, ok: bool, expected: tuple[int, int]) -> None:
    assert count(output, ok) == expected


def test_total_is_in_the_form_that_count_reads() -> None:
    outcomes = [Outcome("a", True, 1.0, "", 3, 0), Outcome("b", False, 1.0, "", 2, 4)]
    assert total(outcomes) == "5 passed, 4 failed"
    assert count(f"{table(outcomes)}\n{total(outcomes)}", ok=False) == (5, 4)


def test_success_takes_one_line_and_failure_shows_everything(runner: Runner, said: list[str]) -> None:
    good = python("good", "print('chatter')")
    bad = python("bad", "print('first'); print('last'); raise SystemExit(3)")
    outcomes = runner.run([[good, bad]], jobs=1)
    assert [(o.name, o.ok) for o in outcomes] == [("good", True), ("bad", False)]
    text = "\n".join(said)
    assert "chatter" not in text
    assert "first\nlast\n" in text
    assert re.search(r"^ok +good +\d", text, re.MULTILINE)
    assert re.search(r"^FAIL bad +\d", text, re.MULTILINE)


def test_standard_error_is_part_of_the_output(runner: Runner) -> None:
    (outcome,) = runner.run([[python("p", "import sys; sys.exit('broken')")]], jobs=1)
    assert "broken" in outcome.output


def test_complaint_fails_a_program_that_exits_with_zero(runner: Runner) -> None:
    complaint = re.compile(r"^ERROR", re.MULTILINE)
    loud = python("loud", "print('fine'); print('ERROR: no')", complaint=complaint)
    quiet = python("quiet", "print('no ERROR here')", complaint=complaint)
    outcomes = runner.run([[loud], [quiet]], jobs=2)
    assert [outcome.ok for outcome in outcomes] == [False, True]


def test_missing_program_fails_its_part_only(runner: Runner) -> None:
    outcomes = runner.run([[Part("gone", ["no-such-program-here"]), python("next", "")]], jobs=1)
    assert [outcome.ok for outcome in outcomes] == [False, True]
    assert "no-such-program-here" in outcomes[0].output


def test_sequences_run_side_by_side(runner: Runner, tmp_path: Path) -> None:
    # Each waits for the other's file, so neither ends unless both run.
    wait = """
import pathlib, sys, time
pathlib.Path({mine!r}).touch()
for attempt in range(1000):
    if pathlib.Path({other!r}).exists():
        sys.exit(0)
    time.sleep(0.01)
sys.exit("the other one never started")
"""
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    parts = [[python("a", wait.format(mine=one, other=two))], [python("b", wait.format(mine=two, other=one))]]
    assert all(outcome.ok for outcome in runner.run(parts, jobs=2))


def test_parts_get_no_input(runner: Runner) -> None:
    (outcome,) = runner.run([[python("reader", "import sys; print(repr(sys.stdin.read()))")]], jobs=1)
    assert outcome.output == "''\n"


def test_long_part_shows_that_it_lives(tmp_path: Path, said: list[str]) -> None:
    runner = Runner(tmp_path, say=said.append, heartbeat=0.05)
    code = "import time; print('compiling', flush=True); time.sleep(0.5)"
    runner.run([[python("long", code)]], jobs=1)
    assert any("long" in text and "compiling" in text for text in said[:-1])


def test_stop_ends_what_runs_and_starts_nothing_more(runner: Runner, tmp_path: Path) -> None:
    started = tmp_path / "started"
    sleeper = python("sleeper", f"import pathlib, time; pathlib.Path({str(started)!r}).touch(); time.sleep(60)")
    outcomes: list[Outcome] = []
    thread = threading.Thread(target=lambda: outcomes.extend(runner.run([[sleeper, python("next", "")]], jobs=1)))
    thread.start()
    deadline = time.monotonic() + 20
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    runner.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert [outcome.name for outcome in outcomes] == ["sleeper"]
    assert not outcomes[0].ok
