"""The policy below DOCKER-USER: what it closes, what it leaves open and says so, and what it survives."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.firewall.clients import Knocking, Target
from tests.integration.firewall.declared import attempt, declare, policy, run
from tests.integration.firewall.docker_host import DockerHost, Service
from tests.integration.firewall.engines import Setting, on, settings
from tests.integration.firewall.loaded import seen, without_handles
from tests.integration.firewall.matrix import measure, reached, set_up
from tests.integration.firewall.places import ADDRESSES, DOCK
from tests.integration.firewall.stage import Stage
from tests.integration.firewall.test_cuts import MOST_RUNS, everything
from tests.integration.firewall.test_packets import closed
from tests.integration.firewall.user_chains import kept_rules, past, rules_of_others, user_rules
from tests.integration.modules.result import Result

BACKEND = "docker_user"
WEB = Service("web", ("tcp:443",), ("8443:443", "8444:443"))
OLD = [policy("web", 8443)]
NEW = [policy("web", 8443, 8444, allow=["192.0.2.2", "198.51.100.0/24"]), policy("more", 8500, log=True)]
#: Seconds within which the watcher has put back what somebody took away.
SOON = 10


@pytest.mark.proof(area="firewall", line=1, title="DOCKER-USER: what is not closed is what the findings say")
@on(settings("20.10", "20.10-ip6tables", "26.1", "26.1-ip6tables-off", "28.5"))
def test_what_is_not_closed_is_exactly_what_the_findings_say(stage: Stage) -> None:
    set_up(stage)
    before = reached(measure(stage))
    result = declare(stage.dock, default="drop", backend=BACKEND)
    firewall = result.values["firewall"]
    assert (firewall["backend"], firewall["table"], firewall["chain"]) == (BACKEND, None, "FABRIC-DOCKER")
    gaps = firewall["gaps"]
    after = reached(measure(stage))
    expected = {str(way) for way in before if before[way] and (not closed(way) or past(way, gaps))}
    assert {str(way) for way in after if after[way]} == expected
    assert {way.kind for way in after if after[way]} >= {"published", "outbound", "host outbound", "own", "neighbour"}
    told = " ".join(result.values["findings"])
    for gap in gaps:
        assert all(port in told for port in gap["ports"])
        assert f"IPv{gap['ip_version']}" in told or gap["ip_version"] is None
    # Docker still reads its own chains.
    stage.dock.run("iptables", "--list", "--numeric")
    stage.dock.restart_docker()
    assert {str(way) for way, found in reached(measure(stage)).items() if found} == expected


@pytest.mark.proof(area="firewall", line=1, title="DOCKER-USER: returned to Docker where the declaration says so")
@on(settings("26.1", proxy=True), in_make_test=True)
def test_what_is_left_to_docker_is_as_it_was(stage: Stage) -> None:
    set_up(stage)
    before = reached(measure(stage))
    declare(stage.dock, [policy("web", 8443)], backend=BACKEND, default="return", direct_access="return")
    after = reached(measure(stage))
    named = {way for way in before if way.kind == "published" and way.origin == "denied" and way.protocol == "tcp"}
    assert {str(way) for way in after if after[way]} == {str(way) for way in before if before[way] and way not in named}


def legal(found: Mapping[int, str], *whole: Mapping[int, str]) -> bool:
    """Whether each IP version, which has a transaction of its own, has one of these policies."""
    return all(found[version] in [each[version] for each in whole] for version in found)


def runs_that_are_killed(dock: DockerHost, policies: Sequence[dict[str, Any]], backend: str) -> Iterator[Result]:
    """Run until the end, killed at every moment once."""
    dock.run("rm", "-f", "/root/cuts")
    for kills in range(MOST_RUNS):
        result = attempt(dock, policies, backend=backend, cut={"pattern": "", "seen": "/root/cuts"})
        yield result
        if not result.killed:
            assert kills >= 6
            return
    raise AssertionError(f"not at the end after {MOST_RUNS} runs")


@pytest.mark.proof(area="firewall", line=5, title="DOCKER-USER: killed at every moment, the old policy or the new one")
@on(settings("26.1", "20.10", proxy=True))
def test_a_change_that_is_killed_leaves_a_whole_policy(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, NEW, backend=BACKEND)
    after = user_rules(dock)
    declare(dock, OLD, backend=BACKEND)
    before = user_rules(dock)
    with stage.denied.knocking(Target(ADDRESSES[DOCK][4], 8443)) as knocking:
        for result in runs_that_are_killed(dock, NEW, BACKEND):
            assert result.killed or not result.failed, result.message
            assert legal(user_rules(dock), before, after)
            assert legal(kept_rules(dock), before, after)
    assert (knocking.successes, knocking.attempts > 1000) == (0, True), knocking.moments
    assert user_rules(dock) == after == kept_rules(dock)


@pytest.mark.proof(area="firewall", line=5, title="Between backends, killed at every moment: nobody gets in")
@pytest.mark.slow
@on(settings("26.1", "28.5", proxy=True))
def test_a_change_of_backend_that_is_killed_lets_nobody_in(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    others = rules_of_others(dock)
    declare(dock, OLD)
    files = everything(dock)
    table = seen(dock)
    for backend in (BACKEND, "nftables"):
        with stage.denied.knocking(Target(ADDRESSES[DOCK][4], 8443)) as knocking:
            for result in runs_that_are_killed(dock, OLD, backend):
                assert result.killed or not result.failed, result.message
        assert (knocking.successes, knocking.attempts > 1000) == (0, True), knocking.moments
        again = run(dock, OLD, backend=backend)
        assert (again.changed, again.titles) == (False, [])
        assert bool(seen(dock)) is (backend == "nftables")
        assert any(user_rules(dock).values()) is (backend == BACKEND)
        assert rules_of_others(dock) == others
    assert everything(dock) == files
    assert without_handles(seen(dock)) == without_handles(table)


@pytest.mark.proof(area="firewall", line=4, title="DOCKER-USER: a line that is refused, told with its policy")
@pytest.mark.parametrize("check", [False, True], ids=["run", "check"])
@on(settings("26.1", "20.10", proxy=True))
def test_a_line_that_is_refused_leaves_the_old_policy(stage: Stage, check: bool) -> None:
    dock = stage.dock
    declare(dock, OLD, backend=BACKEND)
    before, boot = user_rules(dock), kept_rules(dock)
    for words in ("--limit 99999999999/second", "--limit 5/second -m rpfilter"):
        refused = {"_firewall.docker_user._LOG_LIMIT": words}
        result = attempt(dock, NEW, backend=BACKEND, check=check, instead=refused)
        assert result.failed
        assert "policy 'more', line " in result.message, result.message
        assert user_rules(dock) == before
        assert kept_rules(dock) == boot
    declare(dock, NEW, backend=BACKEND)


@pytest.mark.proof(area="firewall", line=6, title="DOCKER-USER: others' rules stay; a removal leaves nothing")
@on(settings("26.1", "20.10", "20.10-ip6tables", "28.5", proxy=True))
def test_what_belongs_to_others_is_left_alone_and_a_removal_leaves_nothing(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    dock.sh("iptables -I DOCKER-USER -s 203.0.113.9 -j DROP; iptables -N THEIRS; iptables -A THEIRS -j RETURN")
    files, others = everything(dock), rules_of_others(dock)
    told = attempt(dock, OLD, backend=BACKEND, default="drop", check=True)
    assert (told.changed, everything(dock), rules_of_others(dock)) == (True, files, others)
    done = declare(dock, OLD, backend=BACKEND, default="drop")
    assert (told.values["plan"], told.values["diff"]) == (done.values["plan"], done.values["diff"])
    assert rules_of_others(dock) == others
    assert "\n1: -A DOCKER-USER -j FABRIC-DOCKER" in user_rules(dock)[4]
    declare(dock, NEW, backend=BACKEND)
    assert rules_of_others(dock) == others
    declare(dock, OLD, state="absent")
    assert (rules_of_others(dock), any(user_rules(dock).values())) == (others, False)
    assert everything(dock) == files
    assert stage.denied.can(DOCK, 8443)


@pytest.mark.proof(area="firewall", line=3, title="DOCKER-USER: what nobody confirms is undone")
@on(settings("26.1", "20.10", proxy=True))
def test_an_unconfirmed_change_is_undone(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    run(dock, OLD, backend=BACKEND, confirm_timeout=5)
    dock.until(("sh", "-c", "! systemctl is-active --quiet docker-firewall-undo.timer"), 25)
    dock.until(("sh", "-c", "! iptables-save | grep -q FABRIC"), 10)
    assert not any(user_rules(dock).values())
    declare(dock, OLD, backend=BACKEND)
    old = user_rules(dock)
    waiting = run(dock, NEW, backend=BACKEND, confirm_timeout=600)
    assert [each["what"] for each in waiting.values["pending"]]
    new = user_rules(dock)
    assert (new != old, kept_rules(dock) == old) == (True, True)
    # The watcher keeps what is tried, too.
    dock.run("iptables", "--delete", "DOCKER-USER", "--jump", "FABRIC-DOCKER")
    dock.until(("iptables", "--check", "DOCKER-USER", "--jump", "FABRIC-DOCKER"), SOON)
    assert user_rules(dock) == new
    dock.reboot()
    assert user_rules(dock) == old
    token = {"confirm": waiting.values["firewall"]["unconfirmed"]["token"]}
    late = attempt(dock, NEW, backend=BACKEND, confirm_timeout=600, **token)
    assert "is undone already" in late.message
    waiting = run(dock, NEW, backend=BACKEND, confirm_timeout=600)
    assert any("was undone" in title for title in waiting.titles)
    token = {"confirm": waiting.values["firewall"]["unconfirmed"]["token"]}
    run(dock, NEW, backend=BACKEND, confirm_timeout=600, **token)
    assert user_rules(dock) == new == kept_rules(dock)
    # And an unconfirmed change of backend goes back to the other one.
    run(dock, NEW, backend="nftables", confirm_timeout=5)
    assert seen(dock)
    dock.until(("iptables", "--check", "DOCKER-USER", "--jump", "FABRIC-DOCKER"), 25)
    dock.until(("sh", "-c", "! nft list table inet docker_firewall"), 25)
    assert user_rules(dock) == new


@pytest.mark.proof(area="firewall", line=2, title="DOCKER-USER: first start, reboot, new network: nobody gets in")
@on(settings("26.1", "20.10", "28.5", proxy=True))
def test_it_is_there_from_the_start_and_follows(stage: Stage) -> None:
    dock = stage.dock
    dock.stop_docker()
    dock.sh("for each in iptables ip6tables; do $each -F; $each -t nat -F; done; nft flush ruleset")
    run(dock, OLD, backend=BACKEND)
    target = Target(ADDRESSES[DOCK][4], 8443)
    with stage.denied.knocking(target) as knocking:
        dock.start_docker()
        dock.run_services(WEB)
    assert (knocking.successes, knocking.attempts > 100) == (0, True), knocking.moments
    assert stage.allowed.can(DOCK, 8443)
    with stage.denied.knocking(target) as knocking:
        dock.reboot()
    assert (knocking.successes, knocking.attempts > 100) == (0, True), knocking.moments
    assert stage.allowed.can(DOCK, 8443)
    bridge = dock.create_network("fresh")
    dock.until(("sh", "-c", f"iptables-save | grep -q 'FABRIC-BRIDGES -o {bridge} '"), SOON)
    assert f"-o {bridge} " in kept_rules(dock)[4]
    dock.remove_services("web")
    with stage.denied.knocking(target) as knocking:
        dock.run_services(Service("web", ("tcp:443",), ("8443:443",), network="fresh"))
    assert (knocking.successes, knocking.attempts > 100) == (0, True), knocking.moments
    again = run(dock, OLD, backend=BACKEND)
    assert (again.changed, again.titles) == (False, [])


def networks(dock: DockerHost) -> None:
    """Docker makes networks."""
    for number in range(20):
        dock.docker("network", "create", f"n{number}")


def restarts(dock: DockerHost) -> None:
    """Docker is restarted."""
    for _time in range(3):
        dock.restart_docker()


def reloads(dock: DockerHost) -> None:
    """firewalld is reloaded."""
    for _time in range(2):
        dock.reload_firewalld()


EVENTS: Sequence[Callable[[DockerHost], None]] = (networks, restarts, reloads)


@contextlib.contextmanager
def recorded(name: str, event: str) -> Iterator[list[Knocking]]:
    """Write down what came of the attempts, for whoever asks for it by LEAKS, a file."""
    found: list[Knocking] = []
    yield found
    if os.environ.get("LEAKS"):
        line = {"setting": name, "event": event, **{key: getattr(found[0], key) for key in ("attempts", "successes")}}
        with Path(os.environ["LEAKS"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


@pytest.mark.proof(area="firewall", line=2, title="DOCKER-USER: what gets through when others change rules is counted")
@on(settings("26.1", "20.10", "28.5", proxy=True))
def test_what_gets_through_is_counted_and_the_policy_holds_again(stage: Stage, setting: Setting) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    run(dock, OLD, backend=BACKEND)
    total = 0
    for event in EVENTS:
        if event is reloads:
            dock.start_firewalld()
            dock.restart_docker()
        with recorded(setting.id, event.__name__) as found:
            with stage.denied.knocking(Target(ADDRESSES[DOCK][4], 8443)) as knocking:
                event(dock)
            found.append(knocking)
        total += knocking.attempts
        dock.until(("sh", "-c", "iptables-save | grep -q -- '-A DOCKER-USER -j FABRIC-DOCKER'"), SOON)
        if stage.denied.can(DOCK, 8443):  # as with Docker 28, which comes back in front of DOCKER-USER
            assert event is reloads, f"{event.__name__}: still open"
            assert "accepted_ahead" in result_kinds(run(dock, OLD, backend=BACKEND).values)
            dock.restart_docker()
            assert not stage.denied.can(DOCK, 8443), "still open after a restart of Docker"
        assert stage.allowed.can(DOCK, 8443), f"{event.__name__}: the allowed one is shut out"
    assert total > 5000
    told = result_kinds(run(dock, OLD, backend=BACKEND).values)
    assert ("network_create" in told) is not setting.engine.guards_containers
    assert "firewalld_reload" in told


def result_kinds(values: Mapping[str, Any]) -> set[str]:
    """The kinds of gaps that a result names."""
    return {gap["kind"] for gap in values["firewall"]["gaps"]}
