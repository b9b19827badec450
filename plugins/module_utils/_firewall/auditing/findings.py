# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What an audit says to a person on call, in sentences. Pure."""

from __future__ import annotations

import typing as t

from ..coverage import covered
from ..docker_user import ENTRY
from ..formats.iptables_text import LEGACY, NFT
from ..host import Host
from .audit import (
    Audit,
    Iptables,
    closed,
    closes_served,
    drops_direct,
    drops_unnamed,
    named_ports,
    policies_of,
    service_policies,
)
from .daemon_settings import major, open_hosts
from .forward_order import Placed
from .sockets import DOCKERD, PROXY, Listener

#: More rules than these are counted.
_MOST_RULES = 3
#: Since this version a port that is published on loopback is closed to neighbours, and so are containers' addresses
#: to everybody who does not come by their bridge (release notes, 28.0).
_RAW_SINCE = 28
#: What nodes of a Swarm open to each other (docs.docker.com/engine/swarm/swarm-tutorial); 4789 is the kernel's own.
_SWARM_PORTS = (("tcp", 7946), ("udp", 7946))
_SWARM_MANAGEMENT = ("tcp", 2377)

Sentences = t.Iterator[str]


def open_daemon(audit: Audit, host: Host) -> Sentences:
    """Yield what hands the host over: it comes before everything else."""
    daemon = audit.daemon
    if daemon is None or daemon.tls_verify:
        return
    served = host.table is not None and closes_served(host.table)
    places = [(place, closed(host.table, port, served)) for place, port in open_hosts(daemon.hosts or ())]
    # The sockets that systemd opened are its own, and not in the control group of Docker's service.
    opened = [each for each in audit.open_by_systemd if each.reachable]
    places += [(_place(each), closed(host.table, each.socket.port, False)) for each in opened]
    for place, guarded in places:
        if daemon.tls_verify is None:
            yield f"Docker answers on {place}, and whether it asks for certificates is not known; look at 'tlsverify'."
            continue
        whom = "to containers and to whom policies let in" if guarded else "to everybody"
        how = "asking who it is" if daemon.tls else "TLS"
        yield (
            f"Docker answers on {place} {whom}, without {how}: who reaches it is root on this host. Take it out of "
            "'hosts', or set 'tlsverify'."
        )


def audit_findings(audit: Audit, host: Host) -> tuple[str, ...]:
    """Return what is worth knowing besides the policy itself, what opens something first."""
    return (
        *_loopback(audit, host),
        *_proxies(audit, host),
        *_services(audit, host),
        *_swarm(audit, host),
        *_on_host(audit, host),
        *_on_wire(audit),
        *_ipv6(audit, host),
        *_raw(audit, host),
        *_flowtables(audit),
        *_foreign_listeners(audit, host),
        *_rules(audit, host),
        *_user_chain(audit),
        *_legacy(audit),
        *_settings(audit),
    )


def _place(listener: Listener) -> str:
    address = f"[{listener.socket.address}]" if ":" in listener.socket.address else listener.socket.address
    return f"{listener.socket.protocol} {address}:{listener.socket.port}"


def _open_by_default(host: Host) -> bool:
    return host.policy is not None and not drops_unnamed(host.policy)


def _version(audit: Audit) -> int | None:
    return None if audit.answers is None else major(audit.answers.info.get("ServerVersion", ""))


def _loopback(audit: Audit, host: Host) -> Sentences:
    version = _version(audit)
    if host.docker is None or version is None or version >= _RAW_SINCE or (host.policy and not _open_by_default(host)):
        return
    if audit.ipv4 is None or not audit.ipv4.order.translates:
        return  # by docker-proxy nobody comes to loopback
    for port in _on_loopback(host):
        yield (
            f"Port {port} is published on loopback only, but Docker {version} lets neighbours on the same network "
            "reach it: name it in a policy, set default to drop, or use Docker 28."
        )


def _on_loopback(host: Host) -> list[str]:
    """Return ports on 127.0.0.0/8 that no policy names, as a person writes them."""
    if host.docker is None:
        return []
    return [
        f"{each.published.host_port}/{each.published.protocol} of container '{each.published.container}'"
        for each in covered(host.policy, host.docker.published)
        if each.published.running and each.published.host_address.startswith("127.") and not each.policies
    ]


def _proxies(audit: Audit, host: Host) -> Sentences:
    """Docker-proxies whose port Docker does not tell of: nothing but the input hook could see them."""
    known = {(each.protocol, each.host_port) for each in host.docker.published} if host.docker else set()
    if host.policy is not None and not drops_unnamed(host.policy):
        for each in audit.listeners:
            at = (each.socket.protocol, each.socket.port)
            if each.is_proxy and each.reachable and at not in known and not policies_of(host.policy, each):
                yield (
                    f"{PROXY} listens on {_place(each)}, which Docker does not tell of, and which no policy names: "
                    "only the host's own rules, if any, decide on it. Name it in a policy, or restart Docker."
                )


