# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Declarations, and those that make no sense."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.model import Policy, Ports
from tests.unit.firewall.declared import declared, policy


def test_a_policy_is_read() -> None:
    want = declared(
        policy("web", [443, "8000-8010", 8011], allow_from=["192.0.2.1", "2001:db8::/32"], log=True), default="drop"
    )
    assert want.policies == (
        Policy("web", "tcp", (Ports(443, 443), Ports(8000, 8011)), "", ("192.0.2.1",), ("2001:db8::/32",), True),
    )
    assert (want.drop_unnamed, want.drop_direct, want.cut_existing) == (True, True, False)


def test_a_policy_for_one_address_stands_beside_one_for_all() -> None:
    want = declared(policy("all"), policy("one", host_address="192.0.2.1"))
    assert [each.host_address for each in want.policies] == ["", "192.0.2.1"]


@pytest.mark.parametrize(
    ("policies", "words"),
    [
        ([policy(), policy("other")], "'web' and 'other' contradict each other: both decide on tcp port 443"),
        (
            [policy("a", ["1-100", 300]), policy("b", [50])],
            "'a' and 'b' contradict each other: both decide on tcp port 50",
        ),
        (
            [policy("a", host_address="2001:db8::1"), policy("b", host_address="2001:DB8:0::1")],
            r"port 443 on 2001:db8::1\.",
        ),
        ([policy(), policy(ports=[80])], "'web' is declared twice"),
        ([policy("a b")], "'a b' cannot name a policy"),
        ([policy("-x")], "cannot name a policy"),
        ([policy("x" * 33)], "cannot name a policy"),
        ([policy(ports=[])], "names no ports"),
        ([policy(ports=[0])], "has the port '0'"),
        ([policy(ports=[65536])], "has the port '65536'"),
        ([policy(ports=["90-80"])], "has the port '90-80'"),
        ([policy(ports=["https"])], "has the port 'https'"),
        ([policy(allow_from=["192.0.2.0/33"])], "allow_from: '192.0.2.0/33' is not a network"),
        ([policy(allow_from=["192.0.2.7/24"])], "write 192.0.2.0/24"),
        ([policy(host_address="eth0")], "host_address: 'eth0' is not an IP address"),
        ([policy(host_address="192.0.2.1", allow_from=["::/0"])], "::/0 in allow_from cannot reach"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(policies: list[dict[str, t.Any]], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        declared(*policies)


def test_the_same_port_of_another_protocol_is_another_port() -> None:
    assert len(declared(policy("a"), policy("b", protocol="udp")).policies) == 2


@pytest.mark.parametrize("seconds", [-1, 1, 4, 3601])
def test_a_time_that_nobody_can_meet_is_refused(seconds: int) -> None:
    with pytest.raises(Refusal, match="from 5 to 3600"):
        declared(policy(), confirm_timeout=seconds)
