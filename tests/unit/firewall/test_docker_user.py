"""The chains below DOCKER-USER: what they say, what is loaded, what iptables prints, and what they do not see."""

from __future__ import annotations

import re
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.auditing.sockets import Socket
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.coverage import covering
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.docker_user import (
    as_table,
    networks,
    user_chain,
    user_chains,
    user_rules,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.findings import findings
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.formats.iptables_text import Saved, parse_save
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.formats.restore_text import (
    NOTHING,
    as_kept,
    blamed,
    bridges_of,
    expected,
    kept,
    rules_of,
    transaction,
    with_bridges,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.gaps import gaps
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.model import (
    Docker,
    Gap,
    Published,
    UserRules,
    Wanted,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.picture import draw
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.planning import plan_firewall
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.ruleset import blueprint
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.steps import (
    ArmUndo,
    DeleteRules,
    DeleteTable,
    LoadRules,
    LoadTable,
)
from tests.unit.firewall.declared import declared, policy, wishes

AROUND = {"docker": frozenset(("docker0", "br-shop"))}
CAPTURED = Path(__file__).parent / "captured"
#: What Docker has before anybody else came.
DOCKERS = parse_save(
    "*filter\n:FORWARD DROP [0:0]\n:DOCKER-USER - [0:0]\n-A FORWARD -j DOCKER-USER\n-A DOCKER-USER -j RETURN\nCOMMIT\n"
)
EMPTY = Saved()


def carried_out(text: str, saved: Saved) -> Saved:
    """What the table is once iptables-restore has read a text; it refuses what the real one refuses."""
    table = {name: [rule.text for rule in chain.rules] for name, chain in saved.tables.get("filter", {}).items()}
    policies = {name: chain.policy for name, chain in saved.tables.get("filter", {}).items()}
    for line in text.splitlines():
        verb, _blank, rest = line.partition(" ")
        chain, _blank, rule = rest.partition(" ")
        if line.startswith(":"):
            name = verb[1:]
            assert name != "DOCKER-USER" or name not in table, "it would be flushed"
            table[name] = []
        elif verb == "-A":
            table[chain].append(rule)
        elif verb == "-D":
            table[chain].remove(rule)
        elif verb == "-I":
            number, _blank, inserted = rule.partition(" ")
            table[chain].insert(int(number) - 1, inserted)
        elif verb == "-X":
            assert not table.pop(chain), f"{chain} is not empty"
            assert not any(f" {chain}" in f" {each}" for rules in table.values() for each in rules), f"{chain} is used"
        else:
            assert verb in ("#", "*filter", "COMMIT")
    lines = [f":{name} {policies.get(name) or '-'} [0:0]" for name in table]
    lines += [f"-A {name} {rule}" for name, rules in table.items() for rule in rules]
    return parse_save("\n".join(("*filter", *lines, "COMMIT")))


def foreign(saved: Saved) -> dict[str, list[str]]:
    """All rules that are not ours."""
    return {
        name: [rule.text for rule in chain.rules if "FABRIC-" not in rule.text]
        for name, chain in saved.tables.get("filter", {}).items()
        if "FABRIC-" not in name
    }


@settings(max_examples=25)
@given(wishes(), wishes(), st.sampled_from([DOCKERS, EMPTY]), st.sampled_from([4, 6]))
def test_a_transaction_leads_from_any_policy_to_any_other_and_to_none(
    old: Wanted, new: Wanted, start: Saved, version: int
) -> None:
    saved = start
    for want in (old, new):
        chains = user_chains(want, AROUND, version)
        saved = carried_out(transaction(kept(chains), saved), saved)
        assert rules_of(saved) == user_rules(chains) == expected(kept(chains))
        assert foreign(saved) == (foreign(start) or {"DOCKER-USER": []})
        assert rules_of(carried_out(transaction(as_kept(saved), start), start)) == user_rules(chains)
    saved = carried_out(transaction(NOTHING, saved), saved)
    assert rules_of(saved) is None
    assert foreign(saved) == foreign(start)


@settings(max_examples=25)
@given(wishes())
def test_the_chains_mean_what_the_table_means(want: Wanted) -> None:
    mine = as_table({version: user_rules(user_chains(want, AROUND, version)) for version in (4, 6)})
    assert mine is not None
    table = blueprint(want, AROUND).table
    for port in range(900, 6000, 100):
        for protocol in ("tcp", "udp", "sctp"):
            published = Published("web", protocol, port)
            assert covering(mine, published) == covering(table, published)
    drawn = [draw(Host(around=AROUND, table=one)) for one in (mine, table)]
    assert drawn[0] == drawn[1]


def test_every_rule_that_lets_something_pass_returns_and_none_accepts() -> None:
    want = declared(policy(allow_from=["192.0.2.1"], log=True), default="drop", cut_existing=True)
    rules = [rule.text for _name, rules in user_chains(want, AROUND, 4) for rule in rules]
    assert {re.split(r"-[jg] ", rule)[-1].split()[0] for rule in rules} == {
        "RETURN",
        "DROP",
        "LOG",
        "FABRIC-BRIDGES",
        "FABRIC-INTO",
        "FABRIC-PUBLISHED",
        "FABRIC-P-web",
    }
    assert not any("ESTABLISHED -j RETURN" in rule for rule in rules)


def test_a_policy_for_one_address_decides_first_and_in_its_own_family_only() -> None:
    want = declared(policy("all"), policy("one", host_address="192.0.2.1"))
    published = dict(user_chains(want, AROUND, 4))["FABRIC-PUBLISHED"]
    assert [rule.says for rule in published] == ["tcp 443 on 192.0.2.1: one", "tcp 443: all"]
    assert "--ctorigdst 192.0.2.1 --ctorigdstport 443 --ctdir ORIGINAL -g FABRIC-P-one" in published[0].text
    assert "FABRIC-P-one" not in dict(user_chains(want, AROUND, 6))


def test_names_fit_where_iptables_keeps_them() -> None:
    names = ["x" * length for length in range(1, 33)] + ["x" * 31 + "y"]
    chains = {user_chain(name) for name in names}
    assert len(chains) == len(names)
    assert max(map(len, chains)) == 28
    want = declared(policy("x" * 32, log=True))
    (logged,) = [rule for rule in dict(user_chains(want, AROUND, 4))[user_chain("x" * 32)] if "LOG" in rule.text]
    prefix = re.search(r'"(.*)"', logged.text)
    assert prefix
    assert len(prefix[1]) == 29


@pytest.mark.parametrize(
    ("element", "found"),
    [
        ("192.0.2.1", ("192.0.2.1",)),
        ("192.0.2.0/24", ("192.0.2.0/24",)),
        ("192.0.2.1-192.0.2.4", ("192.0.2.1/32", "192.0.2.2/31", "192.0.2.4/32")),
        ("2001:db8::-2001:db8::2", ("2001:db8::/127", "2001:db8::2/128")),
    ],
)
def test_ranges_become_networks(element: str, found: tuple[str, ...]) -> None:
    assert networks(element) == found


def test_other_bridges_change_one_chain_and_nothing_else() -> None:
    text = kept(user_chains(declared(policy()), AROUND, 4))
    more = {"docker": AROUND["docker"] | {"br-new"}}
    assert bridges_of(text) == AROUND
    assert with_bridges(text, more) == kept(user_chains(declared(policy()), more, 4))
    assert with_bridges(with_bridges(text, more), AROUND) == text
    assert with_bridges(NOTHING, more) == NOTHING


def test_a_jump_that_somebody_moved_stays_for_the_watcher_and_comes_first_for_the_module() -> None:
    text = kept(user_chains(declared(policy()), AROUND, 4))
    saved = carried_out(transaction(text, DOCKERS), DOCKERS)
    moved = carried_out("-D DOCKER-USER -j FABRIC-DOCKER\n-I DOCKER-USER 2 -j FABRIC-DOCKER\n", saved)
    again = carried_out(transaction(text, moved, move=False), moved)
    assert [rules.jumps for rules in map(rules_of, (saved, moved, again)) if rules] == [(1,), (2,), (2,)]
    first = rules_of(carried_out(transaction(text, moved), moved))
    assert first is not None
    assert first.jumps == (1,)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            'iptables-restore v1.8.9 (nf_tables): unknown option "--sport"\nError occurred at line: 3\nTry `x',
            "policy 'web', line 3 (-A FABRIC-P-web -m comment --comment \"web: denied [12345678]\" -j DROP): "
            'unknown option "--sport"',
        ),
        (
            "iptables-restore v1.8.11 (nf_tables): \nline 3: RULE_APPEND failed (Invalid argument)",
            "policy 'web', line 3 (-A FABRIC-P-web -m comment --comment \"web: denied [12345678]\" -j DROP): "
            " line 3: RULE_APPEND failed (Invalid argument)",
        ),
        ("iptables-restore v1.8.9 (nf_tables): Set x doesn't exist.\n", "Set x doesn't exist."),
    ],
)
def test_a_refusal_names_the_policy_of_its_line(message: str, words: str) -> None:
    text = '*filter\n:FABRIC-P-web - [0:0]\n-A FABRIC-P-web -m comment --comment "web: denied [12345678]" -j DROP\n'
    assert blamed(message, text) == words


