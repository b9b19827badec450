# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit says: when each sentence is said, and that it is not said otherwise."""

from __future__ import annotations

import json
import typing as t
from dataclasses import replace

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.auditing.audit import (
    Audit,
    Flowtable,
    Iptables,
    answers,
    named_ports,
    parse_flowtables,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.auditing.daemon_settings import (
    CONFIG_FILE,
    Daemon,
    config_file,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.auditing.facts import audit_facts
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.auditing.findings import (
    audit_findings,
    open_daemon,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.auditing.forward_order import order
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.auditing.sockets import (
    Listener,
    Process,
    Socket,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.docker_user import (
    ENTRY,
    user_chains,
    user_rules,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.formats.iptables_text import NFT, parse_save
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.model import Docker, Published, Table
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.ruleset import blueprint

from .declared import declared, policy

CONTAINER = {"Id": "c1", "Names": ["/web"], "HostConfig": {"NetworkMode": "default"}}
ON_HOST = {"Id": "c2", "Names": ["/agent"], "HostConfig": {"NetworkMode": "host"}}
BRIDGE = {
    "Name": "bridge",
    "Id": "0f4a5c8c6cb3d5a9c1f0",
    "Driver": "bridge",
    "Options": {"com.docker.network.bridge.name": "docker0"},
    "EnableIPv6": True,
    "IPAM": {"Config": [{"Subnet": "172.17.0.0/16"}, {"Subnet": "2001:db8::/64", "Gateway": "2001:db8::1"}]},
}
WIRE = {"Name": "lan", "Id": "1", "Driver": "macvlan"}
SERVICES = [
    {
        "Spec": {"Name": "shop"},
        "Endpoint": {
            "Ports": [
                {"Protocol": "tcp", "TargetPort": 80, "PublishedPort": 8080, "PublishMode": "ingress"},
                {"Protocol": "tcp", "TargetPort": 81, "PublishedPort": 8081, "PublishMode": "host"},
                {"Protocol": "tcp", "TargetPort": 82},
            ]
        },
    },
    {"Spec": {"Name": "inner"}, "Endpoint": {"Spec": {}}},
]
ACTIVE = {"LocalNodeState": "active", "ControlAvailable": True}
NAT = "*nat\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -j DOCKER\nCOMMIT\n"
RAW = "*raw\n:PREROUTING ACCEPT [0:0]\n-A PREROUTING -d 172.17.0.2/32 -j DROP\nCOMMIT\n"
USER = "*filter\n:FORWARD ACCEPT [0:0]\n:DOCKER-USER - [0:0]\n{}COMMIT\n" + NAT
JUMP = "-A FORWARD -j DOCKER-USER\n"
RUNNING = Daemon(7, config_file(CONFIG_FILE, None), True, True, True, "iptables", ("fd://",), False, False)
WEB = Published("web", "tcp", 8443, "", (4,), 443)
LOCAL = Published("web", "tcp", 9000, "127.0.0.1", (4,), 9000)


def iptables(text: str) -> Iptables:
    saved = parse_save(text)
    return Iptables(order(saved, answers({}, [BRIDGE], [], None).bridged), NFT, saved.unreadable)


def audit(version: str = "28.5.2", **more: t.Any) -> Audit:
    """An audit of a host as it should be, save for ``more``."""
    info = {"ServerVersion": version, "Swarm": more.pop("swarm", {})}
    networks, containers = more.pop("networks", [BRIDGE]), more.pop("containers", [CONTAINER])
    told = answers(info, networks, containers, more.pop("services", None))
    fine = Audit(told, RUNNING, iptables(RAW + USER.format(JUMP)), iptables(USER.format(JUMP)), {4: (), 6: ()})
    return replace(fine, **more)


def host(*policies: dict[str, t.Any], published: tuple[Published, ...] = (WEB,), **options: t.Any) -> Host:
    return Host(docker=Docker("28.5.2", published=published), table=table(*policies, **options))


def closing(*policies: dict[str, t.Any]) -> Host:
    """A host whose table also closes what Docker serves and no policy names."""
    made = blueprint(declared(*policies, default="drop"), {}, "/system.slice/docker.service").table
    return replace(host(), table=made)


def table(*policies: dict[str, t.Any], **options: t.Any) -> Table:
    return blueprint(declared(*policies, **options), {}).table


BARE = Host(docker=Docker("28.5.2", published=(WEB, LOCAL)))


def listener(port: int, name: str, address: str = "0.0.0.0", container: str = "", protocol: str = "tcp") -> Listener:
    return Listener(Socket(protocol, port, address, port), Process(1000 + port, name, container))


def said(found: t.Iterable[str], *parts: str) -> None:
    """Exactly one sentence for each part, in this order; each is one that ends."""
    sentences = list(found)
    assert len(sentences) == len(parts), sentences
    for sentence, part in zip(sentences, parts, strict=True):
        assert part in sentence
        assert sentence.endswith(".")


def test_a_host_as_it_should_be_needs_no_words() -> None:
    for given in (host(policy(ports=[8443])), host(default="drop"), BARE):
        assert audit_findings(audit(), given) == ()
        assert list(open_daemon(audit(), given)) == []
    assert audit_findings(Audit(), Host()) == ()
    assert list(open_daemon(Audit(), Host())) == []


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"hosts": ("fd://", "tcp://0.0.0.0:2375", "tcp://[::]:1")}, ["tcp://0.0.0.0:2375", "tcp://[::]:1"]),
        ({"hosts": ("tcp://0.0.0.0:2376",), "tls": True}, ["without asking who it is"]),
        ({"hosts": ("tcp://0.0.0.0:2376",), "tls": True, "tls_verify": True}, []),
        ({"hosts": ("tcp://127.0.0.1:2375",)}, []),
        ({"hosts": ("tcp://0.0.0.0:2376",), "tls": None, "tls_verify": None}, ["is not known"]),
        ({"hosts": None, "tls_verify": None}, []),
    ],
)
def test_docker_is_open_to_the_network(change: dict[str, t.Any], parts: list[str]) -> None:
    said(open_daemon(audit(daemon=replace(RUNNING, **change)), host()), *parts)


def test_docker_is_open_to_the_network_by_systemd() -> None:
    opened = (listener(2375, "dockerd", "::"), listener(2376, "dockerd", "127.0.0.1"))
    found = audit(open_by_systemd=opened)

    said(open_daemon(found, BARE), "answers on tcp [::]:2375 to everybody")
    # They are not in the control group of Docker's service.
    said(open_daemon(found, closing()), "answers on tcp [::]:2375 to everybody")
    said(open_daemon(found, host(policy(ports=[2375]))), "to containers and to whom policies let in")


def test_what_docker_serves_is_closed_where_the_default_is_drop() -> None:
    found = audit(daemon=replace(RUNNING, hosts=("tcp://0.0.0.0:2375",)))

    said(open_daemon(found, host(default="drop")), "to everybody, without TLS")  # Docker was off when it was loaded
    said(open_daemon(found, closing()), "to containers and to whom policies let in, without TLS")
    said(open_daemon(found, host(policy(ports=[2375]))), "to containers and to whom policies let in, without TLS")


def test_nodes_of_a_swarm_that_do_not_reach_each_other() -> None:
    manager, worker = audit(swarm=ACTIVE), audit(swarm={**ACTIVE, "ControlAvailable": False})

    said(audit_findings(manager, closing()), "do not reach this one on tcp 7946, udp 7946, tcp 2377, because")
    said(audit_findings(worker, closing(policy(ports=[7946]))), "do not reach this one on udp 7946, because")
    both = (policy("a", ports=[7946, 2377]), policy("b", ports=[7946], protocol="udp"))
    assert audit_findings(manager, closing(*both)) == ()
    assert audit_findings(manager, host()) == ()


@pytest.mark.parametrize(("version", "count"), [("20.10.24", 1), ("27.5.1", 1), ("28.0.0", 0), ("29.1.0", 0)])
def test_published_on_loopback_by_an_old_docker(version: str, count: int) -> None:
    found = [each for each in audit_findings(audit(version), host(published=(LOCAL,))) if "on loopback only" in each]
    assert len(found) == count
    assert all("Port 9000/tcp of container 'web'" in each for each in found)


def test_published_on_loopback_but_guarded() -> None:
    for given in (
        host(policy(ports=[9000]), published=(LOCAL,)),
        host(default="drop", published=(LOCAL,)),
        host(published=(replace(LOCAL, running=False),)),
    ):
        assert audit_findings(audit("26.1.5"), given) == ()
    said(audit_findings(audit("26.1.5"), BARE), "on loopback only")


def test_a_proxy_that_docker_does_not_tell_of() -> None:
    proxies = (listener(8443, "docker-proxy"), listener(8444, "docker-proxy", "::"), listener(1, "docker-proxy", "::1"))
    found = audit(listeners=proxies)

    said(audit_findings(found, host()), "docker-proxy listens on tcp [::]:8444")
    assert audit_findings(found, host(policy(ports=["8443-8444"]))) == ()
    said(audit_findings(found, replace(host(), docker=None)), "tcp 0.0.0.0:8443", "tcp [::]:8444")


def test_services_of_a_swarm() -> None:
    found = audit(services=SERVICES, swarm=ACTIVE)

    said(audit_findings(found, host()), "Port 8080/tcp of the Swarm service 'shop'")
    assert audit_findings(found, host(policy(ports=[8080]))) == ()
    assert audit_findings(found, host(default="drop")) == ()
    assert audit_facts(found, host(policy(ports=[8080])))["swarm"] == {
        "state": "active",
        "manager": True,
        "ports": [
            {"service": "shop", "protocol": "tcp", "port": 8080, "ingress": True, "policies": ["web"]},
            {"service": "shop", "protocol": "tcp", "port": 8081, "ingress": False, "policies": []},
        ],
    }


def test_containers_on_the_hosts_network() -> None:
    own = (listener(7070, "python3", container="agent"), listener(7071, "python3", "127.0.0.1", "agent"))
    found = audit(containers=[CONTAINER, ON_HOST], listeners=own)

    said(
        audit_findings(found, host(default="drop")),
        "Container 'agent' uses the host's network and listens on tcp 7070,",
    )
    assert audit_findings(found, host(policy(ports=[7070]))) == ()
    said(audit_findings(replace(found, listeners=()), host()), "only ports that a policy names are governed")


def test_networks_on_the_wire() -> None:
    said(audit_findings(audit(networks=[BRIDGE, WIRE]), host()), "Network 'lan' (macvlan)")


def test_ipv6_without_rules() -> None:
    off = replace(RUNNING, ip6tables=False)

    assert audit_findings(audit(daemon=off), host()) == ()
    said(audit_findings(audit(daemon=off), host(direct_access="return")), "(ip6tables is off)")
    said(audit_findings(audit(daemon=off), BARE), "containers in 'bridge' have IPv6")
    assert audit_findings(audit(daemon=off, networks=[{**BRIDGE, "EnableIPv6": False}]), BARE) == ()


def test_containers_that_docker_28_does_not_guard() -> None:
    bare = audit(ipv4=iptables(USER.format(JUMP)))

    said(audit_findings(bare, host(direct_access="return")), "Docker's drops in the table raw are missing")
    assert audit_findings(bare, host()) == ()
    assert audit_findings(replace(bare, answers=audit(containers=[]).answers), host(direct_access="return")) == ()
    assert audit_findings(audit(), host(direct_access="return")) == ()


def test_flowtables() -> None:
    """As libnftables-json(5) has it: one device is a string, more are a list."""
    objects = [
        {"metainfo": {"version": "1.1.3"}},
        {
            "flowtable": {
                "family": "inet",
                "name": "f",
                "table": "t",
                "handle": 1,
                "hook": "ingress",
                "prio": 0,
                "dev": "a",
            }
        },
        {"flowtable": {"family": "ip", "name": "g", "table": "t", "handle": 2, "dev": ["c", "b"]}},
        {"flowtable": {"family": "ip", "name": "h", "table": "t", "handle": 3}},
    ]
    found = parse_flowtables(json.dumps({"nftables": objects}))

    assert found == (
        Flowtable("inet", "t", "f", ("a",)),
        Flowtable("ip", "t", "g", ("b", "c")),
        Flowtable("ip", "t", "h", ()),
    )
    said(audit_findings(audit(flowtables=found[1:2]), host()), "Flowtable 'g' of table ip t (b, c) can take")


def test_a_policy_that_holds_for_a_process_of_the_host() -> None:
    found = audit(listeners=(listener(22, "sshd"), listener(22, "sshd", "::"), listener(8443, "dockerd")))

    assert audit_findings(found, host()) == ()
    said(audit_findings(found, host(policy(ports=[22, 8443]))), "Policy 'web' names tcp 22, on which 'sshd'")


def test_rules_in_front_of_docker() -> None:
    ahead = "".join(f"-A FORWARD -i e{number} -j ACCEPT\n" for number in range(5))
    found = audit(ipv4=iptables(RAW + USER.format("-A FORWARD -j ACCEPT\n" + JUMP)))

    said(audit_findings(found, host()), "In FORWARD (IPv4) rule 1: -j ACCEPT stands in front of Docker's jump")
    assert "Policies are not affected" in audit_findings(found, host())[0]
    assert "Policies" not in audit_findings(found, BARE)[0]
    many = audit_findings(audit(ipv6=iptables(USER.format(ahead + JUMP))), host())
    said(many, "3: -i e2 -j ACCEPT and 2 more stand in front")


def test_rules_of_users() -> None:
    unjumped = audit(ipv4=iptables(RAW + USER.format("-A DOCKER-USER -j DROP\n")))
    dead = audit(ipv6=iptables(USER.format(f"{JUMP}-A DOCKER-USER -j RETURN\n-A DOCKER-USER -j DROP\n")))
    one_family = audit(ipv4=iptables(RAW + USER.format(f"{JUMP}-A DOCKER-USER -j DROP\n")), ipv6=iptables(NAT))

    said(audit_findings(unjumped, host()), "FORWARD does not jump there")
    said(audit_findings(dead, host()), "In DOCKER-USER (IPv6) rule 2 (-j DROP) and what follows is never reached")
    said(audit_findings(one_family, host()), "makes no such chain for IPv6")


def test_a_policy_below_docker_user() -> None:
    rules = {version: user_rules(user_chains(declared(policy(ports=[8443])), {}, version)) for version in (4, 6)}
    given = Host(docker=Docker("28.5.2", published=(WEB,)), chains=rules)
    own = f"{JUMP}-A DOCKER-USER -j {ENTRY}\n"
    fine = audit(ipv4=iptables(RAW + USER.format(own)), ipv6=iptables(NAT))

    assert audit_findings(fine, given) == ()
    ahead = replace(fine, ipv4=iptables(RAW + USER.format(f"-A FORWARD -j ACCEPT\n{own}")))
    said(
        audit_findings(ahead, given), "so that DOCKER-USER, with it every policy, and Docker's own rules do not see it"
    )
    listening = audit_facts(replace(fine, listeners=(listener(8443, "docker-proxy"),)), given)["listeners"]
    assert [each["policies"] for each in listening] == [[]]  # chains below FORWARD have no say there


def test_a_table_that_iptables_cannot_read() -> None:
    found = audit(ipv4=iptables("# Table `filter' is incompatible, use 'nft' tool.\n" + RAW + NAT))
    said(audit_findings(found, host()), "cannot read its table 'filter' (IPv4)")


def test_rules_that_are_gone() -> None:
    flushed = audit(ipv4=iptables(RAW))

    said(audit_findings(flushed, host()), "somebody flushed them")
    assert audit_findings(flushed, host(published=())) == ()
    assert audit_findings(replace(flushed, daemon=replace(RUNNING, firewall_backend="nftables")), host()) == ()
    said(
        audit_findings(replace(flushed, legacy={4: ("filter", "nat"), 6: ()}), host()),
        "they are in the legacy tables",
        "Legacy iptables has tables, too (IPv4: filter, nat)",
    )


def test_legacy_tables_are_nothing_new_where_iptables_is_legacy() -> None:
    fine = audit(legacy={4: ("filter",), 6: None})

    said(audit_findings(fine, host()), "Legacy iptables has tables, too")
    assert fine.ipv4 is not None
    assert audit_findings(replace(fine, ipv4=replace(fine.ipv4, variant="legacy")), host()) == ()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"config": config_file(CONFIG_FILE, "{")}, "is not valid"),
        ({"config": config_file(CONFIG_FILE, "{}", newer=True)}, "is newer than the running Docker"),
        ({"conflicts": ("hosts",)}, "'hosts' is set on Docker's command line and in /etc/docker/daemon.json"),
        ({"iptables": False, "firewall_backend": "none"}, "served by docker-proxy only"),
        ({"iptables": False, "userland_proxy": False}, "no published port is reached"),
    ],
)
def test_settings(change: dict[str, t.Any], part: str) -> None:
    said(audit_findings(audit(daemon=replace(RUNNING, **change)), host()), part)


def test_the_keys_are_always_the_same() -> None:
    empty, full = audit_facts(Audit(), Host()), audit_facts(audit(), host())

    assert list(empty) == list(full)
    assert empty["iptables"] == {"ipv4": None, "ipv6": None}
    assert (empty["daemon"], empty["swarm"], empty["host_network_containers"]) == (None, None, None)
    assert full["swarm"] == {"state": "inactive", "manager": False, "ports": None}
    json.dumps([empty, full])


def test_policies_of_a_listener() -> None:
    policies = (policy("web", [443]), policy("one", [443], host_address="192.0.2.1"))
    here, there = listener(443, "nginx", "192.0.2.1"), listener(443, "nginx", "192.0.2.2")
    found = audit_facts(audit(listeners=(here, there, Listener(here.socket, None))), host(*policies))["listeners"]

    assert [each["policies"] for each in found] == [["one", "web"], ["web"], ["one", "web"]]
    assert [each["process"] for each in found] == ["nginx", "nginx", None]
    named = named_ports(table(*policies))
    assert (named("tcp", 443), named("udp", 443), named("tcp", 444), named_ports(None)("tcp", 443)) == (
        True,
        False,
        False,
        False,
    )
