"""BIRD's sessions: kept by a change that does not touch them, and back by themselves after one that drops them."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.integration.config.config_host import ConfigHost
from tests.integration.config.daemons import BIRD, BIRD_SESSION
from tests.integration.config.playing import play
from tests.integration.config.stage import Stage, every_release, every_release_newest_always

#: What a session needs to come back, and the machine to have other things to do.
BACK_SECONDS = 15.0


def sessions(stage: Stage) -> tuple[datetime, datetime]:
    """When the session was established, as both ends tell."""
    at_edge = stage.edge.run("birdc", "show", "protocols", BIRD_SESSION)
    at_router = stage.router.run(["birdc", "show", "protocols", "edge"]).stdout
    return _since(at_edge), _since(at_router)


def _since(shown: str) -> datetime:
    found = re.search(r"(\S+ \d\d:\d\d:\d\d\.\d{6}) +Established", shown)
    assert found, shown
    return datetime.fromisoformat(found[1])


def kept(before: tuple[datetime, datetime], after: tuple[datetime, datetime]) -> bool:
    """Whether it is the same session; BIRD may tell one moment with a microsecond more or less."""
    return all(abs(one - other) < timedelta(milliseconds=1) for one, other in zip(before, after, strict=True))


def established(edge: ConfigHost, seconds: float = BACK_SECONDS) -> None:
    """Wait until the session is there."""
    edge.until(("sh", "-c", f"birdc show protocols {BIRD_SESSION} | grep -q Established"), seconds)


@pytest.mark.proof(area="config", line=2, title="BIRD loses no session on a change that does not touch it")
@every_release_newest_always
def test_a_change_that_does_not_touch_a_session_keeps_it(stage: Stage) -> None:
    edge = stage.edge
    edge.has(BIRD)
    before = sessions(stage)
    processes = edge.processes(BIRD.unit)
    for which in ("new", "old", "new"):
        assert edge.done(**BIRD.set(which)).changed
        assert edge.serves(BIRD) == which
    edge.refused(**BIRD.set("invalid"))
    assert kept(before, sessions(stage))
    assert edge.processes(BIRD.unit) == processes


@pytest.mark.proof(area="config", line=2, title="A change that drops BIRD's sessions undoes itself within the timeout")
@every_release
def test_a_change_that_drops_the_sessions_is_undone(stage: Stage) -> None:
    edge = stage.edge
    edge.has(BIRD)
    before = sessions(stage), edge.content("/etc/bird")
    started = time.monotonic()
    result = edge.refused(**BIRD.set("failing"))
    assert time.monotonic() - started < 2 * BIRD.seconds + BACK_SECONDS
    assert result.values["rolled_back"] is True
    assert BIRD_SESSION in result.values["output"]
    assert edge.content("/etc/bird") == before[1]
    assert not kept(before[0], sessions(stage))
    assert edge.serves(BIRD) == "old"
    edge.at_rest(**BIRD.set("old"))


@pytest.mark.proof(
    area="config", line=2, title="A killed run's change that drops the sessions is undone by BIRD itself"
)
@pytest.mark.parametrize("then", ["old", "new"])
@every_release
def test_bird_goes_back_by_itself_when_the_run_was_killed(stage: Stage, then: str) -> None:
    edge = stage.edge
    edge.has(BIRD)
    before = sessions(stage)
    # Once BIRD has answered: it may leave out what somebody asked for who was gone before that.
    killed = edge.attempt(**BIRD.set("failing"), cut={"pattern": r"^Have BIRD configure itself.*: done$"})
    assert killed.killed, killed.described()
    # It restarts with a wrong number of its neighbour's network.
    edge.until(("sh", "-c", f"! birdc show protocols {BIRD_SESSION} | grep -q Established"), 5)
    established(edge, 3 * BIRD.seconds + BACK_SECONDS)
    assert not kept(before, sessions(stage))
    assert edge.serves(BIRD) == "old"
    result = edge.done(**BIRD.set(then))
    assert result.values["recovered"] == "put_back"
    assert edge.serves(BIRD) == then
    edge.at_rest(**BIRD.set(then))


@pytest.mark.proof(
    area="config", line=2, title="A change that cuts off the controller, which comes over those routes, is undone"
)
@every_release_newest_always
def test_a_change_that_takes_the_way_to_the_controller_is_undone_and_told(stage: Stage, tmp_path: Path) -> None:
    edge = stage.edge
    edge.has(BIRD)
    before = sessions(stage), edge.content("/etc/bird")
    result, output = play(stage, tmp_path, BIRD.set("failing"))
    assert result["failed"], output
    assert result["rolled_back"] is True, output
    assert BIRD_SESSION in result["output"]
    assert edge.content("/etc/bird") == before[1]
    # It was away, and is back.
    assert not kept(before[0], sessions(stage))
    result, output = play(stage, tmp_path, BIRD.set("new"))
    assert not result.get("failed"), output
    assert result["changed"]
    edge.at_rest(**BIRD.set("new"))
