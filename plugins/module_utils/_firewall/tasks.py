# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of the modules to what the engine runs."""

from __future__ import annotations

import typing as t

from .._converge.command import Runner
from .._converge.module import Task
from .auditing.facts import audit_facts
from .auditing.findings import audit_findings, open_daemon
from .backends import chosen
from .facts import facts
from .findings import findings
from .firewall import FirewallResource
from .host import Host
from .model import Wanted
from .observing.audit import observe_audit
from .observing.observe import observe_host
from .parameters import TOOLS, Parameters, wanted_firewall
from .picture import draw
from .service.watch import LOCK


def results(host: Host) -> dict[str, t.Any]:
    """Return what a module tells of a firewall besides what it did."""
    return {"firewall": facts(host), "findings": list(findings(host))}


def warnings(before: Host, after: Host) -> tuple[str, ...]:
    """Return what the user should see without asking: above all that an earlier change did not last."""
    undone = findings(before)[:1] if before.undo is not None and not before.undo.armed else ()
    waits = after.undo is not None and after.undo.armed  # and is not finished before it is confirmed
    return (*undone, *(() if waits else findings(after)))


def firewall_task(parameters: Parameters) -> Task[Host]:
    """Return the task of docker_firewall. Raises Refusal for parameters that make no sense."""
    want = wanted_firewall(parameters)
    return Task(
        resource=lambda runner: FirewallResource(want, runner),
        lock=LOCK,
        facts=results,
        tools={**chosen(want).tools, **TOOLS},
        warnings=(lambda _before, _after: ()) if want.absent else warnings,
    )


def look_at_firewall(parameters: Parameters, runner: Runner) -> dict[str, t.Any]:
    """Return what docker_firewall_info tells."""
    socket = parameters["docker_socket"]
    host = observe_host(Wanted(docker_socket=socket), runner)
    audit = observe_audit(socket, host, runner)
    told = (*open_daemon(audit, host), *findings(host), *audit_findings(audit, host))
    return {**results(host), "findings": list(told), "audit": audit_facts(audit, host), "picture": draw(host)}
