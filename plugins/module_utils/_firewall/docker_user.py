# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The chains below DOCKER-USER that make a policy hold, for hosts that must have it there. Pure.

They mean the same as the table of :mod:`ruleset`, as far as DOCKER-USER sees a packet. Only words of iptables are
used: a rule that iptables cannot list keeps Docker from making its jump to DOCKER-USER (moby#48568). Every rule that
lets something pass does so by RETURN, to Docker's own rules.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import typing as t

from .model import PROTOCOLS, Around, Chain, NamedSet, Policy, Rule, Table, UserRules, Wanted
from .ruleset import DOCKER, comment, policy_chain, port_map, source_set

#: Docker's chain for the rules of others. FORWARD leads there first.
USER = "DOCKER-USER"
#: The chain that DOCKER-USER leads to, the one that follows Docker's networks, and those behind them.
ENTRY = "FABRIC-DOCKER"
BRIDGES = "FABRIC-BRIDGES"
INTO = "FABRIC-INTO"
PUBLISHED = "FABRIC-PUBLISHED"
_POLICY = "FABRIC-P-"
#: A chain's name ends in a zero byte within XT_EXTENSION_MAXNAMELEN, and has one byte less (iptables(8)).
_LONGEST = 28
#: The same for the prefix of LOG (linux/netfilter/xt_LOG.h).
_LONGEST_PREFIX = 29
_LOG_LIMIT = "--limit 5/second --limit-burst 10"

_DECISION = re.compile(r"(?P<protocol>\w+) (?P<ports>[\d-]+)(?: on (?P<address>\S+))?: (?P<policy>\S+) \[")
_DECIDES = re.compile(r"(?P<policy>\S+): (?:allowed|denied|a few)")
_ALLOWED = re.compile(r"(?P<policy>\S+): allowed (?P<source>\S+) \[")

#: Chains in the order in which they are written, with the rules of each.
UserChains = t.Tuple[t.Tuple[str, t.Tuple[Rule, ...]], ...]


def user_chain(policy: str) -> str:
    """Return the chain that decides on the sources of a policy; a long name ends in a digest of it."""
    room = _LONGEST - len(_POLICY)
    if len(policy) <= room:
        return _POLICY + policy
    digest = hashlib.sha256(policy.encode()).hexdigest()[:8]
    return f"{_POLICY}{policy[: room - len(digest) - 1]}-{digest}"


def is_ours(chain: str) -> bool:
    """Whether a chain is one of these, of whatever policy."""
    return chain in (ENTRY, BRIDGES, INTO, PUBLISHED) or chain.startswith(_POLICY)


def user_chains(want: Wanted, around: Around, version: int) -> UserChains:
    """Return the chains of one IP version that make ``want`` hold; the one that follows Docker is the last."""
    here = [policy for policy in want.policies if policy.version in (0, version)]
    return (
        (ENTRY, _tracked_rules(want)),
        (INTO, _into_rules(want)),
        (PUBLISHED, _published_rules(want, here)),
        *((user_chain(policy.name), _policy_rules(policy, version)) for policy in here),
        (BRIDGES, bridge_rules(around)),
    )


def _tracked_rules(want: Wanted) -> tuple[Rule, ...]:
    rules = [
        Rule("-m conntrack --ctdir REPLY -j RETURN", "replies"),
        Rule("-m conntrack --ctstate RELATED -j RETURN", "errors about connections"),
    ]
    if not want.cut_existing:
        rules.append(Rule("-m conntrack --ctstate ESTABLISHED -j RETURN", "connections that were there before"))
    return (*rules, Rule(f"-g {BRIDGES}", "to or from containers"))


def bridge_rules(around: Around) -> tuple[Rule, ...]:
    """Return the rules that follow Docker's networks. Nothing else does, and these do not follow the policy."""
    bridges = sorted(around.get(DOCKER, ()))
    return (
        *(Rule(f"-i {bridge} -j RETURN", "from containers") for bridge in bridges),
        *(Rule(f"-o {bridge} -g {INTO}", "to containers") for bridge in bridges),
    )


def _into_rules(want: Wanted) -> tuple[Rule, ...]:
    states = "NEW,ESTABLISHED,UNTRACKED" if want.cut_existing else "NEW,UNTRACKED"
    direct = (Rule(f"-m conntrack --ctstate {states} -j DROP", "straight to a container"),) if want.drop_direct else ()
    return (Rule(f"-m conntrack --ctstate DNAT -g {PUBLISHED}", "through a published port"), *direct)


def _published_rules(want: Wanted, policies: t.Sequence[Policy]) -> tuple[Rule, ...]:
    # One address decides before all of them.
    ordered = sorted(policies, key=lambda policy: policy.version == 0)
    rules = [_decision(policy, str(ports)) for policy in ordered for ports in policy.ports]
    if want.drop_unnamed:
        rules.append(Rule("-j DROP", "published ports that no policy names"))
    return tuple(rules)


def _decision(policy: Policy, ports: str) -> Rule:
    address = f"--ctorigdst {policy.host_address} " if policy.host_address else ""
    original = f"{address}--ctorigdstport {ports.replace('-', ':')} --ctdir ORIGINAL"
    on = f" on {policy.host_address}" if policy.host_address else ""
    return Rule(
        f"-p {policy.protocol} -m conntrack {original} -g {user_chain(policy.name)}",
        f"{policy.protocol} {ports}{on}: {policy.name}",
    )


def _policy_rules(policy: Policy, version: int) -> tuple[Rule, ...]:
    name = policy.name
    rules = [
        Rule(f"-s {source} -j RETURN", f"{name}: allowed {source}")
        for element in (policy.sources_4 if version == 4 else policy.sources_6)
        for source in networks(element)
    ]
    if policy.log:
        prefix = f"docker_firewall {name}"[: _LONGEST_PREFIX - 2]
        text = f'-m limit {_LOG_LIMIT} -j LOG --log-prefix "{prefix}: "'
        rules.append(Rule(text, f"{name}: a few of the denied are logged"))
    rules.append(Rule("-j DROP", f"{name}: denied"))
    return tuple(rules)


def networks(element: str) -> tuple[str, ...]:
    """Return an element of :func:`addresses.merged` as networks: iptables knows no ranges without a match of theirs."""
    first, dash, last = element.partition("-")
    if not dash:
        return (element,)
    ends = (ipaddress.ip_address(first), ipaddress.ip_address(last))
    return tuple(map(str, ipaddress.summarize_address_range(*ends)))


def user_rules(chains: UserChains) -> UserRules:
    """Return the same as the kernel has it once it is loaded."""
    return UserRules({name: tuple(comment(rule) for rule in rules) for name, rules in chains}, (1,))


def policy_of(text: str) -> str:
    """Return the policy that a rule with this comment came from; empty when it came from none."""
    match = _DECISION.match(text) or _DECIDES.match(text)
    return match["policy"] if match else ""


def as_table(found: t.Mapping[int, UserRules]) -> Table | None:
    """Return what the chains of both IP versions decide, in the words of :mod:`ruleset`'s table; None without any."""
    if not any(ENTRY in rules.chains for rules in found.values()):
        return None
    chains = {
        name: Chain(name, "", _of_all(found, chain))
        for name, chain in (("forward", ENTRY), ("into", INTO), ("published", PUBLISHED))
    }
    sets: dict[str, set[str]] = {port_map(protocol, version): set() for protocol in PROTOCOLS for version in (0, 4, 6)}
    for match in filter(None, map(_DECISION.match, chains["published"].rules)):
        policy, address = match["policy"], match["address"]
        version = 0 if not address else 6 if ":" in address else 4
        key = f"{address} . {match['ports']}" if address else match["ports"]
        sets[port_map(match["protocol"], version)].add(f"{key} : goto {policy_chain(policy)}")
        chains[policy_chain(policy)] = Chain(policy_chain(policy), "", _of_all(found, user_chain(policy)))
        sets[source_set(policy, 4)] = set()
        sets[source_set(policy, 6)] = set()
    for version, rules in found.items():
        for match in filter(None, map(_ALLOWED.match, (each for chain in rules.chains.values() for each in chain))):
            sets.setdefault(source_set(match["policy"], version), set()).add(match["source"])
    return Table(chains, {name: NamedSet(name, "", elements=frozenset(elements)) for name, elements in sets.items()})


def _of_all(found: t.Mapping[int, UserRules], chain: str) -> tuple[str, ...]:
    # Those of one version may be missing or damaged; each rule counts once.
    rules = (rule for version in sorted(found) for rule in found[version].chains.get(chain, ()))
    return tuple(dict.fromkeys(rules))
