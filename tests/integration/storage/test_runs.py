"""How runs behave: check mode, diff, two at once, and not waiting."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.integration.storage.pool_host import PoolHost
from tests.integration.storage.pools import SLOW, VOLUMES
from tests.integration.storage.releases import every_release

pytestmark = [pytest.mark.qemu, pytest.mark.slow]


@pytest.mark.proof(area="storage", line=10, title="Check mode shows the plan that is then carried out, and its end")
@every_release
def test_check_mode_tells_the_plan_and_the_picture_that_the_real_run_ends_with(store: PoolHost) -> None:
    # From nothing; then a swap that repairs and makes a mirror; then one that makes it raid5.
    store.plug("a", size="201M")
    store.plug("b", "c", "d", size="101M")
    swaps = [("", "", "abcd"), ("b", "e", "aecd"), ("c", "f", "aefd")]
    for old, new, disks in swaps:
        if old:
            store.swap(old, new, size="201M")
        untouched = "" if old else store.fingerprint(*"abcd")
        told = store.pool(disks, check=True, volumes=VOLUMES)
        assert told.changed
        if not old:
            assert store.fingerprint(*"abcd") == untouched
        done = store.settled(disks, volumes=VOLUMES)
        assert told.titles == done.titles
        assert told.values["plan"] == done.values["plan"]
        assert told.values["diff"] == done.values["diff"]
        assert told.values["diff"]["before"] != told.values["diff"]["after"]
        assert _sizes(told.values["pool"]) == _sizes(done.values["pool"])


def _sizes(pool: dict[str, object]) -> object:
    arrays, volumes = pool["arrays"], pool["volumes"]
    assert isinstance(arrays, list)
    assert isinstance(volumes, list)
    return (
        pool["capacity"],
        pool["free"],
        [(each["name"], each["level"], each["devices"], each["component_size"]) for each in arrays],
        [(each["name"], each["size"], each["filesystem"], each["mounted_on"]) for each in volumes],
    )


@pytest.mark.proof(area="storage", line=10, title="Two runs at once: one works, the other waits or says who works")
@every_release
def test_two_runs_never_work_at_once(store: PoolHost) -> None:
    store.plug("a", "b", "c")
    store.hold(SLOW)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(store.pool, "abc", volumes=VOLUMES)
        store.until(("pgrep", "-f", "sleep infinity|md[0-9]+_resync"), 120)
        # Check mode changes nothing, so it does not wait either.
        assert not store.pool("abc", check=True, volumes=VOLUMES).failed
        hasty = store.pool("abc", volumes=VOLUMES, wait=False)
        assert hasty.failed
        assert "Another run works on" in hasty.message
        assert "(pid " in hasty.message
        assert not first.done()
        patient = threads.submit(store.pool, "abc", volumes=VOLUMES)
        store.release()
        done, found = first.result(), patient.result()
    assert not done.failed
    assert done.changed
    assert not found.failed
    assert (found.changed, found.titles) == (False, [])


@pytest.mark.proof(area="storage", line=10, title="wait: false tells what is pending; a later run finishes the job")
@every_release
def test_a_run_that_does_not_wait_is_finished_by_later_runs(store: PoolHost) -> None:
    store.plug("a", "b", "c", "d")
    store.settled("abcd", volumes=VOLUMES)
    store.plug("e", size="101M")
    store.hold(SLOW)
    begun = store.grown("abcde", volumes=VOLUMES, wait=False)
    assert begun.changed
    assert any("eshape" in what for what in begun.pending), begun.pending
    assert any(what.startswith("Next run: ") for what in begun.pending), begun.pending
    (progress,) = [each for each in begun.values["pending"] if "eshape" in each["what"]][:1]
    assert progress["percent"] is None or 0 <= progress["percent"] <= 100
    met = store.grown("abcde", volumes=VOLUMES, wait=False)
    assert met.pending
    store.release()
    done = store.settled("abcde", volumes=VOLUMES)
    assert done.array(0)["devices"] == 5
    assert done.values["pool"]["free"] == 0
