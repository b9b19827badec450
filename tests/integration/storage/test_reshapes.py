"""Reshapes that were interrupted, and runs that meet one under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.storage.pool_host import POOL, PoolHost, PoolResult, by_id, volume
from tests.integration.storage.pools import SLOW
from tests.integration.storage.releases import every_release

pytestmark = [pytest.mark.qemu, pytest.mark.slow]

#: Not mounted at boot, so that nothing writes to the array before the module looks at it.
QUIET = [volume("rest", "100%FREE", mounted=False)]
BUSY = [volume("rest", "100%FREE")]


@dataclass(frozen=True)
class Mode:
    """A geometry, and how md reshapes it: by moving the data, or with a backup that an mdadm looks after."""

    members: str
    chunk: str
    moves_data: bool


MODES = [
    pytest.param(Mode("abc", "64KiB", moves_data=True), id="data-moves"),
    # 2 MiB before the data are too little for four data disks with chunks of 512 KiB.
    pytest.param(Mode("abcd", "512KiB", moves_data=False), id="backup"),
]
NEW = "z"


def md(store: PoolHost, attribute: str, array: str = f"{POOL}-0") -> str:
    """An attribute of an array."""
    return store.sh(f"cat /sys/block/$(basename $(readlink -f /dev/md/{array}))/md/{attribute}").strip()


def is_reshaping(store: PoolHost) -> bool:
    return md(store, "reshape_position") != "none"


def begin(store: PoolHost, mode: Mode, volumes: list[dict[str, object]]) -> str:
    """Make a pool with data on it, add a disk, and kill the run when the reshape has begun; returns a hash."""
    store.plug(*mode.members)
    store.settled(mode.members, volumes=volumes, chunk=mode.chunk)
    still = keep(store, 40)
    store.plug(NEW)
    store.hold(SLOW)
    cut = {"pattern": r"^Reshape .*: done$"}
    assert store.pool(mode.members + NEW, volumes=volumes, chunk=mode.chunk, cut=cut).killed
    assert is_reshaping(store)
    offsets = store.sh(
        f"cd /sys/block/$(basename $(readlink -f /dev/md/{POOL}-0))/md; cat dev-*/offset; echo; cat dev-*/new_offset"
    )
    old, new = offsets.split("\n\n")
    assert (old.split() != new.split()) == mode.moves_data, offsets
    return still


def keep(store: PoolHost, mib: int) -> str:
    """Put a file on the volume, mounted or not."""
    return _with_volume(store, f"head -c {mib}M /dev/urandom > $m/still; sync; sha256sum $m/still").split()[0]


def kept(store: PoolHost) -> str:
    """The hash of that file as it is on the disks."""
    return _with_volume(store, "sync; echo 3 > /proc/sys/vm/drop_caches; sha256sum $m/still").split()[0]


def _with_volume(store: PoolHost, script: str) -> str:
    device = f"/dev/{POOL}/rest"
    return store.sh(f"""
        m=$(findmnt -n -o TARGET {device} || true)
        if [ -n "$m" ]; then {script}
        else m=/run/kept; mkdir -p $m; mount {device} $m; {script}; umount $m; fi""")


def check_end(store: PoolHost, mode: Mode, volumes: list[dict[str, object]], still: str) -> None:
    """The pool is at rest with the new disk in it, room used to the last extent, data as it was."""
    result = store.at_rest(mode.members + NEW, volumes=volumes, chunk=mode.chunk)
    devices = len(mode.members) + 1
    array = result.array(0)
    assert (array["devices"], array["missing"]) == (devices, 0)
    assert result.values["pool"]["free"] == 0
    assert array["size"] == array["component_size"] * (devices - 1)
    assert array["size"] - result.values["pool"]["capacity"] < 6 * 2**20, "the physical volume was not resized"
    assert kept(store) == still
    assert md(store, "mismatch_cnt") == "0"


@pytest.mark.proof(area="storage", line=2, title="The machine is reset inside a reshape: finished, nothing lost")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("volumes", [pytest.param(QUIET, id="quiet"), pytest.param(BUSY, id="mounted")])
@every_release
def test_a_reset_inside_a_reshape_is_recovered_from(
    store: PoolHost, mode: Mode, volumes: list[dict[str, object]]
) -> None:
    still = begin(store, mode, volumes)
    store.reset()
    store.grown(mode.members + NEW, volumes=volumes, chunk=mode.chunk)
    check_end(store, mode, volumes, still)


#: md keeps to the pace of the tests also where the module has it hurry, so that a reset finds the beginning half moved.
UNHURRIED = {"_storage.applying.guard.FULL_SPEED": str(SLOW)}
KEPT = f"/var/lib/baremetal.fabric/storage/{POOL}-0.critical"
GUARDED = Mode("abcd", "512KiB", moves_data=False)


def in_use(store: PoolHost, volumes: list[dict[str, object]]) -> str:
    """A pool whose growth overwrites what it moves, with data on it and a writer if it is mounted; returns a hash."""
    store.plug(*GUARDED.members)
    store.settled(GUARDED.members, volumes=volumes, chunk=GUARDED.chunk)
    still = keep(store, 40)
    if volumes is BUSY:
        store.start_writer("/srv/rest")
    store.plug(NEW)
    return still


def cut_short(store: PoolHost, volumes: list[dict[str, object]], cut: dict[str, object], **more: Any) -> PoolResult:
    """Run the module on the disks that a growth ends with, and have it killed."""
    result = store.pool(GUARDED.members + NEW, volumes=volumes, chunk=GUARDED.chunk, cut=cut, **more)
    assert isinstance(result, PoolResult)
    return result


PUT_BACK = f"Put back the beginning of array {POOL}-0 from {KEPT}"


def reset_at_the_start(store: PoolHost, volumes: list[dict[str, object]]) -> str:
    """Reset the host when rows are overwritten, and nothing says so; returns a hash."""
    still = in_use(store, volumes)
    seen: list[list[str]] = []
    # That moment is short: on a busy machine the reshape may be past it, or before it, when the button is pressed.
    for _attempt in range(4):
        store.host.snapshot_save("before")
        store.hold(SLOW)
        assert cut_short(store, volumes, {"pattern": "^Reshape .*: ran mdadm --grow"}, instead=UNHURRIED).killed
        store.until(("sh", "-c", "grep -q 'reshape = *[0-9.]*% ([1-9]' /proc/mdstat"), 20)
        store.reset()
        plan = store.pool(GUARDED.members + NEW, volumes=volumes, chunk=GUARDED.chunk, check=True)
        if plan.titles and plan.titles[0].startswith(PUT_BACK):
            assert store.sh("cat /sys/block/md*/md/array_state").strip() == "inactive"
            assert store.succeeds("test", "-s", KEPT)
            return still
        seen.append(plan.titles)
        store.host.snapshot_load("before")
    raise AssertionError(f"The reset did not come while rows were overwritten; what was left to do: {seen}")


@pytest.mark.proof(area="storage", line=2, title="A reset at the very start of a reshape: its beginning is put back")
@pytest.mark.parametrize("volumes", [pytest.param(QUIET, id="quiet"), pytest.param(BUSY, id="mounted")])
@every_release
def test_a_reset_at_the_very_start_of_a_reshape_loses_nothing(
    store: PoolHost, volumes: list[dict[str, object]]
) -> None:
    still = reset_at_the_start(store, volumes)
    result = store.grown(GUARDED.members + NEW, volumes=volumes, chunk=GUARDED.chunk)
    assert result.titles[0].startswith(PUT_BACK), result.titles
    check_end(store, GUARDED, volumes, still)
    if volumes is BUSY:
        assert store.check_records("/srv/rest") > 0
    assert not store.succeeds("test", "-e", KEPT)


@pytest.mark.proof(area="storage", line=2, title="Putting back a beginning is killed at every moment: nothing lost")
@every_release
def test_a_beginning_is_put_back_wherever_that_was_killed(store: PoolHost) -> None:
    still = reset_at_the_start(store, QUIET)
    kills = 0
    while True:
        with store.returning():
            if not cut_short(store, QUIET, {"pattern": "^Put back ", "at": kills + 1}).killed:
                break
            store.grown(GUARDED.members + NEW, volumes=QUIET, chunk=GUARDED.chunk)
            check_end(store, GUARDED, QUIET, still)
        kills += 1
    # Every old member gets its rows, every member its superblock.
    assert kills >= 9


@pytest.mark.proof(area="storage", line=2, title="A guarded growth is killed at every moment: same end, nothing held")
@every_release
def test_a_guarded_growth_comes_to_its_end_wherever_it_was_killed(store: PoolHost) -> None:
    still = in_use(store, BUSY)
    kills = 0
    while True:
        with store.returning():
            result = cut_short(store, BUSY, {"pattern": "^Reshape ", "at": kills + 1})
            if not result.killed:
                assert not result.failed, result.message
                break
            store.grown(GUARDED.members + NEW, volumes=BUSY, chunk=GUARDED.chunk)
            check_end(store, GUARDED, BUSY, still)
            assert not store.held()
            assert not store.succeeds("test", "-e", KEPT)
            store.writer_goes_on(store.acknowledged())
            store.check_records("/srv/rest")
        kills += 1
    assert kills >= 9


@pytest.mark.proof(area="storage", line=2, title="A guard whose run was killed is ended by a timer: writes go on")
@every_release
def test_volumes_are_let_go_when_the_run_that_held_them_was_killed(store: PoolHost) -> None:
    in_use(store, BUSY)
    assert cut_short(store, BUSY, {"pattern": "^Reshape .*: put .* in place"}).killed
    assert store.held() == [f"{POOL}-rest:Suspended"]
    before = store.acknowledged()
    store.until(("sh", "-c", "! dmsetup info -c --noheadings -o suspended | grep -q Suspended"), 60)
    assert not store.succeeds("test", "-e", KEPT)
    assert store.writer_goes_on(before) > before


@pytest.mark.proof(area="storage", line=2, title="The mdadm beside a reshape is killed: finished, nothing lost")
@every_release
def test_a_reshape_whose_mdadm_was_killed_is_taken_up(store: PoolHost) -> None:
    mode = Mode("abcd", "512KiB", moves_data=False)
    still = begin(store, mode, QUIET)
    kill_the_helper(store)
    assert is_reshaping(store)
    store.release()
    store.grown(mode.members + NEW, volumes=QUIET, chunk=mode.chunk)
    check_end(store, mode, QUIET, still)


def kill_the_helper(store: PoolHost) -> None:
    """Kill the mdadm that looks after a reshape, once it holds back writes to the range that it works on."""
    # The brackets keep the shells that run these commands from being found.
    helper = "[m]dadm --grow --continue"
    store.until(("sh", "-c", f"[ $(cat /sys/block/md*/md/suspend_hi) -gt 0 ] && pgrep -f '{helper}'"), 60)
    store.sh(f"pkill -KILL -f '{helper}'")
    store.until(("sh", "-c", f"! pgrep -f '{helper}'"), 60)
    assert int(md(store, "suspend_hi")) > 0


@pytest.mark.proof(area="storage", line=2, title="A reshape has ended without its mdadm: writes go on, nothing lost")
@every_release
def test_writes_that_a_killed_mdadm_held_back_go_on_when_the_reshape_has_ended(store: PoolHost) -> None:
    mode = Mode("abcd", "512KiB", moves_data=False)
    still = begin(store, mode, QUIET)
    store.until(("sh", "-c", "[ $(cat /sys/block/md*/md/reshape_position) -gt 12288 ]"), 120)
    kill_the_helper(store)
    store.release()
    store.until(("sh", "-c", "grep -q none /sys/block/md*/md/reshape_position"), 300)
    assert int(md(store, "suspend_hi")) > 0
    store.grown(mode.members + NEW, volumes=QUIET, chunk=mode.chunk)
    check_end(store, mode, QUIET, still)


@pytest.mark.proof(area="storage", line=3, title="A visible reshape is reported pending, then finished")
@every_release
def test_a_run_that_meets_a_visible_reshape_reports_it_and_a_later_one_finishes_the_job(store: PoolHost) -> None:
    mode = Mode("abc", "64KiB", moves_data=True)
    still = begin(store, mode, BUSY)
    disks = mode.members + NEW
    options: dict[str, Any] = {"volumes": BUSY, "chunk": mode.chunk}

    met = store.grown(disks, **options, wait=False)
    assert not met.changed
    _check_pending(met)
    impatient = store.pool(disks, **options, wait_timeout=5)
    assert impatient.failed
    assert "wait_timeout" in impatient.message
    assert not impatient.values["changed"]

    store.release()
    done = store.grown(disks, **options)
    assert done.changed
    assert [title for title in done.titles if title.startswith("Resize the physical volume")]
    check_end(store, mode, BUSY, still)


@pytest.mark.proof(area="storage", line=3, title="A hidden reshape is woken, reported pending, then finished")
@every_release
def test_a_reshape_that_a_reset_has_hidden_is_found(store: PoolHost) -> None:
    mode = Mode("abc", "64KiB", moves_data=True)
    still = begin(store, mode, QUIET)
    store.reset()
    # Nothing that people look at tells of the reshape.
    assert (md(store, "array_state"), md(store, "sync_action")) == ("read-auto", "idle")
    assert "reshape" not in store.read("/proc/mdstat")
    store.hold(SLOW)
    disks = mode.members + NEW
    options: dict[str, Any] = {"volumes": QUIET, "chunk": mode.chunk}

    met = store.grown(disks, **options, wait=False)
    _check_pending(met)
    assert is_reshaping(store)
    store.release()
    store.grown(disks, **options)
    check_end(store, mode, QUIET, still)


def _check_pending(result: PoolResult) -> None:
    assert any("reshape" in what.lower() for what in result.pending), result.pending
    assert not result.values["pool"]["settled"]


@pytest.mark.proof(area="storage", line=3, title="Work that md queues (DELAYED) is waited for, not taken for done")
@every_release
def test_reshapes_that_wait_for_each_other_are_all_waited_for(store: PoolHost) -> None:
    # Two slices on the same disks: md reshapes one array after the other.
    store.plug("a", "b", size="101M")
    store.plug("c", "d", size="201M")
    store.settled("abcd", volumes=BUSY)
    store.hold(SLOW)
    store.plug(NEW, size="201M")
    begun = store.grown("abcd" + NEW, volumes=BUSY, wait=False)
    assert len(begun.pending) >= 2, begun.pending
    states = {md(store, "sync_completed", f"{POOL}-{index}") for index in (0, 1)}
    assert "delayed" in states, states
    store.release()
    done = store.grown("abcd" + NEW, volumes=BUSY)
    assert not done.pending
    end = store.at_rest("abcd" + NEW, volumes=BUSY)
    assert [(level, devices) for level, devices, _size in end.shapes] == [("raid5", 5), ("raid5", 3)]
    assert end.values["pool"]["free"] == 0


@pytest.mark.proof(area="storage", line=3, title="A running check is stopped only where the pool has to change")
@every_release
def test_a_running_check_is_left_alone_until_the_pool_must_change(store: PoolHost) -> None:
    store.plug("a", "b", "c")
    store.settled("abc", volumes=BUSY)
    store.hold(SLOW)
    store.sh(f"echo check > /sys/block/$(basename $(readlink -f /dev/md/{POOL}-0))/md/sync_action")
    untouched = store.grown("abc", volumes=BUSY)
    assert not untouched.changed
    assert md(store, "sync_action") == "check"
    store.plug(NEW)
    grown = store.grown("abc" + NEW, volumes=BUSY, wait=False)
    assert any(title.startswith("Stop the check of array data-0") for title in grown.titles)
    store.release()
    store.grown("abc" + NEW, volumes=BUSY)
    store.at_rest("abc" + NEW, volumes=BUSY)


@pytest.mark.proof(area="storage", line=3, title="An array that a killed mdadm left frozen is set going again")
@every_release
def test_a_frozen_array_is_thawed_and_takes_up_its_spare(store: PoolHost) -> None:
    store.plug("a", "b", "c")
    store.settled("abc", volumes=BUSY)
    still = keep(store, 20)
    store.pull("c")
    store.plug(NEW)
    assert store.pool("ab" + NEW, volumes=BUSY, cut={"pattern": r"^Partition .*: done$"}).killed
    # What mdadm does before it changes an array; then comes a spare, which md does not take up in one that is frozen.
    store.sh(f"""
        md=$(readlink -f /dev/md/{POOL}-0)
        mdadm --manage $md --fail detached --remove detached
        echo frozen > /sys/block/$(basename $md)/md/sync_action
        mdadm --manage $md --add $(readlink -f {by_id(NEW)})1""")
    assert (md(store, "sync_action"), md(store, "degraded")) == ("frozen", "1")
    result = store.settled("ab" + NEW, volumes=BUSY)
    assert any(title.startswith("Let md work in array data-0 again") for title in result.titles), result.titles
    assert result.values["pool"]["redundant"]
    assert kept(store) == still
