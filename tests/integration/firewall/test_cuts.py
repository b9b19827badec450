"""Runs that are killed, and lines that the kernel does not take: the old policy or the new one, never neither."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.integration.firewall.clients import Target
from tests.integration.firewall.declared import attempt, declare, policy, run
from tests.integration.firewall.docker_host import DockerHost, Service
from tests.integration.firewall.engines import on, settings
from tests.integration.firewall.loaded import loaded_at_boot, seen, without_handles
from tests.integration.firewall.places import ADDRESSES, DOCK
from tests.integration.firewall.stage import Stage

WEB = Service("web", ("tcp:443",), ("8443:443", "8444:443"))
OLD = [policy("web", 8443)]
#: Other sources, another port, another policy: elements change, and then the whole table.
NEW_ELEMENTS = [policy("web", 8443, 8444, allow=["192.0.2.2", "198.51.100.0/24"])]
NEW_TABLE = [policy("web", 8443), policy("more", 8444, log=True)]
#: Far more than a run has moments.
MOST_RUNS = 80


def through_cuts(dock: DockerHost, policies: Sequence[dict[str, Any]], legal: Sequence[str], **options: Any) -> int:
    """Run until the end, killed at every moment once; the kernel and the next boot have a whole policy each time."""
    known = [without_handles(text) for text in legal]
    left = []
    for kills in range(MOST_RUNS):
        result = attempt(dock, policies, cut={"pattern": "", "seen": "/root/cuts"}, **options)
        assert without_handles(seen(dock)) in known
        assert without_handles(loaded_at_boot(dock)) in known
        left.append("docker_firewall_next" in dock.run("nft", "list", "tables"))
        if not result.killed:
            assert not result.failed, result.message
            assert any(left), "no run was killed while the second table was there"
            assert not left[-1]
            return kills
    raise AssertionError(f"not at the end after {MOST_RUNS} runs")


@pytest.mark.proof(area="firewall", line=5, title="Killed at every moment of a change: the old policy or the new one")
@pytest.mark.parametrize("new", [NEW_ELEMENTS, NEW_TABLE], ids=["elements", "table"])
@on(settings("26.1", "20.10", proxy=True), in_make_test=True)
def test_a_change_that_is_killed_leaves_a_whole_policy(stage: Stage, new: Sequence[dict[str, Any]]) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, new)
    after = seen(dock)
    declare(dock, OLD)
    before = seen(dock)
    target = Target(ADDRESSES[DOCK][4], 8443)
    with stage.denied.knocking(target) as knocking:
        kills = through_cuts(dock, new, [before, after])
    assert kills >= 4
    assert knocking.attempts > 1000
    assert knocking.successes == 0, knocking.moments
    assert without_handles(seen(dock)) == without_handles(after)
    again = run(dock, new)
    assert (again.changed, again.titles) == (False, [])


@pytest.mark.proof(area="firewall", line=5, title="Killed at every moment of the first run and of a removal")
@on(settings("26.1", proxy=True))
def test_a_first_run_and_a_removal_that_are_killed_are_ended_by_the_next_run(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    kills = []
    for options in ({}, {"state": "absent"}):
        dock.run("rm", "-f", "/root/cuts")
        result = attempt(dock, OLD, cut={"pattern": "", "seen": "/root/cuts"}, **options)
        for _run in range(MOST_RUNS):
            if result.killed:
                result = attempt(dock, OLD, cut={"pattern": "", "seen": "/root/cuts"}, **options)
        assert not result.killed
        assert not result.failed, result.message
        kills.append(len(dock.read("/root/cuts").splitlines()))
        again = run(dock, OLD, **options)
        assert (again.changed, again.titles) == (False, [])
    assert min(kills) >= 6
    assert stage.denied.can(DOCK, 8443)


@pytest.mark.proof(
    area="firewall", line=4, title="A line that the kernel refuses: told with its policy, nothing changed"
)
@pytest.mark.parametrize("check", [False, True], ids=["run", "check"])
@on(settings("26.1", "20.10", proxy=True), in_make_test=True)
def test_a_line_that_the_kernel_refuses_leaves_the_old_policy(stage: Stage, check: bool) -> None:
    dock = stage.dock
    declare(dock, OLD)
    before, boot = seen(dock), loaded_at_boot(dock)
    # No declaration makes a line that is refused, so the module's own words for the log's rate are replaced.
    overflow = {"_firewall.ruleset._LOG_RATE": "limit rate 18446744073709551615/week"}
    result = attempt(dock, NEW_TABLE, check=check, instead=overflow)
    assert result.failed
    assert "policy 'more', line " in result.message, result.message
    assert "limit rate" in result.message
    assert seen(dock) == before
    assert loaded_at_boot(dock) == boot
    # And the next run that is right is not hindered by it.
    declare(dock, NEW_TABLE)


@pytest.mark.proof(area="firewall", line=6, title="Others' tables are byte-identical; a removal leaves nothing")
@on(settings("20.10", "26.1", "28.5", proxy=True))
def test_what_belongs_to_others_is_left_alone_and_a_removal_leaves_nothing(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    dock.load(
        "table inet theirs { set s { type ipv4_addr; elements = { 192.0.2.9 }; }; chain c { ip saddr @s drop; }; }\n"
    )
    files, others = everything(dock), dock.rules_of_others()
    assert "theirs" in others
    assert "DOCKER" in others
    declare(dock, OLD, default="drop")
    declare(dock, NEW_TABLE)
    assert dock.rules_of_others() == others
    declare(dock, OLD, state="absent")
    assert dock.rules_of_others() == others
    assert dock.table() is None
    assert everything(dock) == files
    assert stage.denied.can(DOCK, 8443)


def everything(dock: DockerHost) -> list[str]:
    """Every file and directory that a run could leave, and every unit that is loaded or failed."""
    found = dock.run("find", "/etc", "/usr/local", "/var/lib/baremetal.fabric", "-not", "-name", "*.pyc", check=False)
    units = json.loads(dock.run("systemctl", "list-units", "--all", "--output=json", "*firewall*"))
    return sorted([*found.splitlines(), *(unit["unit"] for unit in units if "firewalld" not in unit["unit"])])
