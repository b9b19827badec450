"""Validation: of the whole set as it will be, and without a trace, however it ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.config.config_host import STATE, ConfigHost
from tests.integration.config.daemons import TOY, TOY_DAEMON, Options, toy_files
from tests.integration.config.stage import every_release, every_release_newest_always

CHECKERS = "pgrep -f 'toy.py [-]-check'"
FOLDERS = ("/etc", "/srv", "/tmp", "/root", "/usr/local", STATE)


def checking(*lines: str, **options: object) -> Options:
    """A new set of the toy whose check does as these lines say."""
    return {**TOY_DAEMON.set("new"), "files": toy_files("new", *lines), **options}


def nobody_checks(edge: ConfigHost) -> None:
    """Wait until no checker is left."""
    edge.until(("sh", "-c", f"! {CHECKERS}"), 15)


@pytest.mark.proof(
    area="config", line=4, title="The whole set is validated at its live paths, and nothing else differs"
)
@every_release_newest_always
def test_the_checker_sees_the_set_as_it_will_be(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    edge.run("touch", "/etc/toy/theirs")
    seen = (
        "test ! -e /etc/toy/parts/part.conf && test -e /etc/toy/parts/deep/er/part.conf && test -e /etc/toy/theirs"
        " && grep -q 'says new' /etc/toy/toy.conf"
        " && [ $(stat -c %U:%G:%a /etc/toy/parts/deep/er/part.conf) = root:root:644 ]"
        f" && exec {' '.join(TOY)} --check /etc/toy/toy.conf"
    )
    # From where it is staged, relative paths and absolute ones lead to the same.
    edge.done(**TOY_DAEMON.set("new", validate=["sh", "-euc", seen]))
    edge.at_rest(**TOY_DAEMON.set("new", validate=["sh", "-euc", seen]))
    assert edge.serves(TOY_DAEMON) == "new"


@pytest.mark.proof(area="config", line=4, title="A set that the checker refuses: told in its words, nothing is touched")
@every_release
def test_a_refused_set_leaves_everything_as_it_was(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    before, mounts, processes = edge.tree(*FOLDERS), edge.mounts(), edge.processes(TOY_DAEMON.unit)
    for check in (True, False):
        result = edge.refused(**TOY_DAEMON.set("invalid"), check=check)
        assert "what is this" in result.values.get("output", "") + result.message
        assert not result.changed
        assert edge.content("/etc", STATE) == {path: _untimed(what) for path, what in before.items() if _in(path)}
    assert edge.mounts() == mounts
    assert edge.processes(TOY_DAEMON.unit) == processes
    edge.at_rest(**TOY_DAEMON.set("old"))


def _untimed(what: list[object]) -> list[object]:
    return what if str(what[0]).startswith("0o12") else what[:-1]


def _in(path: str) -> bool:
    return path.startswith(("/etc", STATE))


@pytest.mark.proof(area="config", line=4, title="A validation that hangs is killed, and leaves nothing behind")
@pytest.mark.parametrize("check", [False, True], ids=["run", "check"])
@every_release_newest_always
def test_a_validation_that_hangs_leaves_nothing(edge: ConfigHost, check: bool) -> None:
    edge.has(TOY_DAEMON)
    before, mounts = edge.content(*FOLDERS), edge.mounts()
    result = edge.refused(**checking("on_check hang", validate_timeout=3), check=check)
    assert 3 <= result.seconds < 10
    assert "3 s" in result.message + result.values.get("output", ""), result.described()
    nobody_checks(edge)
    assert edge.mounts() == mounts
    assert edge.content(*FOLDERS) == before
    assert edge.leftovers() == []
    assert edge.serves(TOY_DAEMON) == "old"
    edge.at_rest(**TOY_DAEMON.set("old"))


@pytest.mark.proof(area="config", line=4, title="A checker that dies refuses the set, and leaves nothing behind")
@every_release
def test_a_checker_that_dies_refuses_the_set(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    before, mounts = edge.content(*FOLDERS), edge.mounts()
    edge.refused(**checking("on_check crash"))
    edge.refused(**checking(validate=["no-such-checker"]))
    edge.refused(**checking(validate=["sh", "-c", "mount -t tmpfs none /mnt; exit 1"]))
    assert edge.mounts() == mounts
    assert edge.content(*FOLDERS) == before
    edge.at_rest(**TOY_DAEMON.set("old"))


@pytest.mark.proof(area="config", line=4, title="What a checker leaves running holds up no later run")
@every_release
def test_what_a_checker_leaves_running_holds_up_no_run(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    for end in (0, 1):
        left = f"setsid sleep 987654 < /dev/null > /dev/null 2>&1 & exit {end}"
        assert edge.attempt(**TOY_DAEMON.set("new", validate=["sh", "-c", left])).failed is bool(end)
        assert edge.done(**TOY_DAEMON.set("old")).seconds < 10


@pytest.mark.proof(
    area="config", line=3, title="A run that is killed while it validates leaves no mount and no checker"
)
@every_release
def test_a_run_that_is_killed_while_it_validates_leaves_nothing(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    before, mounts = edge.content(*FOLDERS), edge.mounts()
    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(edge.attempt, **checking("on_check hang", validate_timeout=60))
        edge.until(("sh", "-c", CHECKERS), 15)
        checker = edge.sh(CHECKERS).split()[0]
        # The run is the nearest of the checker's ancestors that runs modules.
        up = "p=$(ps -o ppid= -p $p | tr -d ' ')"
        edge.sh(f"p={checker}; while ! grep -q on_host.module /proc/$p/cmdline; do {up}; done; kill -9 $p")
        assert running.result().killed
    nobody_checks(edge)
    assert edge.mounts() == mounts
    assert edge.serves(TOY_DAEMON) == "old"
    ended = edge.done(**TOY_DAEMON.set("old"))
    assert ended.values["recovered"] == "put_back"
    assert len(ended.titles) == 1
    edge.at_rest(**TOY_DAEMON.set("old"))
    assert edge.leftovers() == []
    assert edge.content("/etc", "/srv", "/tmp") == {
        path: what for path, what in before.items() if path.startswith(("/etc", "/srv", "/tmp"))
    }
    edge.done(**TOY_DAEMON.set("new"))
