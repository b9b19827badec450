# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What modules tell of a pool in numbers, and what the next disk would bring."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.facts import facts
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.growth import plan_pool
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.inventory import (
    declared_as_found,
    describe,
    look_at_pools,
    next_replacement,
    pool_names,
    wanted_as_found,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import MIB, Activity, Pool
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.pool import new_regions, pending_work

from .simulated_host import SimulatedHost


@pytest.fixture
def host() -> SimulatedHost:
    """Four disks of the article, made into a pool."""
    host = SimulatedHost()
    for _disk in range(4):
        host.plug(101 * MIB)
    host.run()
    return host


def test_facts_are_data(host: SimulatedHost) -> None:
    told = facts(host.pool)
    assert json.loads(json.dumps(told)) == told
    assert told["capacity"] == told["free"] == 288 * MIB
    assert told["settled"]
    assert told["redundant"]
    assert [array["level"] for array in told["arrays"]] == ["raid5"]
    assert [member["state"] for member in told["arrays"][0]["members"]] == ["in_sync"] * 4
    assert [disk["slices"][0]["index"] for disk in told["disks"]] == [0] * 4


def test_a_pulled_disk_shows_in_the_facts(host: SimulatedHost) -> None:
    host.pull(1, forget=False)
    told = facts(host.pool)
    assert not told["redundant"]
    assert told["absent"] == ["/dev/disk/by-id/1"]


def test_facts_of_nothing_are_facts_too() -> None:
    assert facts(Pool("data"))["redundant"] is False
    assert facts(Pool("data"))["capacity"] == 0


def test_a_pool_as_found_is_its_own_declaration(host: SimulatedHost) -> None:
    undeclared = replace(host.pool, disks=tuple(replace(disk, path="") for disk in host.pool.disks))
    found = declared_as_found(undeclared)
    assert plan_pool(found, wanted_as_found(found)) == ()


def test_the_next_disk_repairs_first_so_nothing_is_promised_while_one_is_missing(host: SimulatedHost) -> None:
    assert next_replacement(host.pool, 201 * MIB, 16)
    host.pull(0)
    assert next_replacement(host.pool, 201 * MIB, 16) == []


def test_the_gain_of_the_next_disk_is_what_the_exchange_then_brings(host: SimulatedHost) -> None:
    host.pull(0)
    host.plug(201 * MIB)
    host.run()
    told = next_replacement(host.pool, 201 * MIB, 16)
    assert [each["gain"] for each in told] == [96 * MIB, 96 * MIB, 96 * MIB, 0]
    best = int(told[0]["disk"].rpartition("/")[2])
    host.pull(best)
    host.plug(201 * MIB)
    host.run()
    assert facts(host.pool)["capacity"] == told[0]["size"] == 384 * MIB


def test_without_a_size_the_next_disk_is_as_large_as_the_largest(host: SimulatedHost) -> None:
    host.pull(0)
    host.plug(301 * MIB)
    host.run()
    told = describe(host.pool, declared=True, replacement=0, members=16)
    assert told["replacement"] == 301 * MIB
    assert told["next_replacement"][0]["gain"] > 0
    assert told["layout"].startswith("Pool data: 288 MiB")
    assert json.dumps(told)


def test_room_that_waits_is_a_finding_only_where_disks_are_declared(host: SimulatedHost) -> None:
    host.pull(0)
    host.plug(301 * MIB)
    host.run()
    assert any("wait" in finding for finding in describe(host.pool, True, 0, 16)["findings"])
    assert describe(host.pool, False, 0, 16)["findings"] == []


def test_work_under_way_is_pending_with_its_progress(host: SimulatedHost) -> None:
    array = replace(host.pool.arrays[0], activity=Activity("recover", 25 * MIB, 100 * MIB, 5 * MIB))
    [work] = pending_work(replace(host.pool, arrays=(array,)))
    assert work.as_dict() == {"what": "Recovery of array data-0", "percent": 25.0, "seconds_left": 15.0}
    [work] = pending_work(replace(host.pool, arrays=(replace(array, activity=Activity("resync", delayed=True)),)))
    assert work.what == "Resync of array data-0, waiting its turn"
    [work] = pending_work(replace(host.pool, arrays=(replace(array, activity=None, hidden_reshape=True),)))
    assert work.what == "Interrupted reshape of array data-0"
    assert pending_work(host.pool) == ()


def test_only_disks_that_are_new_to_the_pool_are_probed_where_slices_go(host: SimulatedHost) -> None:
    host.pull(0)
    host.plug(201 * MIB)
    host.run()
    host.pull(1)
    number = host.plug(201 * MIB)
    plan = plan_pool(host.pool, host.want)
    assert {disk for disk, _offset, _size in new_regions(host.pool, plan)} == {f"/dev/sd{number}x"}
    assert new_regions(host.pool, plan)[0][1] == MIB
    host.run()
    assert new_regions(host.pool, plan_pool(host.pool, host.want)) == ()


def test_pools_are_found_by_the_names_on_their_partitions(tmp_path: Path) -> None:
    labels = {"sda1": "data-0", "sda2": "data-12", "sdb1": "big-data-0", "sdb2": "EFI", "sdb3": "data-x", "sdb4": "-3"}
    for name, label in labels.items():
        folder = tmp_path / "sys/block" / name[:3] / name
        folder.mkdir(parents=True)
        (folder / "partition").write_text(name[3:])
        (folder / "uevent").write_text(f"DEVTYPE=partition\nPARTNAME={label}\n")
    assert pool_names(Host(str(tmp_path))) == ("big-data", "data")


def test_disks_without_a_pool_make_no_sense() -> None:
    with pytest.raises(Refusal, match="say with 'name'"):
        look_at_pools({"name": None, "disks": ["/dev/sda"], "replacement": None, "members": 16}, Runner())


def test_a_replacement_must_be_a_size() -> None:
    with pytest.raises(Refusal, match="replacement: 'big' is no size"):
        look_at_pools({"name": "data", "disks": [], "replacement": "big", "members": 16}, Runner())
