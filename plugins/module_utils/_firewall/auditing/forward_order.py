# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""In which order a forwarded packet meets the rules of iptables, Docker's among them. Pure."""

from __future__ import annotations

import ipaddress
import typing as t
from dataclasses import dataclass

from ..formats.iptables_text import Match, Rule, Saved, Table

_FORWARD = "FORWARD"
_USER = "DOCKER-USER"
_DOCKER = "DOCKER"
_LATE_STATES = frozenset(("RELATED", "ESTABLISHED", "INVALID"))
_CARRIERS = frozenset(("all", "tcp", "udp", "sctp"))


@dataclass(frozen=True)
class Docker:
    """Where containers are: their bridges, and the subnets (CIDR) of these; nothing when that is not known."""

    bridges: frozenset[str] = frozenset()
    subnets: tuple[str, ...] = ()


class Placed(t.NamedTuple):
    """A rule and its number in its chain, from 1 as in ``iptables -L --line-numbers``."""

    number: int
    rule: Rule


@dataclass(frozen=True)
class Order:
    """One family. ``user_jump`` and ``docker_jump`` are rule numbers in FORWARD: to DOCKER-USER, to any of Docker's.

    ``ahead`` may accept what goes to a published port before it comes to Docker's first chain. ``own`` are rules in
    DOCKER-USER that somebody put there, ``dead`` are those of them behind a rule that lets nothing come to them.
    """

    forward_policy: str | None
    input_policy: str | None
    user_chain: bool
    user_jump: int | None
    docker_jump: int | None
    ahead: tuple[Placed, ...]
    own: tuple[Placed, ...]
    dead: tuple[Placed, ...]
    raw_drops: int
    translates: bool


def order(saved: Saved, docker: Docker) -> Order:
    """Return the order of a family's rules."""
    table = saved.tables.get("filter", {})
    forward = table.get(_FORWARD)
    rules = forward.rules if forward else ()
    inbound = table.get("INPUT")
    raw = saved.chain("raw", "PREROUTING")
    user_jump = _first(rules, lambda name: name == _USER)
    docker_jump = _first(rules, lambda name: name == _DOCKER or name.startswith(f"{_DOCKER}-"))
    own, dead = _in_user_chain(table)
    return Order(
        forward_policy=forward.policy if forward else None,
        input_policy=inbound.policy if inbound else None,
        user_chain=_USER in table,
        user_jump=user_jump,
        docker_jump=docker_jump,
        ahead=_ahead(table, (user_jump or docker_jump or 1) - 1, docker),
        own=own,
        dead=dead,
        raw_drops=sum(rule.target == "DROP" for rule in raw.rules) if raw else 0,
        translates=_translates(saved),
    )


def _translates(saved: Saved) -> bool:
    chain = saved.chain("nat", "PREROUTING")
    return chain is not None and any(rule.target == _DOCKER for rule in chain.rules)


def _first(rules: t.Iterable[Rule], wanted: t.Callable[[str], bool]) -> int | None:
    return next((number for number, rule in enumerate(rules, 1) if wanted(rule.target)), None)


def _in_user_chain(table: Table) -> tuple[tuple[Placed, ...], tuple[Placed, ...]]:
    chain = table.get(_USER)
    own: list[Placed] = []
    dead: list[Placed] = []
    ended = False
    for number, rule in enumerate(chain.rules if chain else (), 1):
        ends = rule.always and rule.target in ("RETURN", "ACCEPT", "DROP", "REJECT")
        if not (ends and rule.target == "RETURN"):  # which older versions of Docker put there
            own.append(Placed(number, rule))
            if ended:
                dead.append(Placed(number, rule))
        ended = ended or ends
    return tuple(own), tuple(dead)


def _ahead(table: Table, count: int, docker: Docker) -> tuple[Placed, ...]:
    forward = table.get(_FORWARD)
    if forward is None:
        return ()
    placed = (Placed(number, rule) for number, rule in enumerate(forward.rules[:count], 1))
    return tuple(each for each in placed if _may_accept(table, each.rule, forward.policy, docker, frozenset()))


def _may_accept(table: Table, rule: Rule, policy: str, docker: Docker, seen: frozenset[str]) -> bool:
    """Whether a rule may end the way of a packet to a published port; ``policy`` is where a RETURN leads."""
    if not _may_match(rule, docker):
        return False
    if rule.target == "ACCEPT":
        return True
    if rule.target == "RETURN":
        return policy == "ACCEPT"
    chain = table.get(rule.target)
    if chain is None or rule.target in seen:
        return False
    # Who comes by a goto leaves by the policy; who comes by a jump goes on behind it.
    below = policy if rule.goto else ""
    return any(_may_accept(table, each, below, docker, seen | {rule.target}) for each in chain.rules)


def _may_match(rule: Rule, docker: Docker) -> bool:
    """Whether a rule may match a new connection from outside to a container; when in doubt it may."""
    if _says(rule.protocol, lambda value: value not in _CARRIERS):
        return False
    if _says(rule.states, lambda value: set(value.split(",")) <= _LATE_STATES):
        return False
    if _says(rule.inbound, lambda value: value == "lo" or value in docker.bridges):
        return False
    if _says(rule.destination, lambda value: _elsewhere(value, docker.subnets)):
        return False
    return rule.outbound is None or not docker.bridges or _leads_to(rule.outbound, docker.bridges)


def _says(match: Match | None, excluding: t.Callable[[str], bool]) -> bool:
    return match is not None and not match.negated and excluding(match.value)


def _leads_to(outbound: Match, bridges: t.Iterable[str]) -> bool:
    return any(_is_interface(outbound.value, bridge) is not outbound.negated for bridge in bridges)


def _is_interface(pattern: str, name: str) -> bool:
    # A plus at the end stands for anything (iptables(8), "--in-interface").
    return name.startswith(pattern[:-1]) if pattern.endswith("+") else name == pattern


def _elsewhere(destination: str, subnets: t.Sequence[str]) -> bool:
    try:
        wanted = ipaddress.ip_network(destination, strict=False)
        known = [ipaddress.ip_network(subnet, strict=False) for subnet in subnets]
    except ValueError:
        return False
    same = [subnet for subnet in known if subnet.version == wanted.version]
    return bool(same) and not any(
        int(subnet.network_address) <= int(wanted.broadcast_address)
        and int(wanted.network_address) <= int(subnet.broadcast_address)
        for subnet in same
    )
