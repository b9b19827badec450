"""The proving ground itself: the sets are what the proofs take them for, and what its parts report is so."""

from __future__ import annotations

import pytest

from tests.integration.config.asking import asking
from tests.integration.config.config_host import ConfigHost
from tests.integration.config.daemons import BIRD, BIRD_SESSION, DAEMONS, HAPROXY, NGINX, SITE_PORT, Daemon
from tests.integration.config.places import LOOPBACK, SITE
from tests.integration.config.stage import Stage
from tests.lab.recipe import RELEASES

#: The oldest is only one of many.
every_release = pytest.mark.parametrize(
    "release_stage",
    [*(pytest.param(release, marks=pytest.mark.slow) for release in RELEASES[:-1]), RELEASES[-1]],
    indirect=True,
    scope="session",
)
RELOADS = {"bird": ("birdc", "configure")}


def by_hand(edge: ConfigHost, daemon: Daemon, which: str) -> None:
    """Put a set's files in place as a person does."""
    for each in daemon.files(which):
        edge.host.put(each["content"].encode(), each["path"])
        edge.run("chown", f"{each.get('owner', 'root')}:{each.get('group', 'root')}", each["path"])


@pytest.mark.parametrize("daemon", DAEMONS, ids=lambda daemon: daemon.name)
@every_release
def test_a_daemon_serves_the_set_that_it_was_told_of(edge: ConfigHost, daemon: Daemon) -> None:
    by_hand(edge, daemon, "invalid")
    assert not edge.succeeds(*daemon.validate)
    by_hand(edge, daemon, "old")
    edge.run("systemctl", "start", daemon.unit)
    edge.until(("sh", "-c", '[ "$("$@")" = old ]', "sh", *daemon.look), 20)
    for which in ("failing", "new"):
        by_hand(edge, daemon, which)
        edge.run(*daemon.validate)
        edge.run(*RELOADS.get(daemon.name, ("systemctl", "reload", daemon.unit)))
    edge.until(("sh", "-c", '[ "$("$@")" = new ]', "sh", *daemon.look), 20)


@every_release
def test_a_client_that_asks_all_the_time_counts_what_fails(stage: Stage) -> None:
    edge = stage.edge
    for daemon in (NGINX, HAPROXY):
        by_hand(edge, daemon, "old")
        edge.run("systemctl", "start", daemon.unit)
    with asking(stage.client, SITE, SITE_PORT) as sound:
        edge.run("systemctl", "reload", HAPROXY.unit)
    assert sound.failures == 0, sound.told
    assert sound.attempts > 20
    with asking(stage.client, SITE, SITE_PORT) as broken:
        edge.run("systemctl", "restart", HAPROXY.unit)
    assert 0 < broken.failures < broken.attempts


@every_release
def test_the_controller_reaches_the_edge_by_bgp_only(stage: Stage) -> None:
    edge = stage.edge
    by_hand(edge, BIRD, "old")
    edge.run("systemctl", "start", BIRD.unit)
    connect = ["nc", "-z", "-w", "2", LOOPBACK, "22"]
    edge.until(("sh", "-c", f"birdc show protocols {BIRD_SESSION} | grep Established"), 20)
    edge.until(("sh", "-c", "ip route | grep -q ^10.20.30.0/24"), 10)
    assert stage.controller.run(connect, check=False).returncode == 0
    edge.run("systemctl", "stop", BIRD.unit)
    assert stage.controller.run(connect, check=False).returncode != 0


@every_release
def test_a_look_tells_who_touched_what(edge: ConfigHost) -> None:
    before = edge.tree("/etc/toy", "/etc/nginx")
    assert edge.tree("/etc/toy", "/etc/nginx") == before
    edge.sh("touch /etc/toy/x; rm /etc/toy/x")
    assert edge.tree("/etc/toy", "/etc/nginx") != before
    assert edge.content("/etc/toy", "/etc/nginx") == {path: what[:4] for path, what in before.items()} | {
        path: what[:3] for path, what in before.items() if what[0].startswith("0o4")
    }
