# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What people see of a firewall, also of one that somebody has damaged."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.docker_facts import docker
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.findings import findings
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.model import Published, Table
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.picture import draw
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.places import LOADER, WATCHER
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.ruleset import blueprint
from tests.unit.firewall.declared import declared, policy

AROUND = {"docker": frozenset(("docker0",)), "foreign": frozenset(("virbr0",))}
PUBLISHED = [Published("web", "tcp", 443), Published("db", "tcp", 5432), Published("own", "tcp", 80, "127.0.0.1", (4,))]


def host(*policies: dict[str, object], **options: object) -> Host:
    return Host(
        around=AROUND,
        docker=docker({"ServerVersion": "26.1.5"}, [], PUBLISHED),
        table=blueprint(declared(*policies, **options), AROUND).table,
        enabled=frozenset((LOADER, WATCHER)),
        active=frozenset((LOADER, WATCHER)),
    )


def test_a_policy_is_drawn_in_a_line() -> None:
    web = policy(ports=[443, "8000-8010"], allow_from=["192.0.2.1", "2001:db8::/32"], log=True)
    one = policy("dns", [53], protocol="udp", host_address="2001:db8::1")
    assert draw(host(web, one, default="drop")).splitlines() == [
        "Docker's bridges: docker0",
        "dns: udp [2001:db8::1]:53 from nobody",
        "web: tcp 443, tcp 8000-8010 from 192.0.2.1, 2001:db8::/32, denied ones are logged",
        "other published ports: from nobody",
        "straight to containers: from nobody",
        "connections that were there before: kept",
    ]


def test_many_sources_are_counted() -> None:
    many = policy(allow_from=[f"192.0.2.{2 * number}" for number in range(40)])
    assert "and 28 more" in draw(host(many))


def test_what_nobody_decided_on_is_told_once() -> None:
    assert findings(host(policy())) == (
        "Port 5432/tcp of container 'db' is named by no policy, and open to everybody.",
    )
    assert findings(host(policy(), default="drop")) == ()


def test_a_damaged_table_is_told_and_drawn() -> None:
    whole = host(policy())
    assert whole.table is not None
    for chain in whole.table.chains:
        chains = {name: each for name, each in whole.table.chains.items() if name != chain}
        damaged = replace(whole, table=Table(chains, {}))
        assert draw(damaged)
        told = " ".join(findings(damaged))
        assert ("has lost its chain" in told) == (chain in ("forward", "input"))


def test_no_policy_is_the_worst() -> None:
    assert findings(replace(host(), table=None))[0].startswith("No policy is loaded: every published port is open")
