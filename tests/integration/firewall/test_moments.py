"""No moment without the policy: a denied client tries all the time, whatever happens on the host."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator

import pytest

from tests.integration.firewall.clients import KNOCK, KNOCKS_PER_SECOND, Knocking, Target
from tests.integration.firewall.declared import declare, policy, run
from tests.integration.firewall.docker_host import DockerHost, Service
from tests.integration.firewall.engines import on, settings
from tests.integration.firewall.places import ADDRESSES, DOCK
from tests.integration.firewall.stage import Stage
from tests.integration.modules.payload import FOLDER

WEB = Service("web", ("tcp:443",), ("8443:443",))
POLICY = [policy("web", 8443)]
#: Of each family, over all that happens.
MANY = 5000


@contextlib.contextmanager
def nobody_gets_in(
    stage: Stage, per_second: int = KNOCKS_PER_SECOND, patience: float = KNOCK
) -> Iterator[list[Knocking]]:
    """The denied client tries over IPv4 and IPv6 during the block; not one connection may come about."""
    four, six = (
        stage.denied.knocking(Target(ADDRESSES[DOCK][family], 8443), per_second, patience) for family in (4, 6)
    )
    with four as over_4, six as over_6:
        yield [over_4, over_6]
    assert (over_4.successes, over_6.successes) == (0, 0), (over_4.moments, over_6.moments)


def networks(dock: DockerHost) -> None:
    """Docker makes and removes networks."""
    for number in range(20):
        dock.docker("network", "create", f"n{number}")
    for number in range(20):
        dock.remove_network(f"n{number}")


def restarts(dock: DockerHost) -> None:
    """Docker is restarted, as after an upgrade."""
    for _time in range(3):
        dock.restart_docker()


def recreations(dock: DockerHost) -> None:
    """Containers are made anew, as Compose does, also on a network that is made for them."""
    for number in range(3):
        dock.recreate("web")
        dock.create_network("fresh", number + 1)
        dock.run_services(Service("more", ("tcp:443",), ("8444:443",), network="fresh"))
        dock.remove_services("more")
        dock.remove_network("fresh")


def firewalld(dock: DockerHost) -> None:
    """firewalld comes, is reloaded, and goes."""
    dock.start_firewalld()
    for _time in range(3):
        # Docker 20.10 does not always put its own rules back. The policy is there all the same.
        dock.run("firewall-cmd", "--reload")
    dock.stop_firewalld()
    dock.restart_docker()


def nftables(dock: DockerHost) -> None:
    """nftables.service flushes everything, in all the ways it knows."""
    dock.run("systemctl", "start", "nftables.service")
    for verb in ("reload", "restart", "stop", "start", "restart"):
        dock.run("systemctl", verb, "nftables.service")
    dock.restart_docker()


def persistent(dock: DockerHost) -> None:
    """netfilter-persistent saves, flushes and restores."""
    dock.save_rules()
    dock.run("netfilter-persistent", "flush")
    dock.restore_rules()
    dock.restart_docker()


EVENTS: list[Callable[[DockerHost], None]] = [networks, restarts, recreations, firewalld, nftables, persistent]


@pytest.mark.proof(area="firewall", line=2, title="Nobody denied gets in, whatever other tools do")
@on(settings(proxy=True), in_make_test=True)
def test_no_connection_of_a_denied_client_comes_about_whatever_happens(stage: Stage) -> None:
    stage.dock.run_services(WEB)
    assert stage.denied.can(DOCK, 8443)
    declare(stage.dock, POLICY)
    attempts = []
    for event in EVENTS:
        with nobody_gets_in(stage) as knocking:
            event(stage.dock)
        attempts.append(min(each.attempts for each in knocking))
        for family in (4, 6):
            assert stage.allowed.can(DOCK, 8443, family=family), f"{event.__name__}: the allowed one is shut out"
    assert sum(attempts) > MANY
    run(stage.dock, POLICY)


#: As fast as a client can, and not longer for each than an answer takes on a busy machine.
RUSH, BRIEFLY = 5_000, 0.1
#: Of both families, while the policy is replaced.
RUSHED = 100_000
#: Beside the two that port 8443 goes to and fro between: what there is to load takes its time.
FURTHER = [policy(f"p{port}", port, allow=[f"10.0.{net}.0/25" for net in range(10)]) for port in range(20000, 20010)]
TO_AND_FRO = [
    [policy("one", 8443), policy("two", 8500), *FURTHER],
    [policy("one", 8500), policy("two", 8443, log=True), *FURTHER],
]
LOADS_OF_A_ROUND, ROUNDS, MOST_ROUNDS = 50, 3, 12
RELOADS = 30


def replacements(dock: DockerHost, loads: int) -> None:
    """The module's steps replace the policy so often."""
    order = {"wishes": [{"policies": each} for each in TO_AND_FRO], "loads": loads}
    program = ("env", f"PYTHONPATH={FOLDER}", "python3", "-m", "on_host.replacing")
    assert int(dock.run(*program, stdin=json.dumps(order))) == loads


