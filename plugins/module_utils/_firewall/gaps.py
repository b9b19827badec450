# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What a policy below DOCKER-USER cannot close, as data and as sentences. Pure."""

from __future__ import annotations

import re
import typing as t

from .auditing.daemon_settings import major
from .auditing.forward_order import Docker as Bridged
from .auditing.forward_order import order
from .auditing.sockets import Socket
from .docker_user import ENTRY, USER
from .formats.iptables_text import Saved
from .formats.restore_text import TABLE
from .model import Docker, Gap, UserRules

#: Docker-proxy takes connections that Docker does not translate: they are the host's own, and never forwarded.
PROXIED = "docker_proxy"
#: FORWARD does not lead to DOCKER-USER.
UNREACHED = "no_jump"
#: Rules of FORWARD come before the jump to DOCKER-USER, and may accept what the policy denies.
AHEAD = "accepted_ahead"
#: Docker takes its jump to DOCKER-USER out and puts it in again at each change of its networks.
NETWORKS = "network_create"
#: A reload of firewalld removes the chains, and what Docker translates, so that docker-proxy serves its ports.
RELOAD = "firewalld_reload"

#: The first version that was seen to leave its jump where it is.
_KEEPS_JUMP = 28
_TRANSLATED = re.compile(r"-p (?P<protocol>\w+) .*--dport (?P<port>\d+) .*-j DNAT")


def gaps(
    saved: t.Mapping[int, Saved], docker: Docker | None, proxies: t.Iterable[Socket], firewalld: bool
) -> tuple[Gap, ...]:
    """Return what is past the chains. ``saved`` are the tables by IP version, ``proxies`` docker-proxy's sockets."""
    listening = tuple(proxies)
    found = []
    for version, tables in sorted(saved.items()):
        translated = _translated(tables)
        proxied = {
            (each.protocol, each.port) for each in listening if (6 if ":" in each.address else 4) == version
        } - translated
        if proxied:
            found.append(Gap(PROXIED, version, _named(proxied)))
        if docker is not None and not _reached(tables):
            found.append(Gap(UNREACHED, version, _named(translated)))
        elif docker is not None and order(tables, Bridged(docker.bridges)).ahead:
            found.append(Gap(AHEAD, version, _named(translated)))
    release = None if docker is None else major(docker.version)
    if release is not None and release < _KEEPS_JUMP:
        found.append(Gap(NETWORKS))
    if firewalld:
        found.append(Gap(RELOAD))
    return tuple(found)


def _translated(saved: Saved) -> set[tuple[str, int]]:
    chain = saved.chain("nat", "DOCKER")
    matches = (_TRANSLATED.search(rule.text) for rule in (chain.rules if chain else ()))
    return {(match["protocol"], int(match["port"])) for match in matches if match}


def _named(ports: t.Iterable[tuple[str, int]]) -> tuple[str, ...]:
    return tuple(f"{protocol} {port}" for protocol, port in sorted(ports))


def _reached(saved: Saved) -> bool:
    forward = saved.chain(TABLE, "FORWARD")
    return forward is not None and any(rule.target == USER for rule in forward.rules)


def sentences(chains: t.Mapping[int, UserRules], found: t.Iterable[Gap]) -> t.Iterator[str]:
    """Yield what a person on call should know of chains below DOCKER-USER, what is open first."""
    for version in sorted(chains):
        if ENTRY not in chains[version].chains or not chains[version].jumps:
            yield f"The chains of the policy, or the jump to them, are missing (IPv{version}): run docker_firewall."
    for gap in found:
        yield _SENTENCES[gap.kind](gap)


def _proxied(gap: Gap) -> str:
    return (
        f"docker-proxy serves {', '.join(gap.ports)} over IPv{gap.version} as a process of the host, which DOCKER-USER "
        "does not see: no policy holds there. Use the backend nftables, or give Docker 'ip6tables' and its networks "
        "IPv6."
    )


def _unreached(gap: Gap) -> str:
    ports = f"published ports ({', '.join(gap.ports)}) and " if gap.ports else ""
    return (
        f"Docker has no jump to DOCKER-USER for IPv{gap.version}: {ports}containers' own addresses meet no policy "
        "there. Use the backend nftables."
    )


def _ahead(gap: Gap) -> str:
    return (
        f"In FORWARD (IPv{gap.version}) rules in front of the jump to DOCKER-USER may accept what goes to published "
        f"ports ({', '.join(gap.ports) or 'none now'}); Docker 28 was seen to put its own there when "
        "firewalld was reloaded. "
        "Move them behind, or use the backend nftables."
    )


_SENTENCES: t.Mapping[str, t.Callable[[Gap], str]] = {
    PROXIED: _proxied,
    UNREACHED: _unreached,
    AHEAD: _ahead,
    NETWORKS: lambda _gap: (
        "This version of Docker takes its jump to DOCKER-USER out and puts it in again whenever a network is made, and "
        "who is denied gets through in between. Use the backend nftables, or Docker 28."
    ),
    RELOAD: lambda _gap: (
        "firewalld is active, and its reload may remove the chains of the policy and of Docker: until they are back, "
        "docker-proxy serves published ports to everybody. Use the backend nftables."
    ),
}
