"""A daemon that misbehaves: the old set is back and served, and the failure tells what both attempts said."""

from __future__ import annotations

import pytest

from tests.integration.config.config_host import ConfigHost
from tests.integration.config.daemons import TOY_DAEMON, TOY_PORT, Options, toy_files
from tests.integration.config.stage import every_release, every_release_newest_always

#: Longer than the toy lives that dies after it has answered (toy.DIES_AFTER).
HOLD = 1


def misbehaving(manner: str) -> Options:
    """A valid set with which the toy misbehaves."""
    return {**TOY_DAEMON.set("new", verify_hold=HOLD), "files": toy_files("new", f"on_reload {manner}")}


@pytest.mark.proof(area="config", line=1, title="A daemon that dies, lies or goes deaf gets its old set back")
@pytest.mark.parametrize(
    ("manner", "word"),
    [
        pytest.param("die", "toy.service", id="accepts-then-dies"),
        pytest.param("crash", "toy.service", id="dies-at-once"),
        pytest.param("keep", "new", id="reloads-and-keeps-the-old"),
        pytest.param("close", str(TOY_PORT), id="loses-its-listener"),
    ],
)
@every_release_newest_always
def test_a_daemon_that_misbehaves_gets_its_old_set_back(edge: ConfigHost, manner: str, word: str) -> None:
    edge.has(TOY_DAEMON)
    before = edge.content("/etc/toy")
    result = edge.refused(**misbehaving(manner))
    assert result.values["rolled_back"] is True
    assert word in result.values["output"], result.values["output"]
    # What both attempts said: the failed one, and that the old set was verified.
    assert result.values["output_after"], "nothing is said of the old set"
    assert edge.content("/etc/toy") == before
    assert edge.leftovers() == []
    assert edge.serves(TOY_DAEMON) == "old"
    edge.at_rest(**TOY_DAEMON.set("old"))
    # Nothing of it hinders the next change.
    assert edge.done(**TOY_DAEMON.set("new")).changed
    assert edge.serves(TOY_DAEMON) == "new"


@pytest.mark.proof(area="config", line=1, title="A daemon that stays broken with its old set: the failure says both")
@every_release
def test_a_daemon_that_cannot_come_back_is_told(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    before = edge.content("/etc/toy")
    # The port is taken as soon as the toy lets go of it.
    thief = (
        f"import socket, time\ns = socket.socket(); s.setsockopt(1, 2, 1)\n"
        f"while True:\n    try:\n        s.bind(('127.0.0.1', {TOY_PORT})); s.listen(); break\n"
        f"    except OSError: time.sleep(0.01)\ntime.sleep(600)\n"
    )
    edge.run("systemd-run", "--quiet", "--collect", "--unit=thief", "python3", "-c", thief)
    try:
        result = edge.refused(**misbehaving("close"))
        assert result.values["rolled_back"] is True
        assert result.values["output"]
        assert str(TOY_PORT) in result.values["output_after"]
        assert edge.content("/etc/toy") == before
    finally:
        edge.run("systemctl", "stop", "thief.service")
    # Not verified is not recorded as verified: the next run tells the daemon again.
    again = edge.done(**TOY_DAEMON.set("old"))
    assert edge.serves(TOY_DAEMON) == "old", again.described()
