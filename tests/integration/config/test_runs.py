"""How runs behave: a second one, check mode, the first on a host, drift, two at once, going back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.config.config_host import ELSEWHERE, STATE, ConfigHost
from tests.integration.config.daemons import (
    DAEMONS,
    HAPROXY,
    KEEPALIVED,
    NGINX,
    TOY,
    TOY_DAEMON,
    Daemon,
    toy_files,
    toy_verify,
)
from tests.integration.config.stage import every_release, every_release_newest_always, every_release_of

#: Where a check could leave a trace.
FOLDERS = ("/etc", "/srv", "/root", "/usr/local", "/run/baremetal.fabric", STATE)
#: There, what runs the module has files of its own meanwhile.
TEMPORARY = ("/tmp", "/var/tmp")


@pytest.mark.proof(area="config", line=5, title="A second run changes nothing, starts nothing, touches no process")
@every_release_of(DAEMONS, always=[HAPROXY])
def test_a_second_run_starts_nothing_and_touches_nothing(edge: ConfigHost, daemon: Daemon) -> None:
    for which in ("old", "new"):
        first = edge.done(**daemon.set(which))
        assert first.changed
        assert edge.started, "evidence that what a run starts is seen"
        before, processes = edge.tree("/etc", STATE), edge.processes(daemon.unit)
        assert processes
        again = edge.at_rest(**daemon.set(which))
        assert again.values["plan"] == []
        assert again.values["set"] == first.values["set"]
        assert again.drawn("before") == again.drawn("after")
        assert edge.processes(daemon.unit) == processes
        assert edge.tree("/etc", STATE) == before


@pytest.mark.proof(
    area="config", line=5, title="Check mode validates for real, leaves no trace, and tells the run's plan"
)
@every_release_of(DAEMONS, always=[HAPROXY])
def test_check_mode_tells_the_plan_and_leaves_no_trace(edge: ConfigHost, daemon: Daemon) -> None:
    for which in ("old", "new"):
        before, mounts, processes = edge.tree(*FOLDERS), edge.mounts(), edge.processes(daemon.unit)
        temporary = edge.content(*TEMPORARY)
        refused = edge.refused(**daemon.set("invalid"), check=True)
        assert not refused.changed
        told = edge.attempt(**daemon.set(which), check=True)
        assert not told.failed, told.message
        assert told.changed
        assert edge.tree(*FOLDERS) == before
        assert edge.content(*TEMPORARY) == temporary
        assert edge.mounts() == mounts
        assert edge.processes(daemon.unit) == processes
        done = edge.done(**daemon.set(which))
        assert done.values["plan"] == told.values["plan"]
        assert done.values["diff"] == told.values["diff"]
        assert done.drawn("before") != done.drawn("after")
        assert {**done.values["set"], "verified": ""} == {**told.values["set"], "verified": ""}


@pytest.mark.proof(area="config", line=5, title="The first run right after a package was installed, started or not")
@pytest.mark.parametrize("runs", [True, False], ids=["started", "not-started"])
@every_release_of(DAEMONS[:4])
def test_a_first_run_on_an_installed_package(edge: ConfigHost, daemon: Daemon, runs: bool) -> None:
    if runs:
        # Keepalived has no configuration yet: its unit's condition fails, and it stays down.
        edge.run("systemctl", "start", daemon.unit)
        assert edge.succeeds("systemctl", "is-active", "--quiet", daemon.unit) is (daemon is not KEEPALIVED)
    packaged = edge.content(*daemon.folders)
    failing = edge.refused(**daemon.set("failing"))
    assert failing.values["rolled_back"] is True
    assert edge.content(*daemon.folders) == packaged
    assert edge.succeeds("systemctl", "is-active", "--quiet", daemon.unit) is (runs and daemon is not KEEPALIVED)
    assert edge.done(**daemon.set("old")).changed
    assert edge.serves(daemon) == "old"
    edge.at_rest(**daemon.set("old"))
    back = edge.attempt(name=daemon.name, state="previous")
    assert edge.leftovers() == []
    if not back.failed:
        assert edge.content(*daemon.folders) == packaged


@pytest.mark.proof(area="config", line=5, title="A unit that shall not be started is left so, and its set validated")
@every_release
def test_a_unit_that_shall_not_start_is_left_so(edge: ConfigHost) -> None:
    still = {"reload": {"unit": HAPROXY.unit, "start": False}}
    edge.refused(**{**HAPROXY.set("invalid"), **still})
    assert edge.done(**{**HAPROXY.set("new"), **still}).changed
    assert not edge.succeeds("systemctl", "is-active", "--quiet", HAPROXY.unit)
    edge.at_rest(**{**HAPROXY.set("new"), **still})


@pytest.mark.proof(area="config", line=5, title="A live file that is broken does not hinder its repair")
@pytest.mark.parametrize("runs", [True, False], ids=["running", "down"])
@every_release_of(DAEMONS)
def test_a_broken_live_file_is_repaired(edge: ConfigHost, daemon: Daemon, runs: bool) -> None:
    edge.has(daemon)
    main = daemon.files("old")[0]["path"]
    whole = edge.content(*daemon.folders)
    for which in ("old", "new"):
        edge.sh(f"echo '{{ what is this' > {main}")
        if not runs:
            edge.run("systemctl", "stop", daemon.unit)
        assert not edge.succeeds(*daemon.validate)
        result = edge.done(**daemon.set(which))
        assert result.changed
        assert result.values["drift"] == [main]
        assert edge.serves(daemon) == which
        edge.at_rest(**daemon.set(which))
        if which == "old":
            assert edge.content(*daemon.folders) == whole


@pytest.mark.proof(
    area="config", line=5, title="A file that was edited by hand is told, shown in the diff, and put back"
)
@every_release_newest_always
def test_an_edit_by_hand_is_told_and_shown(edge: ConfigHost) -> None:
    def declared(says: str) -> dict[str, object]:
        # Contents that are given as such are secret to a module without its action plugin.
        edge.host.put(toy_files(says)[0]["content"].encode(), f"{ELSEWHERE}/{says}")
        source = {"path": "/etc/toy/toy.conf", "src": f"{ELSEWHERE}/{says}", "remote_src": True}
        return {**TOY_DAEMON.set(says), "files": [source]}

    edge.done(**declared("old"))
    edge.sh("echo '# a person was here' >> /etc/toy/toy.conf")
    for check in (True, False):
        result = edge.attempt(**declared("old"), check=check)
        assert not result.failed, result.message
        assert result.changed
        assert result.values["drift"] == ["/etc/toy/toy.conf"]
        theirs, ours = result.values["diff"]
        assert "# a person was here" not in theirs["before"]
        assert "# a person was here" in theirs["after"]
        assert "changed by somebody else" in theirs["after_header"]
        assert ours["before"] == theirs["after"]
        assert ours["after"] == theirs["before"]
    assert "person" not in edge.says("/etc/toy/toy.conf")
    assert edge.at_rest(**declared("old")).values["drift"] == []
    # Removed, and replaced by what is no file of ours.
    edge.run("rm", "/etc/toy/toy.conf")
    assert edge.done(**declared("new")).values["drift"] == ["/etc/toy/toy.conf"]
    assert edge.serves(TOY_DAEMON) == "new"
    # An edit is not lost with a set that does not stand.
    edge.sh("echo '# a person was here' >> /etc/toy/toy.conf")
    edge.refused(**{**TOY_DAEMON.set("failing"), "files": toy_files("other", "on_reload keep")})
    assert edge.serves(TOY_DAEMON) == "new"


@pytest.mark.proof(area="config", line=5, title="Two runs at once on a set: one after the other, both right")
@every_release
def test_two_runs_do_not_meet(edge: ConfigHost) -> None:
    trees = {}
    for which in ("new", "old"):
        edge.has(TOY_DAEMON, which)
        trees[which] = edge.content("/etc/toy")
    with ThreadPoolExecutor() as threads:
        wanted = ["new", "old", "new", "old"]
        results = list(threads.map(lambda which: edge.attempt(**TOY_DAEMON.set(which)), wanted))
    assert not any(result.failed for result in results), [result.message for result in results]
    assert any(result.changed for result in results)
    last = edge.serves(TOY_DAEMON)
    assert edge.content("/etc/toy") == trees[last]
    edge.at_rest(**TOY_DAEMON.set(last))
    assert edge.leftovers() == []


@pytest.mark.proof(area="config", line=5, title="A run waits for another one on its set, and for none on other sets")
@every_release
def test_a_run_waits_for_one_on_its_set_only(edge: ConfigHost) -> None:
    edge.has(TOY_DAEMON)
    slow = {"validate": ["sh", "-c", "exec sleep 6"]}
    with ThreadPoolExecutor() as threads:
        first = threads.submit(edge.attempt, **{**TOY_DAEMON.set("new"), **slow})
        edge.until(("pgrep", "-fx", "sleep 6"), 10)
        other = edge.done(**NGINX.set("new"))
        assert other.seconds < 6
        late = edge.attempt(**TOY_DAEMON.set("old", wait_timeout=1))
        assert not first.done()
        assert late.failed
        waited = edge.attempt(**TOY_DAEMON.set("old"))
        assert first.done()
    assert not first.result().failed
    assert not waited.failed, waited.message
    assert waited.changed
    assert edge.serves(TOY_DAEMON) == "old"


@pytest.mark.proof(area="config", line=5, title="A daemon that is told, or started, by a command holds up no later run")
@every_release
def test_a_daemon_of_a_command_holds_up_no_run(edge: ConfigHost) -> None:
    serve = f"{' '.join(TOY)} --serve /etc/toy/toy.conf"
    script = (
        f"kill -HUP $(cat /run/toy.pid) || {{ setsid {serve} < /dev/null > /dev/null 2>&1 & echo $! > /run/toy.pid; }}"
    )
    by_command = {"reload": {"command": ["sh", "-c", script]}}
    try:
        for which in ("old", "new", "old"):
            options = {**TOY_DAEMON.set(which), **by_command}
            options["verify"] = toy_verify(which)[1:]
            result = edge.done(**options)
            assert result.changed
            assert result.seconds < 10
            edge.at_rest(**options)
            assert edge.serves(TOY_DAEMON) == which
    finally:
        edge.sh("kill $(cat /run/toy.pid); rm /run/toy.pid")


@pytest.mark.proof(area="config", line=5, title="The set before comes back, verified; and the one before that")
@every_release_newest_always
def test_previous_goes_back_set_by_set(edge: ConfigHost) -> None:
    trees = {}
    for says in ("first", "second", "third"):
        part = (f"/etc/toy/{says}/part.conf", f"# {says}\n")
        options = {**TOY_DAEMON.set(says), "files": toy_files(says, parts=[part])}
        edge.done(**options)
        trees[says] = edge.content("/etc/toy")
    for says in ("second", "first"):
        told = edge.attempt(name="toy", state="previous", check=True)
        assert not told.failed, told.message
        assert edge.content("/etc/toy") != trees[says]
        back = edge.done(name="toy", state="previous")
        assert back.changed
        assert back.values["plan"] == told.values["plan"]
        assert edge.content("/etc/toy") == trees[says]
        assert edge.serves(TOY_DAEMON) == says
    # From there the way leads forward as ever.
    options = {
        **TOY_DAEMON.set("third"),
        "files": toy_files("third", parts=[("/etc/toy/third/part.conf", "# third\n")]),
    }
    edge.done(**options)
    assert edge.content("/etc/toy") == trees["third"]
    edge.at_rest(**options)


@pytest.mark.proof(area="config", line=5, title="A set before that does not stand: the current one stays, and is told")
@every_release
def test_a_previous_set_that_does_not_stand_is_not_left_in_place(edge: ConfigHost) -> None:
    edge.run("touch", f"{ELSEWHERE}/needed")
    needs = {**TOY_DAEMON.set("old"), "files": toy_files("old", f"needs {ELSEWHERE}/needed")}
    edge.done(**needs)
    edge.done(**TOY_DAEMON.set("new"))
    before = edge.content("/etc/toy")
    edge.run("rm", f"{ELSEWHERE}/needed")
    result = edge.refused(name="toy", state="previous")
    assert "needed" in result.values.get("output", "") + result.message
    assert edge.content("/etc/toy") == before
    assert edge.serves(TOY_DAEMON) == "new"
    edge.at_rest(**TOY_DAEMON.set("new"))


@pytest.mark.proof(
    area="config", line=5, title="As many sets are kept as is declared, and none is gone back to further"
)
@every_release
def test_old_sets_are_forgotten(edge: ConfigHost) -> None:
    for number in range(5):
        options = {**TOY_DAEMON.set(f"says-{number}"), "files": toy_files(f"says-{number}"), "keep": 2}
        kept = edge.done(**options).values["set"]["kept"]
        assert len(kept) <= 3
    for number in (3, 2):
        edge.done(name="toy", state="previous", keep=2)
        assert edge.serves(TOY_DAEMON) == f"says-{number}"
    assert edge.attempt(name="toy", state="previous", keep=2).failed
    assert edge.serves(TOY_DAEMON) == "says-2"
