"""What the audit says of real hosts: of those as they should be, and of what people do to them."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.firewall.clients import Client, Target
from tests.integration.firewall.declared import declare, policy
from tests.integration.firewall.docker_host import IMAGE, DockerHost, Service
from tests.integration.firewall.engines import Setting, on, settings
from tests.integration.firewall.places import ADDRESSES, DOCK, OUTSIDE
from tests.integration.firewall.stage import Stage
from tests.integration.modules.payload import FOLDER

INFO = "docker_firewall_info"
WEB = Service("web", ("tcp:443",), ("8443:443",))
LOCAL = Service("local", ("tcp:443",), ("127.0.0.1:9000:443",))
DAEMON = "/etc/docker/daemon.json"
UNIT = "/etc/systemd/system/docker.service.d/10-hosts.conf"
#: Seconds that a daemon has at its start before a file counts as newer; the host's clock is as fine as that.
STARTED = 1.2


def look(dock: DockerHost) -> tuple[dict[str, Any], list[str]]:
    """The audit and the findings."""
    result = dock.module(INFO, {})
    assert not result.failed, result.message
    return dict(result.values["audit"]), list(result.values["findings"])


def says(dock: DockerHost, *parts: str) -> None:
    """The audit says just this: a sentence for each part."""
    _audit, findings = look(dock)
    left = list(findings)
    for part in parts:
        matching = [each for each in left if part in each]
        assert matching, f"nobody says '{part}': {findings}"
        left.remove(matching[0])
    assert not left, left


@contextlib.contextmanager
def iptables(dock: DockerHost, *rule: str, command: str = "iptables") -> Iterator[None]:
    """A rule at the top of a chain during the block: its name, and what the rule says."""
    chain, *words = rule
    dock.run(command, "--wait", "--insert", chain, *words)
    yield
    dock.run(command, "--wait", "--delete", chain, *words)


def connects(client: Client, port: int) -> bool:
    """Whether a port of the Docker host takes a connection, even if it says nothing."""
    script = f"import socket; socket.create_connection(({ADDRESSES[DOCK][4]!r}, {port}), 2)"
    return client.host.run([sys.executable, "-c", script], check=False).returncode == 0


def set_daemon(dock: DockerHost, **options: Any) -> None:
    """Write the daemon's file with further options, and nothing else."""
    assert dock.setting is not None
    given = json.loads(dock.setting.engine.daemon(dock.setting.userland_proxy))
    dock.host.put(json.dumps({**given, **options}).encode(), DAEMON)


def start_daemon(dock: DockerHost, *arguments: str) -> None:
    """Restart dockerd with further arguments."""
    text = f"[Service]\nExecStart=\nExecStart=/usr/sbin/dockerd -H fd:// {' '.join(arguments)}\n"
    dock.run("mkdir", "-p", UNIT.rpartition("/")[0])
    dock.host.put(text.encode(), UNIT)
    dock.run("systemctl", "daemon-reload")
    dock.restart_docker()


@on(settings())
def test_a_host_under_a_policy_needs_no_words(stage: Stage, setting: Setting) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, [policy("web", 8443)], default="drop")
    audit, findings = look(dock)

    assert findings == []
    daemon, families, engine = audit["daemon"], audit["iptables"], setting.engine
    assert (daemon["iptables"], daemon["ip6tables"]) == (True, engine.ip6tables)
    assert (daemon["userland_proxy"], daemon["firewall_backend"]) == (setting.userland_proxy, "iptables")
    assert (daemon["hosts"], daemon["tls_verify"], daemon["config_newer"]) == (["fd://"], False, False)
    assert (families["ipv4"]["docker_user_jump"], families["ipv4"]["docker_translates"]) == (1, True)
    assert families["ipv6"]["docker_user"] == (engine.ip6tables and engine.name != "20.10-ip6tables")
    assert families["ipv6"]["docker_translates"] == engine.ip6tables
    assert (families["ipv4"]["raw_drops"] > 0) == engine.guards_containers
    assert {each["process"] for each in audit["listeners"]} <= {"docker-proxy", "dockerd"}
    assert any(each["process"] == "docker-proxy" for each in audit["listeners"]) == setting.userland_proxy
    assert all(each["policies"] == ["web"] for each in audit["listeners"])


