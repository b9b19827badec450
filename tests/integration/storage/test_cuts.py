"""Runs that are killed, and what the next run makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.integration.storage.pool_host import SEEN_CUTS, WRITER, PoolHost, PoolResult, volume
from tests.integration.storage.releases import every_release, every_release_newest_always

pytestmark = [pytest.mark.qemu, pytest.mark.slow]

VOLUMES = [volume("bits", "60MiB"), volume("rest", "100%FREE")]
#: Disks of one kind get the same steps, so only the first and the last of them are cut at; the beginning of a step is
#: the end of the one before, and a file is in place when it was written.
ONE_OF_A_KIND = r"^(?!Partition \S+-[bc]:)(?!.*: (begins|put \S+ in place)$)"
#: Far more than a chain has moments.
MOST_RUNS = 150


def through_cuts(store: PoolHost, disks: Sequence[str], pattern: str = ONE_OF_A_KIND) -> int:
    """Run the module until it comes to its end, killing it at every moment once; returns how often it was killed."""
    cut = {"pattern": pattern, "seen": SEEN_CUTS}
    # Steps of an earlier chain have the same titles, and shall be cut at again.
    store.run("rm", "-f", SEEN_CUTS)
    for kills in range(MOST_RUNS):
        result = store.pool(disks, volumes=VOLUMES, cut=cut)
        if not result.killed:
            assert not result.failed, result.message
            return kills
    raise AssertionError(f"not at the end after {MOST_RUNS} runs")


def shape(result: PoolResult) -> Mapping[str, Any]:
    """What two ends must share; what is drawn at random, such as UUIDs, is left out."""
    pool = result.values["pool"]
    serials = {disk["node"]: disk["serial"] for disk in pool["disks"]}
    return {
        "capacity": pool["capacity"],
        "free": pool["free"],
        "disks": {
            disk["serial"]: sorted((each["start"], each["size"], each["index"]) for each in disk["slices"])
            for disk in pool["disks"]
        },
        "arrays": [
            {
                **{key: array[key] for key in ("name", "level", "devices", "size", "chunk", "bitmap", "missing")},
                "members": sorted((serials[each["disk"]], each["state"]) for each in array["members"]),
            }
            for array in pool["arrays"]
        ],
        "volumes": [{key: each[key] for key in each if key != "device"} for each in pool["volumes"]],
    }


@pytest.mark.proof(area="storage", line=2, title="Creating a pool, killed after every command and step: the same end")
@every_release_newest_always
def test_a_new_pool_comes_to_the_same_end_however_often_its_making_is_killed(store: PoolHost) -> None:
    store.plug("a", "b", "c", "d")
    with store.returning():
        whole = shape(store.settled("abcd", volumes=VOLUMES))
    kills = through_cuts(store, "abcd")
    assert kills >= 18
    assert shape(store.at_rest("abcd", volumes=VOLUMES)) == whole


def _growing_once(store: PoolHost) -> None:
    """A pool of four disks with data on it, which two swaps have given a second slice, a mirror."""
    store.plug("a", "b", "c", "d")
    store.settled("abcd", volumes=VOLUMES)
    store.swap("a", "e", "201M")
    store.settled("ebcd", volumes=VOLUMES)


@pytest.mark.proof(area="storage", line=2, title="Repairing and growing, killed after every command and step: same end")
@every_release
def test_growth_comes_to_the_same_end_however_often_it_is_killed_and_loses_nothing(store: PoolHost) -> None:
    store.at("growing-once", _growing_once)
    swaps = (("b", "f", "efcd"), ("c", "g", "efgd"))
    with store.returning():
        ends = []
        steps = []
        for old, new, disks in swaps:
            store.swap(old, new, "201M")
            whole = store.settled(disks, volumes=VOLUMES)
            ends.append(shape(whole))
            steps.append(len(whole.values["plan"]))
    still = store.fill("/srv/bits", 30)
    store.start_writer("/srv/rest")
    for (old, new, disks), least in zip(swaps, steps, strict=True):
        store.swap(old, new, "201M")
        before = store.acknowledged()
        assert through_cuts(store, disks) >= least
        store.writer_goes_on(before)
        store.check_records("/srv/rest")
    assert shape(store.at_rest("efgd", volumes=VOLUMES)) == ends[-1]
    assert [each["level"] for each in ends[-1]["arrays"]] == ["raid5", "raid5"]
    assert store.hash("/srv/bits/still") == still
    store.run("systemctl", "stop", WRITER)
    assert store.check_records("/srv/rest") == store.acknowledged()


@pytest.mark.proof(area="storage", line=2, title="A killed run's child works on: the next run waits for it")
@pytest.mark.parametrize("program", ["mdadm", "mkfs.ext4"])
@every_release
def test_a_run_waits_for_the_command_that_a_killed_run_left_behind(store: PoolHost, program: str) -> None:
    store.plug("a", "b", "c")
    first = store.pool("abc", volumes=VOLUMES, orphan={"program": program, "seconds": 15})
    assert first.killed
    second = store.grown("abc", volumes=VOLUMES)
    assert second.seconds > 10
    done_by_the_child = {"mdadm": "Create array data-0", "mkfs.ext4": "Make an ext4 file system on bits"}[program]
    assert not any(title.startswith(done_by_the_child) for title in second.titles)
    store.at_rest("abc", volumes=VOLUMES)