@pytest.mark.proof(
    area="firewall", line=2, title="Nobody denied gets in while the policy is replaced, of 100,000 tries"
)
@on(settings("26.1", "20.10-ip6tables", proxy=True), in_make_test=True)
def test_nobody_gets_in_while_the_policy_is_replaced_again_and_again(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, TO_AND_FRO[0])
    attempts = rounds = 0
    while rounds < ROUNDS or attempts < RUSHED:
        assert rounds < MOST_ROUNDS, f"{attempts} attempts only"
        with nobody_gets_in(stage, RUSH, BRIEFLY) as knocking:
            replacements(dock, LOADS_OF_A_ROUND)
        attempts += sum(each.attempts for each in knocking)
        rounds += 1
    assert stage.allowed.can(DOCK, 8443)
    assert stage.allowed.can(DOCK, 8443, family=6)

    dock.run("systemctl", "start", "nftables.service")
    with nobody_gets_in(stage, RUSH, BRIEFLY):
        for _time in range(RELOADS):
            dock.run("systemctl", "reload", "nftables.service")
    again = run(dock, TO_AND_FRO[0])
    assert (again.changed, again.titles, again.values["findings"]) == (False, [], [])


@pytest.mark.proof(area="firewall", line=2, title="Nobody denied gets in during and after a reboot")
@on(settings(proxy=True))
def test_a_reboot_opens_nothing(stage: Stage) -> None:
    stage.dock.run_services(WEB)
    declare(stage.dock, POLICY)
    with nobody_gets_in(stage) as knocking:
        stage.dock.reboot()
    assert min(each.attempts for each in knocking) > 100
    assert stage.allowed.can(DOCK, 8443)
    again = run(stage.dock, POLICY)
    assert (again.changed, again.titles) == (False, [])


@pytest.mark.proof(area="firewall", line=2, title="The policy may come before Docker's first start, or after")
@on(settings(proxy=True))
def test_both_orders_of_start(stage: Stage) -> None:
    stage.dock.stop_docker()
    run(stage.dock, POLICY)
    with nobody_gets_in(stage):
        stage.dock.start_docker()
        stage.dock.run_services(WEB)
        run(stage.dock, POLICY)
    assert stage.allowed.can(DOCK, 8443)
    assert stage.allowed.can(DOCK, 8443, family=6)