@on(settings("20.10-ip6tables", "26.1", "28.5", proxy=True))
def test_what_people_do_to_rules(stage: Stage, setting: Setting) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, [policy("web", 8443)], default="drop")

    with iptables(dock, "FORWARD", "-i", OUTSIDE, "-j", "ACCEPT"):
        says(dock, f"In FORWARD (IPv4) rule 1: -i {OUTSIDE} -j ACCEPT stands in front of Docker's jump")
    with iptables(dock, "DOCKER-USER", "-s", "192.0.2.77", "-j", "DROP"):
        only_4 = ["makes no such chain for IPv6"] if setting.engine.name.startswith("20.10") else []
        says(dock, *only_4)
        dock.run("iptables", "--wait", "--delete", "FORWARD", "-j", "DOCKER-USER")
        says(dock, "FORWARD does not jump there", *only_4)
        dock.run("iptables", "--wait", "--insert", "FORWARD", "-j", "DOCKER-USER")
    says(dock)

    dock.load("add rule ip filter FORWARD ip daddr { 192.0.2.4, 192.0.2.9 } ct status dnat counter\n")
    says(dock, "iptables cannot read its table 'filter' (IPv4)")
    dock.sh("""nft delete rule ip filter FORWARD handle \
        $(nft --handle list chain ip filter FORWARD | sed -n 's/.*ct status dnat.* handle //p')""")
    says(dock)

    dock.run("iptables-legacy", "--list", "--numeric")
    says(dock, "Legacy iptables has tables, too (IPv4: filter)")


@pytest.mark.slow
@on(settings("26.1", proxy=True))
def test_rules_that_somebody_flushed(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, [policy("web", 8443)], default="drop")
    dock.run("iptables", "--wait", "--table=nat", "--flush")
    says(dock, "not in iptables' table nat (somebody flushed them)")
    dock.restart_docker()
    says(dock)


@pytest.mark.slow
@on(settings("26.1", "28.5", proxy=True))
def test_what_people_do_to_the_daemon(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, [policy("web", 8443)], default="drop")

    set_daemon(dock, debug=True)
    dock.run("sleep", str(STARTED))  # nothing tells that a second has gone by but a clock
    dock.run("touch", DAEMON)
    says(dock, "is newer than the running Docker")
    assert look(dock)[0]["daemon"]["userland_proxy"] is None
    dock.host.put(b"{", DAEMON)
    says(dock, f"{DAEMON} is not valid")
    set_daemon(dock, hosts=["unix:///run/docker.sock"])
    says(dock, "is newer than the running Docker", "'hosts' is set on Docker's command line and in")
    set_daemon(dock)

    start_daemon(dock, "-H", "tcp://0.0.0.0:2375")
    says(dock, "Docker answers on tcp://0.0.0.0:2375 to containers and to whom policies let in, without TLS")
    assert not connects(stage.denied, 2375)
    declare(dock, [policy("web", 8443)])
    says(dock, "Docker answers on tcp://0.0.0.0:2375 to everybody, without TLS: who reaches it is root")
    assert connects(stage.denied, 2375)
    declare(dock, [policy("web", 8443)], default="drop")
    start_daemon(dock, "-H", "tcp://127.0.0.1:2375")
    says(dock)
    set_daemon(dock, iptables=False, ip6tables=False)
    start_daemon(dock)
    says(dock, "Docker writes no rules (iptables is off): published ports are served by docker-proxy only")
    assert look(dock)[0]["daemon"]["iptables"] is False

    dock.stop_docker()
    audit, findings = look(dock)
    assert (audit["daemon"]["pid"], audit["swarm"]) == (None, None)
    assert [each for each in findings if "Docker does not answer" in each]


@pytest.mark.slow
@on(settings("26.1", proxy=True))
def test_docker_behind_a_port_of_systemd(stage: Stage) -> None:
    dock = stage.dock
    folder = "/etc/systemd/system/docker.socket.d"
    dock.stop_docker()
    dock.run("mkdir", "-p", folder)
    dock.host.put(b"[Socket]\nListenStream=2375\n", f"{folder}/10-port.conf")
    dock.run("systemctl", "daemon-reload")
    dock.run("systemctl", "start", "docker.socket", "docker.service")
    declare(dock, [], default="drop")
    says(dock, "Docker answers on tcp [::]:2375 to everybody, without TLS")
    assert connects(stage.denied, 2375)
    declare(dock, [policy("docker", 2375)], default="drop")
    says(dock, "Docker answers on tcp [::]:2375 to containers and to whom policies let in, without TLS")
    assert not connects(stage.denied, 2375)
    assert connects(stage.allowed, 2375)


