# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is closed while everything is flushed, and the units that see to it."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
import typing as t
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall import places
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.backends import NFTABLES
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.flush_guard import guard_lines
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.model import Ports, Wanted, joined
from tests.unit.firewall.declared import declared, policy, wishes

EVERYBODY = ["0.0.0.0/0", "::/0"]
GROUP = "/system.slice/docker.service"


def chains(want: Wanted) -> dict[str, list[str]]:
    """The rules of each chain."""
    found: dict[str, list[str]] = {}
    for line in (line.text.strip() for line in guard_lines(want)):
        opened = re.fullmatch(r"chain (\S+) {", line)
        if opened:
            found[opened[1]] = []
        elif found and line != "}":
            found[list(found)[-1]].append(line)
    return found


@settings(max_examples=50, deadline=None)
@given(wishes())
def test_nothing_is_looked_up_in_a_set(want: Wanted) -> None:
    rules = [rule for chain in chains(want).values() for rule in chain]
    assert not [rule for rule in rules if "@" in rule or "{" in rule]


def test_each_hook_has_two_chains_before_those_of_the_table() -> None:
    found = chains(declared(policy()))
    assert [found[f"input_{before}"] for before in (3, 2)] == [
        [f"type filter hook input priority filter - {before}; policy accept;", "jump input"] for before in (3, 2)
    ]
    assert [found[f"forward_{before}"][1] for before in (3, 2)] == ["jump forward", "jump forward"]


def test_ports_are_closed_to_new_connections_in_as_few_rules_as_there_can_be() -> None:
    found = chains(
        declared(
            policy("a", [443, "8000-8009"], allow_from=["192.0.2.1"]),
            policy("b", ["8010-8020"]),
            policy("c", [53], protocol="udp", host_address="2001:db8::1"),
        )
    )
    closed = [
        "meta l4proto tcp ct original proto-dst 443 drop",
        "meta l4proto tcp ct original proto-dst 8000-8020 drop",
        "meta l4proto udp ct original ip6 daddr 2001:db8::1 ct original proto-dst 53 drop",
    ]
    assert found["published"] == closed
    tracked = ["ct direction reply return", "ct state related return", "ct state established return"]
    assert found["input"] == ['iifname "lo" return', *tracked, *closed]
    assert found["forward"] == [*tracked, 'meta oifkind "bridge" goto into']
    assert found["into"] == ["ct status dnat goto published", "ct state new,untracked drop"]


def test_what_everybody_may_reach_stays_open() -> None:
    public = policy("web", [80], allow_from=EVERYBODY)
    assert chains(declared(public, policy("db", [5432])))["published"] == [
        "meta l4proto tcp ct original proto-dst 5432 drop"
    ]
    assert chains(declared(public, default="drop"))["published"] == [
        "meta l4proto tcp ct original proto-dst 80 return",
        "drop",
    ]
    half = policy("web", [80], allow_from=EVERYBODY[:1])
    assert chains(declared(half))["published"] == ["meta l4proto tcp ct original proto-dst 80 drop"]
    one = policy("web", [80], allow_from=EVERYBODY[:1], host_address="192.0.2.1")
    assert chains(declared(one))["published"] == []


def test_what_the_policy_leaves_open_the_guard_leaves_open() -> None:
    found = chains(declared(direct_access="return"))
    assert (found["published"], found["into"]) == ([], ["ct status dnat goto published"])


def test_connections_that_were_there_before_are_held_up_where_they_shall_be_cut() -> None:
    found = chains(declared(policy(), cut_existing=True))
    assert "ct state established return" not in found["input"] + found["forward"]
    assert "ct state new,established,untracked drop" in found["into"]


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 5)), max_size=12))
def test_joined_ranges_hold_the_same_ports_and_never_touch(listed: list[tuple[int, int]]) -> None:
    given_ports = [Ports(first, first + more) for first, more in listed]
    found = joined(given_ports)
    assert all(any(port in each for each in found) == any(port in each for each in given_ports) for port in range(70))
    assert all(one.last + 1 < other.first for one, other in itertools.pairwise(found))


@pytest.mark.parametrize(("default", "rules"), [("drop", 1), ("return", 0)])
def test_what_docker_serves_is_closed_by_its_group_in_a_file_of_its_own(default: str, rules: int) -> None:
    want = declared(policy(), default=default)
    files = NFTABLES.policy_files(Host(group=GROUP, group_path=GROUP), want)
    guard = files[places.RUNNING_SERVED_GUARD_FILE]
    assert guard == files[places.SERVED_GUARD_FILE]
    assert guard.count("add rule inet docker_firewall_guard input ct state new,untracked socket cgroupv2") == rules
    assert f'include "{places.RUNNING}/*.guard"' in files[places.GUARD_FILE]
    assert places.RUNNING_SERVED_GUARD_FILE not in NFTABLES.policy_files(Host(group_path=GROUP), want)


def commands() -> t.Iterator[tuple[str, str]]:
    """The units' lines that load a file, and the file."""
    for text in places.standing_files("/run/docker.sock").values():
        for line in re.findall(r"(?m)^Exec\w+=(/bin/sh .*)$", text):
            yield line, re.findall(r"-f (\S+)", line)[1]


def test_units_load_every_file_behind_the_guard() -> None:
    texts = places.standing_files("/run/docker.sock").values()
    assert not [text for text in texts if re.search(r"(?m)^Exec\w+=/usr/sbin/nft", text)]
    state = places.STATE
    assert sorted(file for _line, file in commands()) == [
        *[f"{state}/nftables-start.nft"] * 2,
        f"{state}/nftables-stop.nft",
        *[places.TABLE_FILE] * 3,
    ]


@pytest.mark.parametrize(("fails", "done", "status"), [("", 3, 0), ("guard.nft", 2, 1), ("table.nft", 3, 1)])
def test_the_guard_goes_whatever_comes_of_the_file(tmp_path: Path, fails: str, done: int, status: int) -> None:
    line = next(line for line, file in commands() if file == places.TABLE_FILE)
    assert "$" not in line, "which systemd would replace"
    nft, told = tmp_path / "nft", tmp_path / "told"
    nft.write_text(f'#!/bin/sh\necho "$*" >> {told}\ncase "$*" in *"/{fails or "none"}") exit 1;; esac\n')
    nft.chmod(0o755)
    ended = subprocess.run(shlex.split(line.replace(places.NFT, str(nft))), check=False)
    called = told.read_text().splitlines()
    assert (len(called), ended.returncode) == (done, status)
    assert called[0] == f"-f {places.GUARD_FILE}"
    name = "docker_firewall_guard"
    assert called[-1] == f"add table inet {name}; delete table inet {name}"
