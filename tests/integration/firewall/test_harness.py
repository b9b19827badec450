"""The proving ground itself: what its parts report is so."""

from __future__ import annotations

import pytest

from tests.integration.firewall.clients import Target
from tests.integration.firewall.docker_host import Service
from tests.integration.firewall.engines import on, settings
from tests.integration.firewall.places import ADDRESSES, DOCK
from tests.integration.firewall.stage import Stage

WEB = Service("web", ("tcp:443",), ("8443:443",))
CLOSED = (
    "table inet closed { chain forward { type filter hook forward priority filter - 1; iifname outside drop; }; }\n"
)


@on(settings("26.1", proxy=True))
def test_a_client_that_tries_all_the_time_counts_what_gets_through(stage: Stage) -> None:
    stage.dock.run_services(WEB)
    target = Target(ADDRESSES[DOCK][4], 8443)
    with stage.denied.knocking(target) as knocking:
        stage.allowed.can(DOCK, 8443)
    assert knocking.attempts == knocking.successes > 100
    with stage.denied.knocking(target) as knocking:
        stage.dock.load(CLOSED)
        assert not stage.allowed.can(DOCK, 8443)
    assert 0 < knocking.successes < knocking.attempts
    with stage.denied.knocking(target) as knocking:
        assert not stage.allowed.can(DOCK, 8443)
    assert (knocking.successes, knocking.refusals) == (0, 0)
    assert knocking.attempts > 1000


@pytest.mark.slow
@on(settings(proxy=True))
def test_services_come_back_from_every_kind_of_restart(stage: Stage) -> None:
    stage.dock.run_services(WEB, Service("other", ("udp:53",), ("8053:53/udp",)))
    for again in (stage.dock.restart_docker, stage.dock.reboot, lambda: stage.dock.recreate("web")):
        again()
        assert stage.denied.can(DOCK, 8443)
        assert stage.denied.can(DOCK, 8443, family=6)
        assert stage.denied.can(DOCK, 8053, "udp")


@on(settings("26.1", proxy=True))
def test_a_module_runs_in_a_fresh_process(stage: Stage) -> None:
    result = stage.dock.module("docker_firewall_info", {})
    assert not result.failed, result.message
    assert result.status == 0