@pytest.mark.proof(area="firewall", line=2, title="Docker brings a flushed policy back, and does not start without one")
@on(settings("26.1", proxy=True))
def test_docker_does_not_start_without_a_policy(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, POLICY)
    dock.run("nft", "flush", "ruleset")
    told = dock.module("docker_firewall_info", {}).values["findings"]
    assert told[0].startswith("No policy is loaded")
    dock.restart_docker()
    with nobody_gets_in(stage):
        assert stage.allowed.can(DOCK, 8443)

    dock.stop_docker()
    dock.run("nft", "delete", "table", "inet", "docker_firewall")
    dock.sh("echo 'no rules' >> /var/lib/baremetal.fabric/docker_firewall/table.nft")
    assert not dock.succeeds("systemctl", "start", "docker.service")
    assert not stage.denied.can(DOCK, 8443)
    # The next run mends it.
    run(dock, POLICY)
    dock.run("systemctl", "reset-failed", "docker.service")
    dock.start_docker()
    dock.await_services()
    assert stage.allowed.can(DOCK, 8443)
    assert not stage.denied.can(DOCK, 8443)


@pytest.mark.proof(area="firewall", line=2, title="What holds while files are loaded goes, and is told if it stays")
@on(settings("20.10", "26.1", proxy=True))
def test_a_load_that_fails_or_is_killed_shuts_nobody_out_for_good(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, POLICY, default="drop")
    dock.run("systemctl", "start", "nftables.service")
    dock.restart_docker()
    dock.sh("cp /etc/nftables.conf /root/nftables.conf; echo 'no rules' >> /etc/nftables.conf")
    with nobody_gets_in(stage):
        assert not dock.succeeds("systemctl", "reload", "nftables.service")
        assert stage.allowed.can(DOCK, 8443)
    dock.run("mv", "/root/nftables.conf", "/etc/nftables.conf")

    dock.run("nft", "-f", "/var/lib/baremetal.fabric/docker_firewall/guard.nft")
    assert not stage.allowed.can(DOCK, 8443)
    told = dock.module("docker_firewall_info", {}).values
    assert told["findings"][0].startswith("The table inet docker_firewall_guard was left")
    assert told["firewall"]["left_tables"] == ["inet docker_firewall_guard"]
    with nobody_gets_in(stage):
        done = run(dock, POLICY, default="drop")
        assert done.titles == ["Remove the table inet docker_firewall_guard"]
        assert stage.allowed.can(DOCK, 8443)


@pytest.mark.proof(area="firewall", line=2, title="A network that Docker makes is followed, and covered meanwhile")
@on(settings(proxy=True))
def test_a_new_network_is_covered_also_while_nobody_follows(stage: Stage) -> None:
    dock = stage.dock
    run(dock, POLICY, default="drop")
    dock.run("systemctl", "stop", "docker-firewall-watch.service")
    with nobody_gets_in(stage):
        dock.create_network("fresh")
        dock.run_services(Service("web", ("tcp:443",), ("8443:443",), network="fresh"))
    dock.run("systemctl", "start", "docker-firewall-watch.service")
    bridge = next(name for name in dock.bridges() if name.startswith("br-"))
    dock.until(("sh", "-c", f"nft list set inet docker_firewall docker | grep -q {bridge}"), 10)
    assert stage.allowed.can(DOCK, 8443)
    # What followed is also what is loaded at boot, and nothing is left for a run.
    assert bridge in dock.read("/var/lib/baremetal.fabric/docker_firewall/around.nft")
    again = run(dock, POLICY, default="drop")
    assert (again.changed, again.titles) == (False, [])


@pytest.mark.proof(area="firewall", line=2, title="A port of docker-proxy that nobody names is closed before it opens")
@on(settings("20.10", "26.1-ip6tables-off", proxy=True))
def test_ports_of_docker_proxy_are_closed_by_default(stage: Stage) -> None:
    declare(stage.dock, POLICY, default="drop")
    target = Target(ADDRESSES[DOCK][6], 8500)
    with stage.denied.knocking(target) as knocking:
        stage.dock.run_services(Service("other", ("tcp:443",), ("8500:443",)))
        stage.dock.recreate("other")
    assert knocking.attempts > 1000
    assert knocking.successes == 0, knocking.moments
