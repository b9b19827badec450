# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The table that makes a policy hold. Pure.

The table stands beside Docker's rules and in front of them: its base chains come one priority before the filter
hooks, where Docker's and everybody's iptables rules are (nft(8), "Base chains"). It only ever drops; what it lets
pass meets all other rules as before.

A connection to a published port is one that was DNATed on its way into one of Docker's bridges; its port is that of
the original destination, before DNAT. Where docker-proxy takes the connection instead there is no DNAT, the packet
goes to a process of the host, and the input hook sees it. Outgoing connections and replies are neither.
"""

from __future__ import annotations

import functools
import hashlib
import typing as t
from dataclasses import dataclass

from .model import PROTOCOLS, Around, Chain, NamedSet, Policy, Rule, Table, Wanted

FAMILY = "inet"
NAME = "docker_firewall"
TABLE = f"{FAMILY} {NAME}"
#: Says the same as the table, and is in force while that is replaced.
NEXT = f"{NAME}_next"
#: Closes what the policies name while everything is flushed and loaded anew (see :mod:`flush_guard`).
GUARD = f"{NAME}_guard"
#: What is there for a moment only, unless whoever made it was killed.
PASSING = (NEXT, GUARD)
#: Written into the table for those who meet it in a listing.
SIGN = "Docker's published ports; made by baremetal.fabric.docker_firewall"

DOCKER = "docker"
FOREIGN = "foreign"
SERVED = "served"

#: ``{}`` is forward or input. One before filter, which is 0 in these families (nft(8), "Standard priority names").
HOOK = "type filter hook {} priority filter - 1; policy accept;"
#: The same as :mod:`nft_json` reads it back.
HOOKED = "filter {} -1 accept"

_LOG_RATE = "limit rate 5/second burst 10 packets"


def policy_chain(name: str) -> str:
    """The chain that decides on the sources of a policy."""
    return f"policy_{name}"


def source_set(name: str, version: int) -> str:
    """The set of the sources that a policy allows."""
    return f"from{version}_{name}"


def port_map(protocol: str, version: int) -> str:
    """The map from host port (and, with a version, host address) to policy."""
    return f"{protocol}_ports" if version == 0 else f"{protocol}_ports_{version}"


def comment(rule: Rule) -> str:
    """Return what stands behind a rule: its meaning, and a digest of its text, by which it is known again."""
    return f"{rule.says} [{hashlib.sha256(rule.text.encode()).hexdigest()[:8]}]"


@dataclass(frozen=True)
class Blueprint:
    """A table to be made: chains with the text of their rules, and sets."""

    chains: tuple[tuple[str, str, tuple[Rule, ...]], ...]
    sets: tuple[NamedSet, ...]
    owners: t.Mapping[str, str]

    @property
    def keys(self) -> t.Mapping[str, str]:
        """The types of the sets, by name."""
        return {each.name: each.key for each in self.sets}

    @functools.cached_property
    def table(self) -> Table:
        """The table as the kernel has it once it is loaded."""
        return Table(
            chains={
                name: Chain(name, HOOKED.format(hook) if hook else "", tuple(comment(rule) for rule in rules))
                for name, hook, rules in self.chains
            },
            sets={each.name: each for each in self.sets},
        )


def port_key(version: int) -> str:
    """Return what a port map is looked up with."""
    address = {0: "", 4: "ct original ip daddr . ", 6: "ct original ip6 daddr . "}[version]
    return f"{address}ct original proto-dst"


def _service(version: int) -> str:
    return {0: "inet_service", 4: "ipv4_addr . inet_service", 6: "ipv6_addr . inet_service"}[version]


def _used(policies: t.Iterable[Policy]) -> list[tuple[str, int]]:
    """The port maps there are, as (protocol, version), those of single addresses first: they decide before the rest."""
    found = {(policy.protocol, policy.version) for policy in policies}
    return [(protocol, version) for protocol in PROTOCOLS for version in (4, 6, 0) if (protocol, version) in found]


def _policy_rules(policy: Policy) -> tuple[Rule, ...]:
    name = policy.name
    rules = [
        Rule(f"ip saddr @{source_set(name, 4)} return", f"{name}: allowed", name),
        Rule(f"ip6 saddr @{source_set(name, 6)} return", f"{name}: allowed", name),
    ]
    if policy.log:
        rules.append(Rule(f'{_LOG_RATE} log prefix "{NAME} {name}: "', f"{name}: a few of the denied are logged", name))
    rules.append(Rule("counter drop", f"{name}: denied", name))
    return tuple(rules)


def tracked_rules(want: Wanted) -> tuple[Rule, ...]:
    """Return what lets pass that opens nothing."""
    rules = [
        Rule("ct direction reply return", "replies"),
        Rule("ct state related return", "errors about connections"),
    ]
    if not want.cut_existing:
        rules.append(Rule("ct state established return", "connections that were there before"))
    return tuple(rules)


def _named_rules(want: Wanted) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            f"meta l4proto {protocol} {port_key(version)} vmap @{port_map(protocol, version)}",
            "ports that a policy names" + (", on one address" if version else ""),
        )
        for protocol, version in _used(want.policies)
    )


def served_rules(group: str) -> tuple[Rule, ...]:
    """Return what closes the ports that docker-proxy serves and no policy names.

    docker-proxy is a child of dockerd, and nothing else that listens is in the control ``group`` of Docker's service
    but dockerd itself: containers have groups of their own. So its sockets are known by where they belong, whatever
    their ports are (nft(8), "socket expression"). The kernel resolves the path when the rule is loaded; without a
    group, as while Docker is off, there is nothing to close.
    """
    if not group:
        return ()
    path = group.strip("/")
    level = len(path.split("/"))
    text = f'ct state new,untracked socket cgroupv2 level {level} "{path}" counter drop'
    return (Rule(text, "what Docker itself serves and no policy names"),)


def opening(want: Wanted) -> str:
    """Return what matches packets that need a permission."""
    return f"ct state {'new,established,untracked' if want.cut_existing else 'new,untracked'}"


def _chains(want: Wanted, group: str) -> t.Iterator[tuple[str, str, tuple[Rule, ...]]]:
    for policy in want.policies:
        yield policy_chain(policy.name), "", _policy_rules(policy)
    unnamed = (Rule("counter drop", "published ports that no policy names"),) if want.drop_unnamed else ()
    yield "published", "", _named_rules(want) + unnamed
    direct = (Rule(f"{opening(want)} counter drop", "straight to a container"),) if want.drop_direct else ()
    yield "into", "", (Rule("ct status dnat goto published", "through a published port"), *direct)
    yield (
        "forward",
        "forward",
        (
            Rule(f"iifname @{DOCKER} return", "from containers"),
            *tracked_rules(want),
            Rule(f"oifname @{DOCKER} goto into", "to containers"),
            # A network that Docker has just made: until it is known, its published ports are not open to all.
            Rule(
                f'meta oifkind "bridge" oifname != @{FOREIGN} ct status dnat goto published',
                "to a bridge that nobody knows yet",
            ),
        ),
    )
    if want.drop_unnamed:
        yield SERVED, "", served_rules(group)
    yield (
        "input",
        "input",
        (
            Rule('iifname "lo" return', "from the host itself"),
            Rule(f"iifname @{DOCKER} return", "from containers"),
            *tracked_rules(want),
            *_named_rules(want),
            *((Rule(f"goto {SERVED}", "the rest"),) if want.drop_unnamed else ()),
        ),
    )


def _port_elements(policies: t.Iterable[Policy], protocol: str, version: int) -> frozenset[str]:
    return frozenset(
        (f"{policy.host_address} . " if version else "") + f"{ports} : goto {policy_chain(policy.name)}"
        for policy in policies
        if (policy.protocol, policy.version) == (protocol, version)
        for ports in policy.ports
    )


def around_sets(around: Around) -> tuple[NamedSet, ...]:
    """Return the sets whose elements follow Docker and the host, whatever the policy is."""
    return tuple(NamedSet(name, "ifname", elements=around.get(name, frozenset())) for name in (DOCKER, FOREIGN))


def blueprint(want: Wanted, around: Around, group: str = "") -> Blueprint:
    """Return the table that makes ``want`` hold; ``group`` is the control group of Docker's service, while it runs."""
    return _blueprint(want, tuple(sorted(around.items(), key=lambda each: each[0])), group)


