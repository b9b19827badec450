# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans: they lead where they should, in an order that is safe to cut, from wherever a host is."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall import places
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.backends import chosen
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.docker_user import user_chains, user_rules
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.model import (
    Chain,
    Table,
    Undo,
    UserRules,
    Wanted,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.planning import plan_firewall
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.ruleset import GUARD, NEXT, PASSING, blueprint
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.steps import (
    ArmUndo,
    ChangeElements,
    DeleteTable,
    DisarmUndo,
    FirewallStep,
    ForgetUndone,
    LoadTable,
    RemovePassing,
    StartUnits,
    WriteFiles,
)
from tests.unit.firewall.declared import declared, policy, wishes

PROGRAM = "digest"
AROUND = {"docker": frozenset(("docker0", "br-shop")), "foreign": frozenset(("virbr0",))}


def plan(host: Host, want: Wanted) -> list[FirewallStep]:
    steps = []
    for step in plan_firewall(host, want, PROGRAM):
        assert isinstance(step, FirewallStep)
        steps.append(step)
    return steps


def after(host: Host, steps: t.Iterable[FirewallStep]) -> Host:
    for step in steps:
        host = step.after(host)
    return host


def converged(host: Host, want: Wanted) -> Host:
    """The host after a run, and after the confirmation that the run may need."""
    host = after(host, plan(host, want))
    assert plan(host, want) == []
    if host.undo is not None:
        confirm = replace(want, confirm=host.undo.token)
        host = after(host, plan(host, confirm))
        assert plan(host, confirm) == []
    return host


#: What the kernel has: the table, and the chains below DOCKER-USER.
Kernel = tuple[Table | None, Mapping[int, UserRules]]


def kernel(host: Host) -> Kernel:
    return host.table, host.chains


def kernel_of(want: Wanted) -> Kernel:
    """What a wish leads to."""
    if want.absent:
        return None, {}
    if want.backend == "docker_user":
        return None, {version: user_rules(user_chains(want, AROUND, version)) for version in (4, 6)}
    return blueprint(want, AROUND).table, {}


def whole(cut: Host, old: Kernel, new: Kernel) -> bool:
    """Whether a host has one policy or the other, or on the way from one backend to the other both."""
    table, chains = kernel(cut)
    both = table in (old[0], new[0]) and chains in (old[1], new[1])
    return both and ((table is not None or bool(chains)) or (None, {}) in (old, new))


@settings(max_examples=40, deadline=None)
@given(st.lists(wishes(), min_size=1, max_size=3))
def test_every_wish_is_met_from_wherever_the_last_one_led(wanted: list[Wanted]) -> None:
    host = Host(around=AROUND)
    for want in wanted:
        host = converged(host, want)
        assert kernel(host) == kernel_of(want)
        assert plan(host, want) == []
    if wanted[-1].absent:
        assert host == Host(around=AROUND)


@settings(max_examples=30, deadline=None)
@given(wishes(), wishes(), st.sets(st.sampled_from(PASSING), min_size=1))
def test_tables_that_a_killed_run_has_left_are_removed_and_change_nothing_else(
    old: Wanted, new: Wanted, left: set[str]
) -> None:
    start = converged(Host(around=AROUND), old)
    assert converged(replace(start, passing=frozenset(left)), new) == converged(start, new)


@settings(max_examples=60, deadline=None)
@given(wishes(), wishes(), st.integers(0, 20), st.booleans())
def test_a_run_that_is_cut_off_leaves_the_old_policy_or_the_new_one_and_the_next_run_ends_the_same(
    old: Wanted, new: Wanted, at: int, reboots: bool
) -> None:
    start = converged(Host(around=AROUND), old)
    end = converged(start, new)
    cut = after(start, plan(start, new)[:at])
    assert whole(cut, kernel(start), kernel_of(new))
    if reboots:
        cut = booted(cut, (old, new))
        assert whole(cut, kernel(start), kernel_of(new))
    assert converged(cut, new) == end


def booted(host: Host, wanted: t.Iterable[Wanted]) -> Host:
    """What a reboot leaves: the files, and what the loader loads that one of these wishes has written into them."""
    found: Kernel = None, {}
    loader = f"{places.UNITS}/{places.LOADER}"
    for want in wanted:
        backend = chosen(want)
        kept = {**backend.policy_files(host, want), loader: backend.standing_files(want.docker_socket)[loader]}
        if places.LOADER in host.enabled and all(host.files.get(path) == text for path, text in kept.items()):
            found = kernel_of(replace(want, absent=False))
    undo = None if host.undo is None else replace(host.undo, armed=False)
    return replace(host, table=found[0], chains=found[1], active=host.enabled, undo=undo)


def test_a_first_policy_is_kept_when_the_kernel_has_taken_it_and_started_last() -> None:
    steps = plan(Host(around=AROUND), declared(policy()))
    kinds = [type(step).__name__ for step in steps]
    assert kinds == ["LoadTable", "WriteFiles", "InstallProgram", "WriteFiles", "StartUnits"]
    start = steps[-1]
    assert isinstance(start, StartUnits)
    assert start.enable == (places.LOADER, places.WATCHER)


def test_another_source_is_one_element_in_one_transaction() -> None:
    before = declared(policy(allow_from=["192.0.2.1"]), policy("db", [5432]))
    host = converged(Host(around=AROUND), before)
    steps = plan(host, declared(policy(allow_from=["192.0.2.1", "198.51.100.0/24"]), policy("db", [5432])))
    change = next(step for step in steps if isinstance(step, ChangeElements))
    assert change.title == "Change elements of from4_web: add 1"
    assert [line.text for line in change.lines] == [
        "add element inet docker_firewall from4_web { 198.51.100.0/24 }",
    ]
    assert [type(step) for step in steps] == [ChangeElements, WriteFiles]


def test_neighbours_that_merge_replace_the_element_that_was_there() -> None:
    host = converged(Host(around=AROUND), declared(policy(allow_from=["192.0.2.0/25"])))
    steps = plan(host, declared(policy(allow_from=["192.0.2.0/24"])))
    change = next(step for step in steps if isinstance(step, ChangeElements))
    assert [line.text for line in change.lines] == [
        "delete element inet docker_firewall from4_web { 192.0.2.0/25 }",
        "add element inet docker_firewall from4_web { 192.0.2.0/24 }",
    ]


def test_another_policy_replaces_the_table() -> None:
    host = converged(Host(around=AROUND), declared(policy()))
    steps = plan(host, declared(policy(), policy("db", [5432])))
    load = next(step for step in steps if isinstance(step, LoadTable))
    assert load.title == (
        "Load the table inet docker_firewall with 2 policies, which docker_firewall_next holds meanwhile"
    )
    assert load.reason == "its chains or sets are not as declared"


def test_a_table_that_is_replaced_is_held_by_a_second_one_that_says_the_same() -> None:
    want = declared(policy(log=True, allow_from=["192.0.2.1"]))
    (load,) = (step for step in plan(Host(around=AROUND), want) if isinstance(step, LoadTable))
    (alone,) = load.transactions
    host = converged(Host(around=AROUND), declared(policy()))
    (load,) = (step for step in plan(host, want) if isinstance(step, LoadTable))
    assert len(load.commands) == 3
    before, itself, after_it = ([line.text for line in lines] for lines in load.transactions)
    assert itself == [line.text for line in alone]
    assert before[:3] == [
        "table inet docker_firewall_next { }",
        "delete table inet docker_firewall_next",
        "table inet docker_firewall_next {",
    ]
    assert before[4:] == [text.partition(" comment ")[0] for text in itself[4:]]
    assert after_it == before[:2]


def test_a_first_table_is_one_transaction_also_after_another_backend() -> None:
    host = converged(Host(around=AROUND), declared(policy(), backend="docker_user"))
    for start in (Host(around=AROUND), host):
        (load,) = (step for step in plan(start, declared(policy())) if isinstance(step, LoadTable))
        assert len(load.transactions) == len(load.commands) == 1


@pytest.mark.parametrize("ports", [(443, 80), (80,), ("440-450",)])
def test_other_ports_replace_the_table_as_what_a_map_misses_meets_no_policy(ports: tuple[int | str, ...]) -> None:
    host = converged(Host(around=AROUND), declared(policy("web", [443])))
    (load,) = (step for step in plan(host, declared(policy("web", ports))) if isinstance(step, LoadTable))
    assert load.replaces
    assert load.reason == "ports changed"


def test_a_table_that_was_left_is_removed_and_says_why() -> None:
    want = declared(policy(), confirm_timeout=60)
    host = replace(converged(Host(around=AROUND), want), passing=frozenset(PASSING))
    steps = plan(host, want)
    assert [(step.title, step.reason) for step in steps] == [
        ("Remove the table inet docker_firewall_guard", "a load that was killed has left it, and it denies everybody"),
        (
            "Remove the table inet docker_firewall_next",
            "a run that was killed has left it, and it denies what that run wanted to be denied",
        ),
    ]
    name = "docker_firewall_guard"
    assert steps[0].commands == (("/usr/sbin/nft", f"add table inet {name}; delete table inet {name}"),)
    gone = plan(host, declared(state="absent"))
    assert {step.name for step in gone if isinstance(step, RemovePassing)} == {GUARD, NEXT}


def test_an_undo_holds_by_the_second_table_too() -> None:
    host = converged(Host(around=AROUND), declared(policy()))
    arm = plan(host, declared(policy(), policy("db", [5432]), confirm_timeout=60))[0]
    assert isinstance(arm, ArmUndo)
    assert arm.commands[-1][-3:] == (
        "/bin/sh",
        "-c",
        f"/usr/sbin/nft -f {places.UNDO_NEXT_FILE}; /usr/sbin/nft -f {places.UNDO_FILE}; "
        "/usr/sbin/nft 'add table inet docker_firewall_next; delete table inet docker_firewall_next'",
    )


def test_a_rule_of_somebody_else_in_the_table_is_replaced() -> None:
    want = declared(policy())
    host = converged(Host(around=AROUND), want)
    assert host.table is not None
    chain = host.table.chains["forward"]
    spoilt = replace(chain, rules=("rule 7 of somebody", *chain.rules))
    host = replace(host, table=replace(host.table, chains={**host.table.chains, "forward": spoilt}))
    assert [type(step) for step in plan(host, want)] == [LoadTable]


def test_an_unconfirmed_change_touches_nothing_that_outlives_a_boot() -> None:
    old = converged(Host(around=AROUND), declared(policy()))
    want = replace(declared(policy(), policy("db", [5432]), confirm_timeout=60), token="mine")
    steps = plan(old, want)
    assert [type(step) for step in steps] == [ArmUndo, LoadTable]
    tentative = after(old, steps)
    assert tentative.files == old.files
    assert tentative.undo == Undo("mine", "", armed=True)
    confirmed = plan(tentative, replace(want, confirm="mine"))
    assert [type(step) for step in confirmed] == [DisarmUndo, WriteFiles]


def test_a_network_of_docker_needs_no_confirmation() -> None:
    want = declared(policy(), confirm_timeout=60)
    host = converged(Host(around=AROUND), want)
    more = {**AROUND, "docker": frozenset(("docker0", "br-shop", "br-new"))}
    steps = plan(replace(host, around=more), want)
    assert [type(step) for step in steps] == [ChangeElements, WriteFiles]


def test_a_change_that_was_undone_is_noted_and_made_again() -> None:
    old = converged(Host(around=AROUND), declared(policy()))
    want = replace(declared(policy(), policy("db", [5432]), confirm_timeout=60), token="mine")
    undone = replace(old, undo=Undo("mine", "2026-01-01", armed=False))
    steps = plan(undone, want)
    assert [type(step) for step in steps] == [ForgetUndone, ArmUndo, LoadTable]
    assert steps[0].title == "Take note that the change of 2026-01-01 was undone"


@pytest.mark.parametrize(
    ("undo", "words"),
    [
        (Undo("mine", "2026-01-01", armed=False), "The change of 2026-01-01 is undone already"),
        (Undo("other", "2026-01-01", armed=True), "Another change was made since"),
    ],
)
def test_what_cannot_be_confirmed_any_more_is_refused(undo: Undo, words: str) -> None:
    want = replace(declared(policy(), confirm_timeout=60), confirm="mine")
    with pytest.raises(Refusal, match=words):
        plan(Host(around=AROUND, undo=undo), want)


def test_a_bridge_that_is_an_uplink_is_refused() -> None:
    with pytest.raises(Refusal, match="the bridge docker0, which also carries the default route"):
        plan(Host(around=AROUND, uplinks=frozenset(("docker0", "eth0"))), declared(policy()))


def test_ipv6_where_there_is_none_is_refused() -> None:
    host = Host(around=AROUND, has_ipv6=False)
    with pytest.raises(Refusal, match="Policy 'web' names IPv6 addresses"):
        plan(host, declared(policy(allow_from=["2001:db8::1"])))
    assert plan(host, declared(policy(allow_from=["192.0.2.1"])))


def test_a_removal_leaves_nothing_and_stops_the_watcher_first() -> None:
    host = converged(Host(around=AROUND), declared(policy()))
    steps = plan(host, declared(state="absent"))
    assert [type(step).__name__ for step in steps] == ["StopUnits", "DeleteTable", "RemoveFiles"]
    assert isinstance(steps[1], DeleteTable)
    assert plan(after(host, steps), declared(state="absent")) == []


GROUP = "/system.slice/docker.service"


def test_what_docker_serves_is_closed_by_its_group_and_never_kept_where_no_group_is() -> None:
    off = converged(Host(around=AROUND, group_path=GROUP), declared(policy(), default="drop"))
    assert off.table is not None
    assert off.table.chains["served"].rules == ()
    served = off.files[places.SERVED_FILE]
    assert 'socket cgroupv2 level 2 "system.slice/docker.service" counter drop' in served
    assert "socket" not in off.files[places.TABLE_FILE]
    assert places.RUNNING_SERVED_FILE not in off.files

    # What Docker's unit does at its start: the rule is loaded, and lies where a flush finds it.
    on = converged(replace(off, group=GROUP), declared(policy(), default="drop"))
    assert on.table is not None
    assert len(on.table.chains["served"].rules) == 1
    assert on.files[places.RUNNING_SERVED_FILE] == served
    assert on.files[places.TABLE_FILE] == off.files[places.TABLE_FILE]


@pytest.mark.parametrize("options", [{"default": "return"}, {"default": "drop", "no": "groups"}])
def test_nothing_names_a_group_where_none_is_wanted_or_there(options: dict[str, str]) -> None:
    path = "" if options.pop("no", "") else GROUP
    host = converged(Host(around=AROUND, group=path, group_path=path), declared(policy(), **options))
    assert "add rule" not in host.files[places.SERVED_FILE]
    assert host.table is not None
    assert not host.table.chains.get("served", Chain("")).rules


def test_a_group_of_an_earlier_start_of_docker_is_replaced() -> None:
    want = declared(policy(), default="drop")
    host = converged(Host(around=AROUND, group=GROUP, group_path=GROUP), want)
    assert host.table is not None
    served = host.table.chains["served"]
    stale = replace(served, rules=tuple(f"{rule} of a group that is gone" for rule in served.rules))
    host = replace(host, table=replace(host.table, chains={**host.table.chains, "served": stale}))
    assert [type(step) for step in plan(host, want)] == [LoadTable]
