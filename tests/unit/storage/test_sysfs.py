"""What sysfs tells of arrays and disks: captured trees, and states that pass too quickly to be captured."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import Activity
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.sysfs import (
    KernelArray,
    array_names,
    first_number,
    parse_mounts,
    read_array,
    read_disk,
    read_uses,
    reshape_has_a_helper,
    second_number,
    whole_disk,
)

from .host_capture import lay_out

MIB = 1024 * 1024
AT_REST = {
    "array_state": "clean",
    "level": "raid5",
    "raid_disks": "4",
    "chunk_size": "65536",
    "component_size": "96256",
    "degraded": "0",
    "sync_action": "idle",
    "sync_completed": "none",
    "sync_speed": "none",
    "reshape_position": "none",
    "resync_start": "none",
    "suspend_lo": "0",
    "suspend_hi": "0",
    "consistency_policy": "bitmap",
    "bitmap/location": "+8",
}


def array(root: Path, members: dict[str, dict[str, str]] | None = None, **attributes: str) -> KernelArray:
    """Lay out md0 in the state that ``attributes`` describe and read it."""
    md = root / "sys/block/md0/md"
    for name, text in {**AT_REST, **attributes}.items():
        path = md / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (root / "sys/block/md0/size").write_text("577536\n")
    for name, states in (members or {}).items():
        for attribute, text in {"state": "in_sync", "offset": "8192", "recovery_start": "none", **states}.items():
            path = md / f"dev-{name}" / attribute
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        (root / f"sys/class/block/{name}/holders/md0").mkdir(parents=True)
    return read_array(Host(str(root)), "md0")


@pytest.mark.parametrize("release", ["trixie", "bookworm"])
def test_an_array_at_rest(release: str, tmp_path: Path) -> None:
    host, _runner = lay_out(f"{release}-whole", tmp_path)

    assert array_names(host) == ("md127",)
    found = read_array(host, "md127")

    assert (found.level, found.devices, found.previous_devices, found.degraded) == (5, 4, 0, 0)
    assert (found.chunk, found.component_size, found.size) == (512 * 1024, 94 * MIB, 3 * 94 * MIB)
    assert found.started
    assert found.bitmap
    assert (found.activity, found.hidden_reshape, found.suspended, found.read_only) == (None, False, False, False)
    assert [each.member.node for each in found.members] == [f"/dev/vd{letter}1" for letter in "bcde"]
    assert [each.member.slot for each in found.members] == [0, 1, 2, 3]
    assert {each.data_offset for each in found.members} == {4 * MIB}
    assert found.members[0].member.disk == "/dev/vdb"


@pytest.mark.parametrize("release", ["trixie", "bookworm"])
def test_a_disk(release: str, tmp_path: Path) -> None:
    host, _runner = lay_out(f"{release}-whole", tmp_path)

    disk = read_disk(host, "vdb")

    assert (disk.node, disk.size, disk.sector, disk.serial) == ("/dev/vdb", 101 * MIB, 512, "SN1")
    assert not disk.read_only
    (part,) = disk.partitions
    assert (part.number, part.start, part.label, part.holders) == (1, MIB, "data-0", ("md127",))
    assert part.size == (206814 - 2048 + 1) * 512
    assert whole_disk(host, "vdb1") == "vdb"
    assert whole_disk(host, "vdb") == "vdb"


@pytest.mark.parametrize(("text", "first", "second"), [("4", 4, 0), ("5 (4)", 5, 4), ("", 0, 0), ("none", 0, 0)])
def test_a_number_with_the_one_before_the_reshape(text: str, first: int, second: int) -> None:
    assert (first_number(text), second_number(text)) == (first, second)


@pytest.mark.parametrize("action", ["resync", "recover", "reshape", "check", "repair"])
def test_work_under_way_comes_in_bytes(action: str, tmp_path: Path) -> None:
    found = array(tmp_path, sync_action=action, sync_completed="1000 / 192512", sync_speed="1024")

    assert found.activity == Activity(action, 512_000, 192512 * 512, 1024 * 1024)


def test_work_that_waits_for_another_array_is_delayed(tmp_path: Path) -> None:
    assert array(tmp_path, sync_action="resync", sync_completed="delayed").activity == Activity("resync", delayed=True)


def test_work_that_has_just_begun_has_no_figures(tmp_path: Path) -> None:
    assert array(tmp_path, sync_action="recover", sync_completed="none").activity == Activity("recover")


@pytest.mark.parametrize("action", ["idle", "frozen", ""])
def test_no_work(action: str, tmp_path: Path) -> None:
    assert array(tmp_path, sync_action=action).activity is None


def test_a_resync_that_waits_for_the_first_write_is_seen(tmp_path: Path) -> None:
    found = array(tmp_path, array_state="read-auto", resync_start="0")

    assert found.read_only
    assert found.activity == Activity("resync", delayed=True)


def test_a_rebuild_that_waits_for_the_first_write_is_seen(tmp_path: Path) -> None:
    members = {"sda1": {"slot": "0"}, "sdb1": {"slot": "1", "state": "spare", "recovery_start": "2048"}}
    found = array(tmp_path, members, array_state="read-auto")

    assert found.activity == Activity("recover", done=MIB, delayed=True)


def test_a_reshape_that_nobody_shows_is_hidden(tmp_path: Path) -> None:
    found = array(tmp_path, array_state="read-auto", raid_disks="5 (4)", reshape_position="28672")

    assert (found.hidden_reshape, found.devices, found.previous_devices) == (True, 5, 4)
    assert found.activity is None


def test_a_reshape_that_runs_is_not_hidden(tmp_path: Path) -> None:
    found = array(tmp_path, sync_action="reshape", reshape_position="28672", sync_completed="1 / 2")

    assert not found.hidden_reshape


@pytest.mark.parametrize(("low", "high", "suspended"), [("0", "0", False), ("0", "20480", True), ("9", "9", False)])
def test_a_range_is_suspended_only_when_it_has_a_length(low: str, high: str, suspended: bool, tmp_path: Path) -> None:
    assert array(tmp_path, suspend_lo=low, suspend_hi=high).suspended is suspended


@pytest.mark.parametrize(
    ("state", "started", "read_only"),
    [
        ("clear", False, False),
        ("inactive", False, False),
        ("readonly", True, True),
        ("read-auto", True, True),
        ("clean", True, False),
        ("active", True, False),
        ("write-pending", True, False),
        ("active-idle", True, False),
        ("broken", True, False),
    ],
)
def test_array_states(state: str, started: bool, read_only: bool, tmp_path: Path) -> None:
    found = array(tmp_path, array_state=state)

    assert (found.started, found.read_only) == (started, read_only)


def test_the_states_of_members(tmp_path: Path) -> None:
    members = {
        "sda1": {"slot": "0", "state": "in_sync,want_replacement"},
        "sdb1": {"slot": "0", "state": "spare,replacement"},
        "sdc1": {"slot": "none", "state": "faulty"},
        "sdd1": {"slot": "none", "state": "spare"},
    }
    found = {each.name: each.member for each in array(tmp_path, members).members}

    assert found["sda1"].want_replacement
    assert found["sda1"].in_sync
    assert found["sdb1"].replacement
    assert not found["sdb1"].in_sync
    assert found["sdc1"].faulty
    assert found["sdd1"].spare


def test_attributes_that_vanish_while_they_are_read_are_no_error(tmp_path: Path) -> None:
    found = read_array(Host(str(tmp_path)), "md0")

    assert not found.started
    assert (found.devices, found.members, found.activity) == (0, (), None)


def process(root: Path, pid: int, name: str, *descriptors: str) -> None:
    """Lay out a process with open files."""
    folder = root / f"proc/{pid}/fd"
    folder.mkdir(parents=True)
    (folder.parent / "comm").write_text(name + "\n")
    for number, target in enumerate(descriptors):
        os.symlink(target, folder / str(number))


@pytest.mark.parametrize(
    ("name", "descriptor", "helps"),
    [
        ("mdadm", "/sys/devices/virtual/block/md0/md/sync_action", True),
        ("mdadm", "/dev/sda1", True),
        ("mdadm", "/proc/mdstat", False),
        ("mdadm", "/sys/devices/virtual/block/md01/md/sync_action", False),
        ("dd", "/dev/sda1", False),
    ],
)
def test_only_an_mdadm_with_the_array_open_works_on_its_reshape(
    name: str, descriptor: str, helps: bool, tmp_path: Path
) -> None:
    found = array(tmp_path, {"sda1": {"slot": "0"}})
    process(tmp_path, 1, "systemd", "/dev/null")
    process(tmp_path, 200, name, "/dev/null", descriptor)

    assert reshape_has_a_helper(Host(str(tmp_path)), found) is helps


def test_mounts_with_blanks() -> None:
    text = (
        "22 28 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
        "30 28 0:40 /sub /srv/a\\040b rw shared:2 master:1 - btrfs /dev/sdb rw,space_cache=v2\n"
        "malformed\n"
    )
    root, other = parse_mounts(text)

    assert (root.number, root.mount_point, root.source) == ("254:1", "/", "/dev/vda1")
    assert (other.mount_point, other.kind, other.source) == ("/srv/a b", "btrfs", "/dev/sdb")


@pytest.mark.parametrize("release", ["trixie", "bookworm"])
def test_swap_is_found_by_its_device_number(release: str, tmp_path: Path) -> None:
    host, _runner = lay_out(f"{release}-foreign", tmp_path)

    assert [use.number for use in read_uses(host) if use.kind == "swap"] == [host.numbers["/dev/vdf2"]]
