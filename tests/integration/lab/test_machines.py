"""QEMU hosts: they share a link with nspawn hosts, their disks come and go, and time can be turned back."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab.traces import traces
from tests.lab import Lab, LabError, LabHost, processes, take_down
from tests.lab.machine import IDLE_PANIC
from tests.lab.state import LabState

pytestmark = [pytest.mark.lab, pytest.mark.qemu, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[3]
RELEASES = ("trixie", "bookworm")
MIB = 1024**2


def topology(release: str) -> dict[str, Any]:
    return {
        "hosts": {
            "alpha": {"kind": "nspawn", "release": release},
            "store": {
                "kind": "qemu",
                "release": release,
                "disks": {
                    "d1": {"size": "64M", "serial": "S1"},
                    "d2": {"size": "64M", "logical_block_size": 4096},
                    "d3": {"size": "64M", "wwn": "0x5000c50015ea71ac"},
                    "d4": {"size": "64M", "bus": "scsi"},
                },
            },
        },
        "links": {"core": {"subnets": ["192.0.2.0/24", "2001:db8:1::/64"], "hosts": ["alpha", "store"]}},
    }


@pytest.fixture(scope="module", params=RELEASES)
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    name = f"machines-{request.param}-{os.getpid()}"
    with Lab.from_topology(topology(request.param), name) as running:
        running["store"].wait_booted()
        running["store"].snapshot_save("booted")
        yield running
    assert traces(name) == set()


@pytest.fixture
def store(lab: Lab) -> LabHost:
    host: LabHost = lab["store"]
    host.snapshot_load("booted")
    return host


def sizes(host: LabHost) -> dict[str, tuple[int, int]]:
    """Serial -> size in bytes and logical sector size, of the disks that the guest's kernel sees."""
    listed = host.run(["lsblk", "-bdno", "SERIAL,SIZE,LOG-SEC"]).stdout.splitlines()
    words = [line.split() for line in listed]
    return {word[0]: (int(word[1]), int(word[2])) for word in words if len(word) == 3}


def test_a_machine_and_a_container_share_a_link(lab: Lab, store: LabHost) -> None:
    for address in ("192.0.2.1", "2001:db8:1::1", "alpha"):
        store.run(["ping", "-c", "1", "-W", "10", address])
    lab["alpha"].run(["ping", "-c", "1", "-W", "10", "store"])


def test_a_second_up_does_nothing(lab: Lab) -> None:
    assert lab.up() == []


def test_it_boots_its_own_kernel_from_its_own_disk(store: LabHost) -> None:
    assert store.run(["findmnt", "-no", "SOURCE", "/"]).stdout.strip() == "/dev/vda1"
    assert "root=LABEL=root" in store.run(["cat", "/proc/cmdline"]).stdout
    assert store.run(["hostname"]).stdout == "store\n"


def test_disks_have_stable_names_and_the_sectors_that_were_asked_for(store: LabHost) -> None:
    found = sizes(store)
    assert found["S1"] == (64 * MIB, 512)
    assert found["d2"] == (64 * MIB, 4096)
    assert found["d4"] == (64 * MIB, 512)
    assert store.disks()["d3"] == "/dev/disk/by-id/wwn-0x5000c50015ea71ac"
    for path in store.disks().values():
        store.run(["test", "-b", path])


def test_a_disk_is_swapped_under_the_running_host(store: LabHost) -> None:
    path = store.run(["readlink", "-f", store.disks()["d1"]]).stdout
    store.disk_swap("d1", "128M", serial="S9")
    wait_for(lambda: sizes(store).get("S9") == (128 * MIB, 512))
    assert "S1" not in sizes(store)
    wait_for(lambda: store.run(["readlink", "-f", "/dev/disk/by-id/virtio-S9"]).stdout == path)


def test_a_pulled_disk_comes_back_with_its_bytes(store: LabHost) -> None:
    device = store.disks()["d1"]
    store.run(["dd", f"of={device}", "bs=4096", "conv=fsync"], stdin="written before the pull")
    store.disk_remove("d1")
    wait_for(lambda: "S1" not in sizes(store))
    store.disk_add("d1")
    wait_for(lambda: store.run(["test", "-b", device], check=False).returncode == 0)
    assert store.run(["head", "-c", "23", device]).stdout == "written before the pull"