def captured(name: str) -> dict[int, Saved]:
    """What iptables-save printed beside a real Docker."""
    found = {}
    for version, program in ((4, "iptables-save"), (6, "ip6tables-save")):
        path = CAPTURED / f"{name}.{program}"
        found[version] = parse_save(path.read_text()) if path.exists() else Saved()
    return found


def kinds(found: t.Iterable[Gap]) -> list[tuple[str, int]]:
    return [(gap.kind, gap.version) for gap in found]


@pytest.mark.parametrize(
    ("name", "version", "found"),
    [
        ("20.10-ip6tables", "20.10.24+dfsg1", [("no_jump", 6), ("network_create", 0)]),
        ("20.10-ip6tables-off", "20.10.24+dfsg1", [("no_jump", 6), ("network_create", 0)]),
        ("26.1-ip6tables", "26.1.5+dfsg1", [("network_create", 0)]),
        ("26.1-ip6tables-off", "26.1.5+dfsg1", [("no_jump", 6), ("network_create", 0)]),
        ("28.5-ip6tables", "28.5.2+dfsg3", []),
    ],
)
def test_gaps_of_each_docker(name: str, version: str, found: list[tuple[str, int]]) -> None:
    assert kinds(gaps(captured(name), Docker(version), (), firewalld=False)) == found


