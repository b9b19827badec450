"""Runs on real files that are cut off at every call that changes the disk: the old set or the new one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config import places
from ansible_collections.baremetal.fabric.plugins.module_utils._config.config import ConfigResource
from ansible_collections.baremetal.fabric.plugins.module_utils._config.model import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._config.parameters import wanted_config
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import (
    Outcome,
    StepUndone,
    converge,
)
from tests.unit.config.declared import command, declared, file, reload

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="gives files to root")

CALLS = ("fsync", "replace", "link", "rename", "unlink", "mkdir", "rmdir", "open")
#: Far more than a run has calls.
MOST = 400


class Cut(BaseException):
    """The run ends here, as if it was killed."""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(places, "STATE", str(tmp_path / "store"))
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # no power is lost here, and it is slow
    return tmp_path


@pytest.fixture
def live(store: Path) -> Path:
    folder = store / "live"
    folder.mkdir()
    return folder


def run(parameters: dict[str, Any]) -> Outcome[Host]:
    """A run that looks at what runs once, and does not try again."""
    want = wanted_config(parameters)
    return converge(ConfigResource(replace(want, guards=replace(want.guards, verify_seconds=0.0)), Runner()))


def after_calls(number: int, monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> bool:
    """Do ``work``, cut off after so many calls; returns whether it was."""
    left = [number]

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(*args: Any, **options: Any) -> Any:
            if left[0] <= 0:
                raise Cut
            left[0] -= 1
            return call(*args, **options)

        return wrapper

    with monkeypatch.context() as patched:
        for name in CALLS:
            patched.setattr(os, name, counted(getattr(os, name)))
        try:
            work()
        except Cut:
            return True
    return False


def tree(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file and directory below a folder with its content and mode, those beside the live ones too."""
    return {
        str(path.relative_to(folder)): (path.read_text() if path.is_file() else "", path.stat().st_mode & 0o7777)
        for path in sorted(folder.rglob("*"))
    }


def sets(live: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """An old set, and a new one that changes, adds, removes, and leaves a file."""
    old = declared(file(live / "a", "old a\n"), file(live / "b", "b\n"), file(live / "gone", "gone\n", mode="0600"))
    new = declared(
        file(live / "a", "new a\n", mode="0600"), file(live / "b", "b\n"), file(live / "new" / "sub" / "c", "c\n")
    )
    return old, new


def cuts() -> Iterator[int]:
    yield from range(MOST)


@pytest.mark.parametrize("wants", ["new", "old"])
def test_a_run_that_is_cut_off_anywhere_is_ended_by_the_next(
    live: Path, monkeypatch: pytest.MonkeyPatch, wants: str
) -> None:
    old, new = sets(live)
    run(old)
    before = tree(live)
    run(new)
    after = tree(live)
    legal = {"new": after, "old": before}
    seen = set()
    for number in cuts():
        run(old)
        assert tree(live) == before
        if not after_calls(number, monkeypatch, lambda: run(new)):
            break
        outcome = run({"new": new, "old": old}[wants])
        assert tree(live) == legal[wants], f"cut after call {number}"
        assert outcome.after.transaction is None
        seen.add(outcome.after.recovered)
        again = run({"new": new, "old": old}[wants])
        assert not again.changed
    else:
        raise AssertionError("never came to its end")
    assert number > 30
    assert {"", "put_back", "finished"} == seen if wants == "new" else {"", "put_back"} <= seen


def test_every_live_file_is_old_or_new_at_every_moment(live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = sets(live)
    for number in cuts():
        run(old)
        cut = after_calls(number, monkeypatch, lambda: run(new))
        assert (live / "a").read_text() in ("old a\n", "new a\n")
        assert (live / "b").read_text() == "b\n"
        if not cut:
            return
    raise AssertionError("never came to its end")


def test_a_roll_back_that_is_cut_off_is_ended_by_the_next_run(live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = sets(live)
    bad = {**new, "verify": [command("false")], "reload": reload(command=["true"])}
    run(old)
    before = tree(live)

    def fail() -> None:
        with pytest.raises(StepUndone) as undone:
            run(bad)
        assert undone.value.details["rolled_back"]

    for number in cuts():
        if not after_calls(number, monkeypatch, fail):
            break
        run(old)
        assert tree(live) == before, f"cut after call {number}"
    else:
        raise AssertionError("never came to its end")
    assert tree(live) == before


def test_a_set_that_cannot_be_verified_leaves_the_old_one(live: Path) -> None:
    old, new = sets(live)
    told = live.parent / "told"
    tell = reload(command=["sh", "-c", f"cat {live}/a >> {told}"])
    run({**old, "reload": tell})
    before = tree(live)
    with pytest.raises(StepUndone) as undone:
        run({**new, "reload": tell, "verify": [command("grep", "-q", "never", str(live / "a"))]})
    assert tree(live) == before
    assert told.read_text() == "old a\nnew a\nold a\n"
    assert undone.value.details["rolled_back"]
    assert "grep" in undone.value.details["output"]


def test_a_first_set_that_cannot_be_verified_leaves_nothing(live: Path) -> None:
    _old, new = sets(live)
    with pytest.raises(StepUndone):
        run({**new, "verify": [command("false")]})
    assert tree(live) == {}
    assert list(live.iterdir()) == []
    assert not run({**new, "verify": [command("true")]}).after.drift


def test_files_that_were_there_before_the_first_set_can_come_back(live: Path) -> None:
    (live / "a").write_text("by hand\n")
    _old, new = sets(live)
    run(new)
    before = run({**declared(), "state": "previous"})
    assert tree(live) == {"a": ("by hand\n", 0o644)}
    assert before.changed


def test_a_directory_goes_with_the_last_file_that_needed_it(live: Path) -> None:
    old, new = sets(live)
    run(new)
    assert tree(live)["new/sub"] == ("", 0o755)
    run(old)
    assert not (live / "new").exists()


def test_the_end_of_the_connection_is_not_that_of_the_run(live: Path) -> None:
    old, new = sets(live)
    run(old)
    hang_up = command("sh", "-c", "kill -HUP $PPID")
    before = signal.getsignal(signal.SIGHUP)
    try:
        assert run({**new, "verify": [hang_up]}).changed
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (live / "a").read_text() == "new a\n"


def test_a_live_link_stays_and_its_file_changes(live: Path) -> None:
    elsewhere = live.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a").write_text("old\n")
    (live / "a").symlink_to(elsewhere / "a")
    run(declared(file(live / "a", "new\n")))
    assert (live / "a").is_symlink()
    assert (elsewhere / "a").read_text() == "new\n"
    assert sorted(os.listdir(elsewhere)) == ["a"]


def test_a_secret_is_never_readable_by_others(live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = declared(file(live / "key", "s3cret\n", mode="0600", no_log=True))
    for number in cuts():
        cut = after_calls(number, monkeypatch, lambda: run(secret))
        for path in live.parent.rglob("*"):
            if path.is_file() and "s3cret" in path.read_text():
                assert path.stat().st_mode & 0o077 == 0, path
        if not cut:
            return
    raise AssertionError("never came to its end")


def test_only_as_many_sets_are_kept_as_wanted(live: Path) -> None:
    for number in range(6):
        run(declared(file(live / "a", f"{number}\n"), keep=2))
    outcome = run(declared(file(live / "a", "5\n"), keep=2))
    assert sorted(outcome.after.generations) == [4, 5, 6]
    kept = sorted(os.listdir(live.parent / "store" / "toy" / "generations"))
    assert kept == ["000004", "000005", "000006"]
