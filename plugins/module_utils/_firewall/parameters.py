# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the module's parameters to the policy that is wanted, with every mistake told in one sentence."""

from __future__ import annotations

import re
import secrets
import typing as t

from .._converge.converge import Refusal
from .addresses import BadAddress, canonical, merged, parse_network
from .model import PROTOCOLS, Policy, Ports, Wanted, joined

Parameters = t.Mapping[str, t.Any]

#: It becomes part of names in nft, of log lines and of comments, which hold 128 bytes (libnftnl, udata.h).
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")
_PORTS = re.compile(r"(?P<first>[0-9]{1,5})(?:\s*-\s*(?P<last>[0-9]{1,5}))?")
_LAST_PORT = 65535
#: Seconds. Less cannot be confirmed in time, more is no protection.
_LEAST_TIMEOUT = 5
_MOST_TIMEOUT = 3600

FIREWALL_SPEC: dict[str, dict[str, t.Any]] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "policies": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": {
            "name": {"type": "str", "required": True},
            "ports": {"type": "list", "elements": "str", "required": True},
            "protocol": {"type": "str", "choices": list(PROTOCOLS), "default": "tcp"},
            "host_address": {"type": "str"},
            "allow_from": {"type": "list", "elements": "str", "default": []},
            "log": {"type": "bool", "default": False},
        },
    },
    "default": {"type": "str", "choices": ["return", "drop"], "default": "return"},
    "direct_access": {"type": "str", "choices": ["return", "drop"], "default": "drop"},
    "cut_existing": {"type": "bool", "default": False},
    "backend": {"type": "str", "choices": ["auto", "nftables", "docker_user"], "default": "auto"},
    "confirm_timeout": {"type": "int", "default": 0},
    "confirm": {"type": "str"},
    "docker_socket": {"type": "path", "default": "/run/docker.sock"},
}

FIREWALL_INFO_SPEC = {"docker_socket": FIREWALL_SPEC["docker_socket"]}


def _ports(policy: str, text: str) -> Ports:
    match = _PORTS.fullmatch(text.strip())
    first, last = (int(match["first"]), int(match["last"] or match["first"])) if match else (0, 0)
    if not 1 <= first <= last <= _LAST_PORT:
        raise Refusal(
            f"Policy '{policy}' has the port '{text}'; write one from 1 to {_LAST_PORT}, or a range such as 8000-8010."
        )
    return Ports(first, last)


def _sources(policy: str, texts: t.Iterable[str]) -> dict[int, tuple[str, ...]]:
    ranges: dict[int, list[tuple[int, int]]] = {4: [], 6: []}
    for text in texts:
        try:
            version, first, last = parse_network(text)
        except BadAddress as error:
            raise Refusal(f"Policy '{policy}', allow_from: {error}.") from error
        ranges[version].append((first, last))
    return {version: merged(version, found) for version, found in ranges.items()}


def _host_address(policy: str, text: str) -> str:
    try:
        return canonical(text) if text else ""
    except BadAddress as error:
        raise Refusal(f"Policy '{policy}', host_address: {error}.") from error


def _policy(given: Parameters) -> Policy:
    name = given["name"]
    if not _NAME.fullmatch(name):
        raise Refusal(
            f"'{name}' cannot name a policy; use up to 32 letters, digits, '_', '.' and '-', first a letter or digit."
        )
    if not given["ports"]:
        raise Refusal(f"Policy '{name}' names no ports; give those of the host that Docker publishes.")
    sources = _sources(name, given["allow_from"])
    policy = Policy(
        name=name,
        protocol=given["protocol"],
        ports=joined(_ports(name, text) for text in given["ports"]),
        host_address=_host_address(name, given.get("host_address") or ""),
        sources_4=sources[4],
        sources_6=sources[6],
        log=given["log"],
    )
    other = {4: policy.sources_6, 6: policy.sources_4, 0: ()}[policy.version]
    if other:
        raise Refusal(
            f"Policy '{name}' is for the host's address {policy.host_address}, which {other[0]} in allow_from cannot "
            "reach: it is of the other IP version. Remove it, or give the other address a policy of its own."
        )
    return policy


def _check_overlaps(policies: t.Sequence[Policy]) -> None:
    names: set[str] = set()
    scopes: dict[tuple[str, str], list[tuple[Ports, Policy]]] = {}
    for policy in policies:
        if policy.name in names:
            raise Refusal(f"Policy '{policy.name}' is declared twice; join the two, or rename one.")
        names.add(policy.name)
        scope = scopes.setdefault((policy.protocol, policy.host_address), [])
        scope.extend((ports, policy) for ports in policy.ports)
    for (protocol, address), found in scopes.items():
        found.sort(key=lambda each: each[0])
        for (before, first), (after, second) in zip(found, found[1:]):
            if before.overlaps(after):
                where = f" on {address}" if address else ""
                raise Refusal(
                    f"The policies '{first.name}' and '{second.name}' contradict each other: both decide on {protocol} "
                    f"port {max(before.first, after.first)}{where}. Name each port in one policy only."
                )


def wanted_firewall(parameters: Parameters) -> Wanted:
    """Return the policy that the parameters declare. Raises :class:`Refusal`."""
    policies = tuple(_policy(given) for given in parameters["policies"])
    _check_overlaps(policies)
    timeout = parameters["confirm_timeout"]
    if timeout and not _LEAST_TIMEOUT <= timeout <= _MOST_TIMEOUT:
        raise Refusal(
            f"confirm_timeout is {timeout}; give 0, or a number of seconds from {_LEAST_TIMEOUT} to {_MOST_TIMEOUT}."
        )
    return Wanted(
        policies=policies,
        drop_unnamed=parameters["default"] == "drop",
        drop_direct=parameters["direct_access"] == "drop",
        cut_existing=parameters["cut_existing"],
        backend=parameters["backend"],
        confirm_timeout=timeout,
        confirm=parameters.get("confirm") or "",
        token=secrets.token_hex(16),
        absent=parameters["state"] == "absent",
        docker_socket=parameters["docker_socket"],
    )


#: Programs that are needed on the host whatever carries the policy, each with the Debian package that brings it.
TOOLS = {"systemctl": "systemd", "systemd-run": "systemd"}
INFO_TOOLS = {"nft": "nftables", "systemctl": "systemd"}