def test_a_disk_grows_and_slows_down_under_the_running_host(store: LabHost) -> None:
    store.disk_resize("d1", "96M")
    wait_for(lambda: sizes(store)["S1"] == (96 * MIB, 512))
    write = ["dd", "if=/dev/zero", f"of={store.disks()['d1']}", "bs=4096", "count=40", "oflag=direct"]
    store.disk_throttle("d1", iops=10)
    started = time.monotonic()
    store.run(write)
    assert time.monotonic() - started > 2
    store.disk_throttle("d1")
    with pytest.raises(LabError, match="disks only grow"):
        store.disk_resize("d1", "64M")


def test_a_snapshot_brings_back_memory_disks_and_which_disks_there_were(store: LabHost) -> None:
    device = store.disks()["d1"]
    store.put(b"memory", "/run/volatile")
    store.run(["dd", f"of={device}", "bs=4096", "conv=fsync"], stdin="first")
    store.snapshot_save("before")
    store.run(["dd", f"of={device}", "bs=4096", "conv=fsync"], stdin="later")
    store.run(["rm", "/run/volatile"])
    store.disk_swap("d1", "128M", serial="S9")
    store.disk_add("d7", "32M")
    store.snapshot_load("before")
    assert store.get("/run/volatile") == b"memory"
    assert store.run(["dd", f"if={device}", "bs=4096", "count=1", "iflag=direct"]).stdout[:5] == "first"
    assert not {"S9", "d7"} & set(sizes(store))
    assert store.snapshot_list() == ["booted", "before"]
    with pytest.raises(LabError, match="has no snapshot 'never'; it has: booted, before"):
        store.snapshot_load("never")


def test_completed_writes_survive_a_reset_and_a_pulled_plug_with_a_disk_swapped_meanwhile(store: LabHost) -> None:
    device = store.disks()["d1"]
    store.run(["dd", f"of={device}", "bs=4096", "conv=fsync"], stdin="completed")
    store.reset()
    assert store.run(["head", "-c", "9", device]).stdout == "completed"
    store.power_off()
    assert not store.running
    with pytest.raises(LabError, match="is off; power it on first"):
        store.reset()
    store.disk_swap("d2", "32M", serial="S8")
    store.power_on()
    assert store.run(["head", "-c", "9", device]).stdout == "completed"
    assert sizes(store)["S8"] == (32 * MIB, 512)


def test_a_kernel_that_fell_over_its_own_start_is_started_again(lab: Lab, store: LabHost) -> None:
    log = lab.state.host_directory("store") / "console.log"
    store.reset(wait=False)
    wait_for(lambda: log.read_text(errors="replace").rstrip().endswith("Booting `lab'"), 60)
    with log.open("a") as console:
        console.write(f"[    1.308610] {IDLE_PANIC}\n")
    store.wait_ssh()
    assert log.read_text(errors="replace").count("(the lab) Booting `again'") == 1
    assert store.wait_booted() == "running"


def test_what_an_up_killed_in_mid_boot_left_is_taken_down(tmp_path: Path) -> None:
    name = f"midboot-{os.getpid()}"
    file = tmp_path / "topology.yml"
    file.write_text(
        "hosts: {alpha: {}, store: {kind: qemu, disks: {d1: {size: 64M}}}}\nlinks: {core: [alpha, store]}\n"
    )
    try:
        with subprocess.Popen([sys.executable, "-m", "tests.lab", "--name", name, "up", str(file)], cwd=ROOT) as up:
            wait_for(lambda: processes.of_host(name, "store") is not None)
            up.send_signal(signal.SIGKILL)
        assert processes.of_host(name, "store") is not None
    finally:
        take_down(name)
    assert traces(name) == set()
    assert not LabState(name).exists()


def wait_for(condition: Any, timeout: float = 120.0) -> None:
    deadline = time.monotonic() + timeout
    while True:
        with contextlib.suppress(LabError, KeyError):
            if condition():
                return
        assert time.monotonic() < deadline, f"not within {timeout} s"
        time.sleep(0.1)