def test_ports_of_docker_proxy_are_those_that_nobody_translates() -> None:
    saved = {
        4: parse_save(
            "*nat\n:DOCKER - [0:0]\n-A DOCKER ! -i docker0 -p tcp -m tcp --dport 8443 -j DNAT --to 172.17.0.2\n"
        ),
        6: Saved(),
    }
    proxies = [Socket("tcp", 8443, "0.0.0.0", 1), Socket("tcp", 8443, "::", 2), Socket("udp", 53, "0.0.0.0", 3)]
    found = gaps(saved, None, proxies, firewalld=True)
    assert found == (
        Gap("docker_proxy", 4, ("udp 53",)),
        Gap("docker_proxy", 6, ("tcp 8443",)),
        Gap("firewalld_reload"),
    )
    chains = {4: user_rules(user_chains(declared(policy()), AROUND, 4)), 6: UserRules()}
    told = findings(Host(chains=chains, gaps=found))
    assert told[0].startswith("The chains of the policy, or the jump to them, are missing (IPv6)")
    assert told[1].startswith("docker-proxy serves udp 53 over IPv4 as a process of the host")


def test_rules_that_accept_before_docker_user_are_told() -> None:
    text = (
        "*filter\n:FORWARD DROP [0:0]\n:DOCKER-FORWARD - [0:0]\n:DOCKER-USER - [0:0]\n-A FORWARD -j DOCKER-FORWARD\n"
        "-A FORWARD -j DOCKER-USER\n-A DOCKER-FORWARD -o docker0 -j ACCEPT\nCOMMIT\n"
    )
    found = gaps({4: parse_save(text)}, Docker("28.5.2"), (), firewalld=False)
    assert kinds(found) == [("accepted_ahead", 4)]
    chains = {4: user_rules(user_chains(declared(policy()), AROUND, 4))}
    assert any("in front of the jump to DOCKER-USER" in told for told in findings(Host(chains=chains, gaps=found)))


def test_a_docker_that_knows_no_such_chain_is_refused() -> None:
    host = Host(around=AROUND, docker=Docker("29.0.0", backend="nftables+firewalld"))
    with pytest.raises(Refusal, match="knows no chain DOCKER-USER"):
        plan_firewall(host, declared(policy(), backend="docker_user"), "")
    assert plan_firewall(host, declared(policy()), "")


def test_the_new_backend_comes_before_the_old_one_goes_and_an_undo_the_other_way_round() -> None:
    table = Host(around=AROUND, table=blueprint(declared(policy()), AROUND).table)
    chains = replace(table, table=None, chains={4: user_rules(user_chains(declared(policy()), AROUND, 4))})
    there = [type(step) for step in plan_firewall(table, declared(policy(), backend="docker_user"), "")]
    assert there.index(LoadRules) < there.index(DeleteTable)
    back = [type(step) for step in plan_firewall(chains, declared(policy()), "")]
    assert back.index(LoadTable) < back.index(DeleteRules)
    arm = plan_firewall(chains, declared(policy(), confirm_timeout=60), "")[0]
    assert isinstance(arm, ArmUndo)
    script = arm.commands[-1][-1]
    assert script.index("undo.v4") < script.index("undo.nft")