def _services(audit: Audit, host: Host) -> Sentences:
    if audit.answers is None or not _open_by_default(host):
        return
    for each in audit.answers.services or ():
        if each.ingress and not service_policies(host.policy, each):  # else it is a container's port
            yield (
                f"Port {each.port}/{each.protocol} of the Swarm service '{each.name}' is named by no policy, and open "
                "to everybody; name it in a policy."
            )


def _swarm(audit: Audit, host: Host) -> Sentences:
    """A Swarm whose nodes do not reach this one: dockerd itself serves these ports."""
    swarm = audit.answers.info.get("Swarm") or {} if audit.answers else {}
    if swarm.get("LocalNodeState") != "active" or host.table is None or not closes_served(host.table):
        return
    named = named_ports(host.table)
    needed = [*_SWARM_PORTS, *((_SWARM_MANAGEMENT,) if swarm.get("ControlAvailable") else ())]
    missing = [f"{protocol} {port}" for protocol, port in needed if not named(protocol, port)]
    if missing:
        yield (
            f"The nodes of the Swarm do not reach this one on {', '.join(missing)}, because default is drop and no "
            "policy names that: name it in a policy, and the nodes in its allow_from."
        )


def _on_host(audit: Audit, host: Host) -> Sentences:
    for name in audit.answers.on_host if audit.answers else ():
        mine = [each for each in audit.listeners if each.process and each.process.container == name and each.reachable]
        unnamed = sorted({_port(each) for each in mine if not policies_of(host.table, each)})
        if unnamed:
            yield (
                f"Container '{name}' uses the host's network and listens on {', '.join(unnamed)}, which no policy "
                "names: only the host's own rules, if any, decide on that. Name the port in a policy."
            )
        elif not mine:
            yield f"Container '{name}' uses the host's network: only ports that a policy names are governed."


def _port(listener: Listener) -> str:
    return f"{listener.socket.protocol} {listener.socket.port}"


def _on_wire(audit: Audit) -> Sentences:
    for name, driver in audit.answers.on_wire if audit.answers else ():
        yield (
            f"Network '{name}' ({driver}) connects its containers to the wire past this host's rules: no policy holds "
            "for them. Filter in front of the host, or use a bridge."
        )


def _ipv6(audit: Audit, host: Host) -> Sentences:
    daemon, told = audit.daemon, audit.answers
    if daemon is None or told is None or daemon.ip6tables is not False or not told.with_ipv6:
        return
    if host.table is None or not drops_direct(host.table):
        yield (
            f"Docker writes no IPv6 rules (ip6tables is off), but containers in {_names(told.with_ipv6)} have IPv6 "
            "addresses: all their ports are open to whoever has a route. Set 'ip6tables', or direct_access to drop."
        )