@pytest.mark.slow
@on(settings("20.10", "26.1", "28.5", proxy=True))
def test_what_no_policy_governs(stage: Stage) -> None:
    dock = stage.dock
    declare(dock, [policy("web", 8443), policy("shell", 22)], default="drop")
    says(dock, "Policy 'shell' names tcp 22, on which 'sshd' of the host itself listens")
    declare(dock, [policy("web", 8443)], default="drop")

    program = ["/usr/bin/python3", f"{FOLDER}/on_host/answerer.py", "own", "tcp:7070"]
    mounts = ["--volume=/usr:/usr:ro", f"--volume={FOLDER}:{FOLDER}:ro"]
    dock.docker("run", "--detach", "--name=own", "--network=host", *mounts, IMAGE, *program)
    dock.until(["sh", "-c", "ss -Hltn sport = :7070 | grep -q ."], 20)
    says(dock, "Container 'own' uses the host's network and listens on tcp 7070, which no policy names")
    assert stage.denied.can(DOCK, 7070), "nobody governs it"
    declare(dock, [policy("web", 8443), policy("own", 7070)], default="drop")
    says(dock)
    assert not stage.denied.can(DOCK, 7070)
    assert stage.allowed.can(DOCK, 7070)

    dock.docker("network", "create", "--driver=macvlan", f"--opt=parent={OUTSIDE}", "--subnet=198.18.0.0/24", "wire")
    says(dock, "Network 'wire' (macvlan) connects its containers to the wire")
    dock.docker("network", "rm", "wire")
    dock.docker("swarm", "init", f"--advertise-addr={ADDRESSES[DOCK][4]}")
    dock.docker("service", "create", "--detach", "--name=shop", "--replicas=0", "--publish=8080:80", IMAGE, "/bin/true")
    declare(dock, [policy("web", 8443), policy("own", 7070)])
    says(dock, "Swarm is active", "Port 8080/tcp of the Swarm service 'shop' is named by no policy")
    assert connects(stage.denied, 7946)
    declare(dock, [policy("web", 8443), policy("own", 7070)], default="drop")
    says(dock, "Swarm is active", "The nodes of the Swarm do not reach this one on tcp 7946, udp 7946, tcp 2377")
    assert not connects(stage.denied, 7946)
    nodes = [policy("nodes", 7946, 2377), policy("gossip", 7946, protocol="udp")]
    declare(dock, [policy("web", 8443), policy("own", 7070), *nodes], default="drop")
    says(dock, "Swarm is active")
    assert connects(stage.allowed, 7946)


@pytest.mark.slow
@on(settings("26.1", "28.5", proxy=True))
def test_a_policy_below_docker_user(stage: Stage, setting: Setting) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, [policy("web", 8443)], default="drop", backend="docker_user")
    gaps = [] if setting.engine.guards_containers else ["takes its jump to DOCKER-USER out and puts it in again"]
    says(dock, *gaps)
    with iptables(dock, "FORWARD", "-i", OUTSIDE, "-j", "ACCEPT"):
        says(dock, f"In FORWARD (IPv4) rule 1: -i {OUTSIDE} -j ACCEPT stands in front of Docker's jump", *gaps)
        assert "with it every policy" in look(dock)[1][-1]
        assert connects(stage.denied, 8443)
    assert not connects(stage.denied, 8443)


@pytest.mark.slow
@on(settings("20.10", "26.1", "28.5", proxy=True))
def test_loopback_is_open_to_neighbours_where_the_audit_says_so(stage: Stage, setting: Setting) -> None:
    dock, denied = stage.dock, stage.denied.host
    dock.run_services(LOCAL)
    assert stage.denied.can(DOCK, 22), "the two do not know each other's hardware addresses"
    # The client sends what is for 127.0.0.1 to the Docker host.
    for name in ("all", OUTSIDE):
        denied.run(["sysctl", "-qw", f"net.ipv4.conf.{name}.route_localnet=1", f"net.ipv4.conf.{name}.rp_filter=0"])
    gateway = ADDRESSES[DOCK][4]
    denied.run(["ip", "route", "add", "127.0.0.1", "via", gateway, "dev", OUTSIDE, "table", "100"])
    denied.run(["ip", "rule", "add", "preference", "10", "lookup", "local"])
    denied.run(["ip", "rule", "add", "preference", "5", "to", "127.0.0.1", "lookup", "100"])
    denied.run(["ip", "rule", "delete", "preference", "0"])
    try:
        target = Target("127.0.0.1", 9000)
        declare(dock, [policy("web", 8443)])
        reached = stage.denied.ask([target])[0] is not None
        assert reached is not setting.engine.guards_containers
        says(dock, *(["Port 9000/tcp of container 'local' is published on loopback only"] if reached else []))
        declare(dock, [policy("web", 8443), policy("local", 9000, allow=[])])
        assert stage.denied.ask([target]) == [None]
        says(dock)
    finally:
        denied.run(["ip", "rule", "add", "preference", "0", "lookup", "local"])
        denied.run(["ip", "rule", "delete", "preference", "5"])
        denied.run(["ip", "rule", "delete", "preference", "10"])
        denied.run(["ip", "route", "flush", "table", "100"])
