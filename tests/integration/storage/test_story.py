"""The article's story, as an operator lives it: the playbook, one disk after the other, while the pool is in use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.storage.pool_host import POOL, PoolHost, by_id, volume
from tests.integration.storage.releases import every_release
from tests.playbook import Played, play, playbook_argv

MODULE = "baremetal.fabric.raid_pool"
VOLUMES = [volume("bits", "100MiB"), volume("pieces", "100MiB")]


def play_growth(store: PoolHost, disks: Sequence[str], log: Path) -> Played:
    """Run the playbook for a pool on these disks."""
    variables: dict[str, Any] = {
        "storage_grow_hosts": store.host.name,
        "storage_pool_name": POOL,
        "storage_pool_disks": [by_id(disk) for disk in disks],
        "storage_pool_volumes": VOLUMES,
        "storage_pool_install_packages": False,
    }
    inventory = store.host.lab.inventory
    return play(playbook_argv("playbooks/storage_grow.yml", [inventory], "-e", json.dumps(variables)), log)


@pytest.mark.proof(area="storage", line=1, title="The story: 288, 384, 484, 580 MiB by hot swaps in use, nothing lost")
@pytest.mark.qemu
@pytest.mark.slow
@every_release
def test_a_pool_grows_swap_by_swap_while_it_is_written_to_and_loses_nothing(store: PoolHost, tmp_path: Path) -> None:
    store.host.snapshot_load("fresh")
    store.plug("vda", "vdb", "vdc", "vdd")
    disks = ["vda", "vdb", "vdc", "vdd"]
    played = play_growth(store, disks, tmp_path / "start.log")
    result = played.of(MODULE)
    assert (result["pool"]["capacity"] // 2**20, _shapes(result)) == (288, [("raid5", 4, 292.5)])

    still = store.fill("/srv/bits", 60)
    store.start_writer("/srv/pieces")
    story: list[tuple[str, str, str, int, list[tuple[str, int, float]]]] = [
        ("vda", "new-a", "201M", 288, []),
        ("vdb", "new-b", "201M", 384, [("raid1", 2, 98.9375)]),
        ("vdc", "new-c", "201M", 484, [("raid5", 3, 197.875)]),
        ("vdd", "new-d", "301M", 580, [("raid5", 4, 296.8125)]),
    ]
    for old, new, size, capacity, second_slice in story:
        store.swap(old, new, size)
        disks[disks.index(old)] = new
        before = store.acknowledged()
        played = play_growth(store, disks, tmp_path / f"{new}.log")
        runs = [each for each in played.results if each.action == MODULE]
        assert (len(runs), played.changed) == (1, 1), "one task for each host and step"
        result = runs[0].values
        assert (result["pool"]["capacity"] // 2**20, _shapes(result)[1:]) == (capacity, second_slice)
        assert not result["pending"]
        assert store.acknowledged() > before, "nothing was written meanwhile"
        store.check_records("/srv/pieces")

    again = play_growth(store, disks, tmp_path / "again.log")
    assert again.changed == 0
    assert not again.of(MODULE)["plan"]
    assert store.hash("/srv/bits/still") == still
    store.check_records("/srv/pieces")


def _shapes(result: Any) -> list[tuple[str, int, float]]:
    return [(each["level"], each["devices"], each["size"] / 2**20) for each in result["pool"]["arrays"]]
