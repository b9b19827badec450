# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What iptables-save printed on hosts with Docker 20.10, 26.1 and 28.5, and what the order of its rules means.

``captured`` holds outputs of hosts with a container on a network of its own; *crowded* ones also have rules of others.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.auditing.forward_order import (
    Docker,
    Order,
    order,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.formats.iptables_text import (
    LEGACY,
    NFT,
    Match,
    Saved,
    parse_rule,
    parse_save,
)

CAPTURED = Path(__file__).parent / "captured"
VERSIONS = ("20.10", "26.1", "28.5")
DOCKER = Docker(frozenset(("docker0", "br-shop")), ("172.17.0.0/16", "2001:db8:c0::/64"))


def saved(name: str) -> Saved:
    return parse_save((CAPTURED / name).read_text())


def ordered(*rules: str, policy: str = "ACCEPT", more: str = "", docker: Docker = DOCKER) -> Order:
    """The order of a filter table with these rules in FORWARD in front of Docker's jump."""
    lines = "".join(f"-A FORWARD {rule}\n" for rule in (*rules, "-j DOCKER-USER"))
    text = f"*filter\n:FORWARD {policy} [0:0]\n:DOCKER-USER - [0:0]\n{lines}{more}COMMIT\n"
    return order(parse_save(text), docker)


def numbers(found: Order) -> list[int]:
    return [each.number for each in found.ahead]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("setting", ["ip6tables", "ip6tables-off"])
def test_docker_as_it_is_installed_has_nothing_in_front_of_it(version: str, setting: str) -> None:
    listing = saved(f"{version}-{setting}.iptables-save")
    found = order(listing, DOCKER)

    assert (listing.variant, listing.unreadable) == (NFT, ())
    assert (found.user_chain, found.user_jump, found.docker_jump) == (True, 1, 1)
    assert (found.forward_policy, found.input_policy, found.translates) == ("ACCEPT", "ACCEPT", True)
    assert (found.ahead, found.own, found.dead) == ((), (), ())


@pytest.mark.parametrize(("version", "drops"), [("20.10", 0), ("26.1", 0), ("28.5", 2)])
def test_docker_guards_containers_in_the_table_raw_since_28(version: str, drops: int) -> None:
    assert order(saved(f"{version}-ip6tables.iptables-save"), DOCKER).raw_drops == drops


@pytest.mark.parametrize(("version", "chain"), [("20.10", False), ("26.1", True), ("28.5", True)])
def test_docker_20_10_has_no_chain_for_users_in_ipv6(version: str, chain: bool) -> None:
    found = order(saved(f"{version}-ip6tables.ip6tables-save"), DOCKER)

    assert (found.translates, found.docker_jump, found.forward_policy) == (True, 1, "DROP")
    assert (found.user_chain, found.user_jump) == (chain, 1 if chain else None)


def test_nothing_is_printed_of_a_family_without_tables() -> None:
    assert parse_save("") == Saved()
    found = order(Saved(), DOCKER)
    assert (found.forward_policy, found.user_chain, found.user_jump, found.translates) == (None, False, None, False)


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_rules_of_others_in_front_of_docker(version: str) -> None:
    found = order(saved(f"{version}-crowded.iptables-save"), Docker())

    assert (found.user_jump, found.docker_jump) == (5, 5)
    # Docker's bridges are not known here, so that whatever leads to some interface counts; see the next test.
    assert numbers(found) == [1, 3, 4]
    assert found.ahead[2].rule.text == r'-i core -m comment --comment "the \"old\" one" -j ACCEPT'


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_rules_that_lead_elsewhere_are_not_in_front_of_docker(version: str) -> None:
    found = order(saved(f"{version}-crowded.iptables-save"), DOCKER)

    assert [each.rule.target for each in found.ahead] == ["ts-forward", "ACCEPT"]
    assert [each.rule.text for each in found.own] == [
        "-s 198.51.100.0/24 -j DROP",
        "-p tcp -m multiport --dports 80,443 -j DROP",
    ]
    assert [each.number for each in found.dead] == [3]


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_a_table_with_rules_of_nft_is_told(version: str) -> None:
    listing = saved(f"{version}-unreadable.iptables-save")

    assert (listing.unreadable, "filter" in listing.tables) == (("filter",), False)
    assert order(listing, DOCKER).translates


@pytest.mark.parametrize("version", VERSIONS[:2])
def test_the_legacy_variant_is_told(version: str) -> None:
    assert saved(f"{version}-legacy.iptables-save").variant == LEGACY


@pytest.mark.parametrize(
    "rule",
    [
        "-j ACCEPT",
        "-i uplink -j ACCEPT",
        "! -i docker0 -j ACCEPT",
        "-o br-+ -j ACCEPT",
        "! -o uplink -j ACCEPT",
        "-d 172.17.0.2/32 -p tcp -m tcp --dport 443 -j ACCEPT",
        "-m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT",
        "! -p icmp -j ACCEPT",
        "-m set --match-set friends src -j ACCEPT",
        "-j RETURN",
        "-j first",
        "-g second",
    ],
)
def test_may_accept_what_goes_to_a_published_port(rule: str) -> None:
    chains = "-A first -p icmp -j ACCEPT\n-A first -j second\n-A second -s 192.0.2.0/24 -j ACCEPT\n"
    assert numbers(ordered("-i docker0 -j ACCEPT", rule, more=chains)) == [2]


@pytest.mark.parametrize(
    "rule",
    [
        "-j DROP",
        "-j LOG --log-prefix ACCEPT",
        "-i docker0 -j ACCEPT",
        "-i lo -j ACCEPT",
        "-o uplink -j ACCEPT",
        "-o virbr+ -j ACCEPT",
        "-d 198.51.100.0/24 -j ACCEPT",
        "-p icmp -j ACCEPT",
        "-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT",
        "-m state --state ESTABLISHED -j ACCEPT",
        "-j returns",
        "-j loops",
        "-i docker0 -j accepts",
        "-j nowhere",
    ],
)
def test_accepts_nothing_that_goes_to_a_published_port(rule: str) -> None:
    chains = "-A returns -j RETURN\n-A loops -j loops\n-A accepts -j ACCEPT\n"
    assert numbers(ordered(rule, more=chains)) == []


def test_a_return_leads_to_the_policy() -> None:
    assert numbers(ordered("-j RETURN", policy="DROP")) == []
    assert numbers(ordered("-g ends", policy="ACCEPT", more="-A ends -j RETURN\n")) == [1]
    assert numbers(ordered("-g ends", policy="DROP", more="-A ends -j RETURN\n")) == []


def test_behind_what_ends_the_chain_of_users_nothing_is_reached() -> None:
    more = "-A DOCKER-USER -s 192.0.2.1/32 -j RETURN\n-A DOCKER-USER -m comment --comment all -j RETURN\n"
    found = ordered(more=more + "-A DOCKER-USER -j DROP\n-A DOCKER-USER -j RETURN\n")

    assert [each.number for each in found.own] == [1, 3]
    assert [each.number for each in found.dead] == [3]


def test_a_rule_with_all_that_is_understood() -> None:
    rule = parse_rule("-d 192.0.2.0/24 -i a+ ! -o b -p tcp -m state --state NEW -m tcp --dport 1 -g chain -j x")

    assert (rule.destination, rule.inbound, rule.outbound) == (Match("192.0.2.0/24"), Match("a+"), Match("b", True))
    assert (rule.protocol, rule.states, rule.target, rule.goto) == (Match("tcp"), Match("NEW"), "chain", True)
    assert rule.more
    assert not rule.always
    assert not parse_rule("! -i a -j DROP").always
    assert parse_rule("").always


@given(st.text(alphabet='-Aij! "\\oFORWACEPT[0:]*#\n', max_size=60))
def test_no_text_breaks_the_parser(text: str) -> None:
    order(parse_save(f"*filter\n:FORWARD ACCEPT [0:0]\n{text}"), DOCKER)
