# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What docker_firewall_info returns as ``audit``. Pure."""

from __future__ import annotations

import typing as t

from ..host import Host
from ..model import Table
from .audit import Audit, Iptables, Service, policies_of, service_policies
from .daemon_settings import Daemon
from .forward_order import Placed
from .sockets import Listener

Facts = t.Dict[str, t.Any]


def audit_facts(audit: Audit, host: Host) -> Facts:
    """Return what was found; the keys are always the same, and null is what nobody could tell."""
    # Only the table has a say on the host's own sockets; services are forwarded.
    return {
        "daemon": None if audit.daemon is None else _daemon(audit.daemon),
        "iptables": {"ipv4": _family(audit.ipv4), "ipv6": _family(audit.ipv6)},
        "legacy_tables": {"ipv4": _listed(audit.legacy.get(4)), "ipv6": _listed(audit.legacy.get(6))},
        "flowtables": [
            {"family": each.family, "table": each.table, "name": each.name, "devices": list(each.devices)}
            for each in audit.flowtables
        ],
        "listeners": [_listener(each, host.table) for each in audit.listeners],
        "host_network_containers": None if audit.answers is None else list(audit.answers.on_host),
        "wire_networks": None
        if audit.answers is None
        else [{"name": name, "driver": driver} for name, driver in audit.answers.on_wire],
        "swarm": _swarm(audit, host.policy),
    }


def _listed(names: t.Sequence[str] | None) -> list[str] | None:
    return None if names is None else list(names)


def _daemon(daemon: Daemon) -> Facts:
    config = daemon.config
    return {
        "pid": daemon.pid,
        "config_file": None if config is None else config.path,
        "config_error": (config.error or None) if config else None,
        "config_newer": None if config is None else config.newer,
        "iptables": daemon.iptables,
        "ip6tables": daemon.ip6tables,
        "userland_proxy": daemon.userland_proxy,
        "firewall_backend": daemon.firewall_backend,
        "hosts": _listed(daemon.hosts),
        "tls": daemon.tls,
        "tls_verify": daemon.tls_verify,
    }


def _family(family: Iptables | None) -> Facts | None:
    if family is None:
        return None
    order = family.order
    return {
        "variant": family.variant,
        "forward_policy": order.forward_policy,
        "input_policy": order.input_policy,
        "docker_user": order.user_chain,
        "docker_user_jump": order.user_jump,
        "docker_jump": order.docker_jump,
        "docker_translates": order.translates,
        "accepts_ahead": _placed(order.ahead),
        "docker_user_rules": _placed(order.own),
        "docker_user_dead_rules": _placed(order.dead),
        "raw_drops": order.raw_drops,
        "unreadable_tables": list(family.unreadable),
    }


def _placed(rules: t.Iterable[Placed]) -> list[Facts]:
    return [{"number": each.number, "rule": each.rule.text} for each in rules]


def _listener(listener: Listener, table: Table | None) -> Facts:
    process = listener.process
    return {
        "protocol": listener.socket.protocol,
        "address": listener.socket.address,
        "port": listener.socket.port,
        "pid": None if process is None else process.pid,
        "process": None if process is None else process.name,
        "container": (process.container or None) if process else None,
        "reachable": listener.reachable,
        "policies": list(policies_of(table, listener)),
    }


def _swarm(audit: Audit, table: Table | None) -> Facts | None:
    if audit.answers is None:
        return None
    swarm = audit.answers.info.get("Swarm") or {}
    services = audit.answers.services
    return {
        "state": swarm.get("LocalNodeState") or "inactive",
        "manager": bool(swarm.get("ControlAvailable")),
        "ports": None if services is None else [_service(each, table) for each in services],
    }


def _service(service: Service, table: Table | None) -> Facts:
    return {
        "service": service.name,
        "protocol": service.protocol,
        "port": service.port,
        "ingress": service.ingress,
        "policies": list(service_policies(table, service)),
    }
