"""Hot replacement: the old disk serves until its copy is complete."""

from __future__ import annotations

import pytest

from tests.integration.storage.pool_host import PoolHost, by_id
from tests.integration.storage.pools import SLOW, VOLUMES, check_data, four_in_use
from tests.integration.storage.releases import every_release

pytestmark = [pytest.mark.qemu, pytest.mark.slow]

REPLACE = [{"old": by_id("b"), "new": by_id("e")}]
WATCH = "fabric-watch.service"


def watch_redundancy(store: PoolHost) -> None:
    """Record from now on, several times a second, how many members any array lacks."""
    script = "while :; do cat /sys/block/md*/md/degraded >> /run/degraded; sleep 0.1; done"
    store.run("systemd-run", f"--unit={WATCH}", "--collect", "sh", "-c", script)
    store.until(("test", "-s", "/run/degraded"), 30)


def most_missing(store: PoolHost) -> int:
    """The most members that were lacking since; it was looked at often enough to mean something."""
    samples = store.read("/run/degraded").split()
    assert len(samples) > 20
    return max(int(sample) for sample in samples)


@pytest.mark.proof(area="storage", line=5, title="Replaced under write load: redundant throughout")
@pytest.mark.parametrize("size", ["101M", "201M"])
@every_release
def test_a_disk_is_replaced_under_write_load_and_redundancy_is_never_lost(store: PoolHost, size: str) -> None:
    four_in_use(store)
    still, before = store.hash("/srv/bits/still"), store.acknowledged()
    store.plug("e", size=size)
    watch_redundancy(store)
    result = store.settled("aecd", volumes=VOLUMES, replace=REPLACE)
    assert any(title.startswith("Replace ") for title in result.titles)
    assert most_missing(store) == 0
    old = store.host.disks()["b"]
    assert "linux_raid_member" not in store.sh(f"blkid -p -o export {old}-part1", check=False)
    # The old disk goes home, and the declaration forgets it.
    store.pull("b")
    store.at_rest("aecd", volumes=VOLUMES)
    check_data(store, still, before)


@pytest.mark.proof(area="storage", line=5, title="Replaced under write load, the old disk fails midway: repaired")
@every_release
def test_an_old_disk_that_fails_during_its_replacement_is_survived(store: PoolHost) -> None:
    four_in_use(store)
    still, before = store.hash("/srv/bits/still"), store.acknowledged()
    store.plug("e")
    store.hold(SLOW)
    begun = store.grown("aecd", volumes=VOLUMES, replace=REPLACE, wait=False)
    assert begun.pending
    states = store.sh("cat /sys/block/md*/md/dev-*/state")
    assert "want_replacement" in states, states
    store.pull("b")
    store.writer_goes_on(store.acknowledged())
    store.release()
    result = store.settled("aecd", volumes=VOLUMES, replace=REPLACE)
    assert result.values["pool"]["redundant"]
    disks = {member["disk"] for member in result.array(0)["members"]}
    assert store.sh(f"readlink -f {by_id('e')}").strip() in disks
    check_data(store, still, before)