def _names(names: t.Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _raw(audit: Audit, host: Host) -> Sentences:
    told, version = audit.answers, _version(audit)
    if told is None or version is None or version < _RAW_SINCE or audit.ipv4 is None or host.policy is None:
        return
    bridged = len(told.containers) > len(told.on_host)
    if bridged and audit.ipv4.order.translates and not audit.ipv4.order.raw_drops and not drops_direct(host.policy):
        yield (
            "Docker's drops in the table raw are missing: containers' own addresses are open to whoever has a route. "
            "Set direct_access to drop, or unset DOCKER_INSECURE_NO_IPTABLES_RAW and allow-direct-routing."
        )


def _flowtables(audit: Audit) -> Sentences:
    for each in audit.flowtables:
        yield (
            f"Flowtable '{each.name}' of table {each.family} {each.table} ({', '.join(each.devices) or 'no devices'}) "
            "can take established connections past the forward hook: a source that loses its permission keeps those, "
            "also with cut_existing. Keep Docker's bridges out of it."
        )


def _foreign_listeners(audit: Audit, host: Host) -> Sentences:
    for port, process, policies in sorted(set(_foreign(audit, host))):
        yield (
            f"Policy {_names(policies)} names {port}, on which '{process}' of the host itself listens: it decides on "
            "connections to that, too. If it should not, give the policy the ports that Docker publishes only."
        )


def _foreign(audit: Audit, host: Host) -> t.Iterator[tuple[str, str, tuple[str, ...]]]:
    for each in audit.listeners:
        process, policies = each.process, policies_of(host.table, each)
        if process and policies and each.reachable and not process.container and process.name not in (PROXY, DOCKERD):
            yield _port(each), process.name, policies


def _rules(audit: Audit, host: Host) -> Sentences:
    yield from _vanished(audit, host)
    for name, family in audit.families:
        for table in family.unreadable:
            yield (
                f"iptables cannot read its table '{table}' ({name}), because nft put rules there that it has no words "
                "for: Docker then leaves out its jump to DOCKER-USER at its next start. Move them to another table."
            )
        if family.order.ahead:
            passed = "DOCKER-USER" if host.table or not host.policy else "DOCKER-USER, with it every policy,"
            unaffected = " Policies are not affected: they hold before that." if host.table else ""
            yield (
                f"In FORWARD ({name}) {_quoted(family)} in front of Docker's jump and may accept what goes to a "
                f"published port, so that {passed} and Docker's own rules do not see it; move it behind.{unaffected}"
            )


def _quoted(family: Iptables) -> str:
    ahead = family.order.ahead
    shown = "; ".join(f"{each.number}: {each.rule.text}" for each in ahead[:_MOST_RULES])
    more = f" and {len(ahead) - _MOST_RULES} more" if len(ahead) > _MOST_RULES else ""
    return f"rule {shown} stands" if len(ahead) == 1 else f"rules {shown}{more} stand"


def _vanished(audit: Audit, host: Host) -> Sentences:
    daemon, family = audit.daemon, audit.ipv4
    if daemon is None or not daemon.iptables or not (daemon.firewall_backend or "").startswith("iptables"):
        return
    if family is None or family.order.translates or "nat" in family.unreadable or host.docker is None:
        return
    if any(each.running and 4 in each.versions for each in host.docker.published):
        elsewhere = family.variant == NFT and "nat" in (audit.legacy.get(4) or ())
        why = "they are in the legacy tables, and iptables is nf_tables now" if elsewhere else "somebody flushed them"
        yield f"Docker's rules for published ports are not in iptables' table nat ({why}): restart Docker to have them."


def _user_chain(audit: Audit) -> Sentences:
    for name, family in audit.families:
        order, own = family.order, _of_others(family)
        if own and order.user_jump is None:
            yield (
                f"DOCKER-USER ({name}) has rules, but FORWARD does not jump there: they have no effect. Restart "
                "Docker, or declare policies instead."
            )
        if order.dead:
            first = order.dead[0]
            yield (
                f"In DOCKER-USER ({name}) rule {first.number} ({first.rule.text}) and what follows is never reached, "
                "because a rule in front of it ends the chain; insert it above that one."
            )
    if audit.ipv4 is None or audit.ipv6 is None or not _of_others(audit.ipv4):
        return
    if audit.ipv6.order.translates and not audit.ipv6.order.user_chain and "filter" not in audit.ipv6.unreadable:
        yield (
            "DOCKER-USER has rules for IPv4, but this version of Docker makes no such chain for IPv6: IPv6 comes past "
            "them. Declare policies instead."
        )


def _of_others(family: Iptables) -> list[Placed]:
    """The rules in DOCKER-USER but for our own jump, of which :mod:`gaps` tells."""
    return [each for each in family.order.own if each.rule.target != ENTRY]


def _legacy(audit: Audit) -> Sentences:
    for name, version, family in (("IPv4", 4, audit.ipv4), ("IPv6", 6, audit.ipv6)):
        tables = audit.legacy.get(version)
        if tables and not (family is not None and family.variant == LEGACY):
            yield (
                f"Legacy iptables has tables, too ({name}: {', '.join(tables)}): their rules hold beside all others, "
                "and iptables does not show them. Look with iptables-legacy-save, and flush what nobody needs."
            )


def _settings(audit: Audit) -> Sentences:
    daemon = audit.daemon
    if daemon is None:
        return
    if daemon.config is not None and daemon.config.error:
        yield f"{daemon.config.path} is not valid ({daemon.config.error}): Docker does not start again; repair it."
    elif daemon.config is not None and daemon.config.newer:
        yield (
            f"{daemon.config.path} is newer than the running Docker: it may say other than what is in force. Restart "
            "Docker to be sure."
        )
    if daemon.conflicts:
        where = daemon.config.path if daemon.config else "its file"
        yield (
            f"{_names(daemon.conflicts)} is set on Docker's command line and in {where}: Docker does not start again; "
            "remove one."
        )
    if daemon.iptables is False:
        served = "no published port is reached, for docker-proxy is off, too"
        if daemon.userland_proxy is not False:
            served = "published ports are served by docker-proxy only, and containers see its address for the client's"
        yield (
            f"Docker writes no rules (iptables is off): {served}; Docker's networks are not kept apart, and "
            "DOCKER-USER is of no use. Set 'iptables' unless this is meant."
        )
