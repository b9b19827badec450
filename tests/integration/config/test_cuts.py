"""Runs that are killed at every moment: the next one ends in a set that is whole and verified."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.config.config_host import ConfigHost
from tests.integration.config.daemons import BIRD, DAEMONS, HAPROXY, TOY_DAEMON, Daemon, Options
from tests.integration.config.stage import Stage, every_release, every_release_of

#: Beside commands, what is put through to a disk and what is put in place, these are the moves that a run is made of.
CALLS = ("link", "mkdir", "rename", "rmdir", "symlink", "unlink", "connect", "send")
#: Fewer moments than a change can have: two files staged, exchanged and cleared away, with records of it in between.
FEW = 20
#: Far more than a chain has moments.
MOST_RUNS = 300
SEEN = "/root/cuts"


def quick(daemon: Daemon, which: str, **more: Any) -> Options:
    """A set whose run does not wait to see whether the daemon dies."""
    return daemon.set(which, verify_hold=0, **more)


def everywhere(edge: ConfigHost, daemon: Daemon, during: str, after: str) -> list[str]:
    """Kill the change from the old set at each of its moments, and let the next run end it; returns the moments."""
    # The old set has its own time to be verified in once it is back.
    failing = {"verify_timeout": 1} if during == "failing" else {}
    found = edge.cut_everywhere(
        {
            "before": quick(daemon, "old"),
            "during": quick(daemon, during, **failing),
            "after": quick(daemon, after),
            "fails": during == "failing",
            "calls": CALLS,
            "look": daemon.look,
            "serves": ["old", during],
            "ends": {"before": "old", "after": after},
            "folders": daemon.folders,
            "settle": 10,
        }
    )
    assert found["wrong"] == [], "\n".join(found["wrong"])
    moments: list[str] = found["moments"]
    print(
        f"{daemon.name}: {during}, then {after}: {len(moments)} moments; recovered: {sorted(set(found['recovered']))}"
    )
    assert len(moments) >= FEW, moments
    assert len(found["recovered"]) == len(moments)
    assert edge.leftovers() == []
    return moments


@pytest.mark.proof(area="config", line=3, title="Killed at every moment of a change: the next run can undo it")
@every_release_of(DAEMONS, always=[TOY_DAEMON])
def test_the_next_run_puts_back_what_a_killed_one_changed(edge: ConfigHost, daemon: Daemon) -> None:
    everywhere(edge, daemon, "new", "old")


@pytest.mark.proof(area="config", line=3, title="Killed at every moment of a change: the next run can end it")
@every_release_of(DAEMONS)
def test_the_next_run_ends_what_a_killed_one_began(edge: ConfigHost, daemon: Daemon) -> None:
    everywhere(edge, daemon, "new", "new")


@pytest.mark.proof(
    area="config", line=3, title="Killed at every moment of a change and its rollback: the next run ends it"
)
@pytest.mark.parametrize("after", ["new", "old"])
@every_release_of([HAPROXY, BIRD, TOY_DAEMON])
def test_the_next_run_ends_a_rollback_that_was_killed(edge: ConfigHost, daemon: Daemon, after: str) -> None:
    everywhere(edge, daemon, "failing", after)


@pytest.mark.proof(area="config", line=3, title="Killed again and again, also while an earlier run is being ended")
@every_release
def test_a_chain_of_killed_runs_comes_to_its_end(stage: Stage) -> None:
    edge, toy = stage.edge, TOY_DAEMON
    edge.has(toy)
    for which, served in (("new", "new"), ("failing", "new"), ("old", "old")):
        edge.run("rm", "-f", SEEN)
        kills = 0
        cut = {"seen": SEEN, "calls": CALLS, "anywhere": True, "alike": True}
        options = quick(toy, which, **({"verify_timeout": 1} if which == "failing" else {}))
        while (result := edge.attempt(**options, cut=cut)).killed:
            kills += 1
            assert kills < MOST_RUNS
        assert kills >= FEW
        assert result.failed is (which == "failing"), result.message
        edge.until(("sh", "-c", '[ "$("$@")" = ' + served + " ]", "sh", *toy.look), 5)
        edge.at_rest(**quick(toy, served))
        assert edge.leftovers() == []


@pytest.mark.proof(
    area="config", line=3, title="Killed at every moment of the first run on a host: the next run ends it"
)
@every_release_of(DAEMONS)
def test_a_first_run_that_was_killed_is_ended(edge: ConfigHost, daemon: Daemon) -> None:
    cut = {"seen": SEEN, "calls": CALLS, "anywhere": True, "alike": True}
    edge.run("rm", "-f", SEEN)
    kills = 0
    while (result := edge.attempt(**quick(daemon, "old"), cut=cut)).killed:
        kills += 1
        assert kills < MOST_RUNS
    assert kills >= FEW
    assert not result.failed, result.message
    edge.until(("sh", "-c", '[ "$("$@")" = old ]', "sh", *daemon.look), 10)
    edge.at_rest(**quick(daemon, "old"))
    assert edge.leftovers() == []


@pytest.mark.proof(area="config", line=3, title="A killed run's reload works on: the next run waits for it")
@every_release
def test_a_run_waits_for_the_reload_that_a_killed_run_left_behind(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    assert edge.attempt(**TOY_DAEMON.set("new"), orphan={"program": "systemctl", "seconds": 4}).killed
    result = edge.done(**TOY_DAEMON.set("new"))
    assert result.seconds > 3
    assert edge.serves(TOY_DAEMON) == "new"
    edge.at_rest(**TOY_DAEMON.set("new"))
