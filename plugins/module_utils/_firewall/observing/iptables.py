# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Our chains below DOCKER-USER as iptables lists them, and what else decides whether packets come to them."""

from __future__ import annotations

import os
import typing as t

from ..._converge.command import Runner
from ..auditing.sockets import PROXY, Process, Socket, serving
from ..docker_facts import is_loopback
from ..formats.iptables_text import Saved, parse_save
from ..formats.restore_text import rules_of
from ..gaps import gaps
from ..model import Docker, Gap, UserRules
from . import processes

_HAS_IPV6 = "/proc/net/if_inet6"
_SAVE = {4: "iptables-save", 6: "ip6tables-save"}


def has_ipv6() -> bool:
    """Whether the kernel has IPv6; without it ip6tables has no tables."""
    return os.path.exists(_HAS_IPV6)


def saved_tables(version: int, runner: Runner) -> Saved:
    """Return all tables of an IP version: to name one would make the legacy variant create it."""
    return parse_save(runner.run((_SAVE[version],)))


def loaded_rules(saved: t.Mapping[int, Saved]) -> dict[int, UserRules]:
    """Return our chains by IP version, without those that have nothing of ours."""
    found = {version: rules_of(tables) for version, tables in saved.items()}
    return {version: rules for version, rules in found.items() if rules is not None}


def observed_gaps(saved: t.Mapping[int, Saved], docker: Docker | None, firewalld: bool) -> tuple[Gap, ...]:
    """Return what our chains do not see."""
    listening = tuple(processes.sockets())
    owners = processes.owners(frozenset(each.inode for each in listening))
    return gaps(saved, docker, (each for each in listening if _is_proxy(each, owners)), firewalld)


def _is_proxy(each: Socket, owners: t.Mapping[int, t.Sequence[Process]]) -> bool:
    process = serving(owners.get(each.inode, ()))
    return process is not None and process.name == PROXY and not is_loopback(each.address)
