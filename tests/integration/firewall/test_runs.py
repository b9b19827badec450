"""How runs behave: check mode, diff, two at once, refusals, a host without Docker."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.firewall.declared import NAMED, attempt, declare, policy, run
from tests.integration.firewall.docker_host import Service
from tests.integration.firewall.engines import on, settings
from tests.integration.firewall.loaded import seen
from tests.integration.firewall.places import DOCK
from tests.integration.firewall.stage import Stage


@pytest.mark.proof(
    area="firewall", line=8, title="Check mode shows the plan that is then carried out, and touches nothing"
)
@on(settings("26.1", "20.10", proxy=True))
def test_check_mode_tells_the_plan_and_the_picture_of_the_real_run(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(Service("web", ("tcp:443",), ("8443:443",)))
    for policies, default in (
        (NAMED, "return"),
        (NAMED, "drop"),
        ([policy("web", 8443, 9000, allow=["::/0"])], "drop"),
    ):
        before = seen(dock)
        told = attempt(dock, policies, default=default, check=True)
        assert not told.failed, told.message
        assert told.changed
        assert seen(dock) == before
        done = declare(dock, policies, default=default)
        assert told.values["plan"] == done.values["plan"]
        assert told.values["diff"] == done.values["diff"]
        assert told.values["diff"]["before"] != told.values["diff"]["after"]


@pytest.mark.proof(area="firewall", line=8, title="Refusals: one clear sentence, nothing changed")
@on(settings("26.1", proxy=True))
def test_what_makes_no_sense_is_refused_and_nothing_is_touched(stage: Stage) -> None:
    dock = stage.dock
    declare(dock)
    before = seen(dock)
    for policies, words in (
        ([policy("a", 80), policy("b", "70-90")], "contradict each other"),
        ([policy("a", 80, allow=["192.0.2.0/33"])], "is not a network"),
        ([policy("a", 70000)], "has the port '70000'"),
        ([policy("a b", 80)], "cannot name a policy"),
    ):
        for check in (False, True):
            result = attempt(dock, policies, check=check)
            assert result.failed
            assert words in result.message
    # A bridge of Docker that carries the default route.
    dock.sh("ip route replace default dev docker0")
    result = attempt(dock, [policy("a", 80)])
    assert result.failed
    assert "the bridge docker0, which also carries the default route" in result.message
    assert seen(dock) == before


@pytest.mark.proof(area="firewall", line=8, title="Two runs at once: one after the other, both right")
@on(settings("26.1", proxy=True))
def test_two_runs_do_not_meet(stage: Stage) -> None:
    dock = stage.dock
    policies = [[policy("web", 8443, port)] for port in (9000, 9001)]
    with ThreadPoolExecutor() as threads:
        results = list(threads.map(lambda wanted: run(dock, wanted), policies * 2))
    # Each met the host as another one had left it, and proved that it left it as declared.
    assert sum(result.changed for result in results) >= 2
    last = seen(dock)
    assert ("9000" in last) != ("9001" in last)


@pytest.mark.proof(area="firewall", line=8, title="A run waits for whoever holds the lock")
@on(settings("26.1", proxy=True))
def test_a_run_waits_for_another_one(stage: Stage) -> None:
    dock = stage.dock
    declare(dock)
    # flock(1) stands for a run that takes long.
    lock = "/run/baremetal.fabric/locks/docker_firewall.lock"
    dock.run("systemd-run", "--quiet", "--unit=holder", "--collect", "flock", lock, "sleep", "6")
    dock.until(("sh", "-c", f"! flock --nonblock {lock} true"), 5)
    before = seen(dock)
    assert not attempt(dock, [policy("web", 9000)], check=True).failed, "check mode changes nothing, and need not wait"
    done = run(dock, [policy("web", 9000)])
    assert not dock.succeeds("systemctl", "is-active", "--quiet", "holder.service"), "it did not wait"
    assert done.changed
    assert seen(dock) != before


@pytest.mark.proof(
    area="firewall", line=8, title="A source that loses its permission loses its connections, if declared"
)
@pytest.mark.parametrize("cut", [True, False], ids=["cut", "kept"])
@on(settings("26.1", "20.10", proxy=True))
def test_established_connections_are_cut_or_kept_as_declared(stage: Stage, cut: bool) -> None:
    dock = stage.dock
    dock.run_services(Service("web", ("tcp:443", "echo:7"), ("8443:7",)))
    run(dock, [policy("web", 8443)], cut_existing=cut)
    with stage.allowed.talking(DOCK, 8443) as talk:
        assert talk.answers()
        run(dock, [policy("web", 8443, allow=["203.0.113.1"])], cut_existing=cut)
        assert talk.answers() is not cut
    with pytest.raises(AssertionError, match="nobody"), stage.allowed.talking(DOCK, 8443) as late:
        assert late.answers(), "nobody"
