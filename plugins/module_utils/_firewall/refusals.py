# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Wishes that cannot be met on this host, each told in a sentence. Pure."""

from __future__ import annotations

from .._converge.converge import Refusal
from .host import Host
from .model import Wanted
from .ruleset import DOCKER


def check(host: Host, want: Wanted) -> None:
    """Raise :class:`Refusal` when ``want`` does not fit ``host``; nothing was touched then."""
    if want.absent:
        return
    _check_uplinks(host)
    _check_families(host, want)
    if want.confirm:
        _check_confirmation(host, want)


def _check_uplinks(host: Host) -> None:
    both = sorted(host.around.get(DOCKER, frozenset()) & host.uplinks)
    if both:
        raise Refusal(
            f"Docker uses the bridge {both[0]}, which also carries the default route: what comes in there from outside "
            "cannot be told from what containers send. Give Docker a bridge of its own, then run again."
        )


def _check_families(host: Host, want: Wanted) -> None:
    if host.has_ipv6:
        return
    for policy in want.policies:
        if policy.version == 6 or policy.sources_6:
            raise Refusal(
                f"Policy '{policy.name}' names IPv6 addresses, but IPv6 is switched off on this host "
                "(/proc/net/if_inet6 is missing). Remove them, or switch IPv6 on."
            )


def _check_confirmation(host: Host, want: Wanted) -> None:
    if host.undo is None:
        return  # confirmed already, by a run that could not say so any more
    if not host.undo.armed:
        raise Refusal(
            f"The change of {host.undo.since} is undone already: nobody confirmed it in time. "
            "The host has the policy of before."
        )
    if host.undo.token != want.confirm:
        raise Refusal(
            "Another change was made since, and waits for its own confirmation; this one cannot be confirmed any more."
        )