@functools.lru_cache(maxsize=4)
def _blueprint(want: Wanted, listed: tuple[tuple[str, frozenset[str]], ...], group: str) -> Blueprint:
    # A run plans twice, before and after, and a thousand policies are worth remembering in between.
    around = dict(listed)
    sets = list(around_sets(around))
    owners = {}
    for policy in want.policies:
        for version, kind, sources in ((4, "ipv4_addr", policy.sources_4), (6, "ipv6_addr", policy.sources_6)):
            name = source_set(policy.name, version)
            owners[name] = policy.name
            sets.append(NamedSet(name, kind, interval=True, elements=frozenset(sources)))
    for protocol, version in _used(want.policies):
        elements = _port_elements(want.policies, protocol, version)
        sets.append(NamedSet(port_map(protocol, version), _service(version), True, "verdict", elements))
    return Blueprint(tuple(_chains(want, group)), tuple(sets), owners)


def serving(want: Wanted, path: str) -> list[Rule]:
    """Return the rules of the chain for what Docker serves, to be loaded when its group ``path`` is there."""
    return list(served_rules(path)) if want.drop_unnamed else []


#: The types of the sets that follow Docker, by name.
AROUND_SETS: t.Mapping[str, str] = {each.name: each.key for each in around_sets({})}
#: The names that port maps have.
PORT_MAPS = frozenset(port_map(protocol, version) for protocol in PROTOCOLS for version in (0, 4, 6))
