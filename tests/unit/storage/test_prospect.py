# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import MIB
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.prospect import prospects
from tests.unit.storage.simulated_host import SimulatedHost, pool_of


def exchanged(host: SimulatedHost, number: int, mib: int) -> SimulatedHost:
    host.pull(number)
    host.plug(mib * MIB)
    host.run()
    return host


def test_a_prospect_is_what_the_exchange_then_really_brings() -> None:
    host = exchanged(pool_of(*[101 * MIB] * 4), 0, 201)
    found = {each.disk: each.gain // MIB for each in prospects(host.pool, host.want, 201 * MIB)}
    assert found == {"/dev/sd1x": 96, "/dev/sd2x": 96, "/dev/sd3x": 96, "/dev/sd4x": 0}
    assert exchanged(host, 1, 201).group_mib == 288 + 96


def test_the_best_exchange_comes_first() -> None:
    host = pool_of(100 * MIB, 200 * MIB, 300 * MIB)
    found = prospects(host.pool, host.want, 300 * MIB)
    assert [each.disk for each in found] == ["/dev/sd0x", "/dev/sd1x", "/dev/sd2x"]
    assert found[-1].gain == 0


def test_a_disk_that_is_too_small_brings_no_prospect() -> None:
    host = pool_of(*[200 * MIB] * 3)
    assert prospects(host.pool, host.want, 100 * MIB) == ()


def test_a_degraded_pool_must_not_lose_another_disk() -> None:
    host = pool_of(*[200 * MIB] * 3)
    host.pull(1, forget=False)
    assert prospects(host.pool, host.want, 400 * MIB) == ()
