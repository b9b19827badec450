"""Labs of nspawn hosts: side by side, again, down, and after a kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.integration.lab.traces import forwarding, traces
from tests.lab import Lab, LabError, take_down
from tests.lab.image import mirrors
from tests.lab.state import LabState

pytestmark = pytest.mark.lab

ROOT = Path(__file__).resolve().parents[3]
TOPOLOGY: dict[str, Any] = {
    "hosts": {"alpha": {"release": "trixie"}, "beta": {"release": "trixie"}},
    "links": {"core": {"subnets": ["192.0.2.0/24", "2001:db8:1::/64"], "hosts": ["alpha", "beta"]}},
}
LINK = {"hosts": {"alpha": {"release": "trixie"}}, "links": {"core": ["alpha"]}}


def reaches(lab: Lab, address: str) -> bool:
    return lab["alpha"].run(["ping", "-c", "1", "-W", "5", address], check=False).returncode == 0


def test_two_labs_with_the_same_addresses_live_side_by_side_and_leave_nothing() -> None:
    before = forwarding()
    names = [f"pair-{os.getpid()}-{letter}" for letter in "xy"]
    with Lab.from_topology(TOPOLOGY, names[0]) as first, Lab.from_topology(TOPOLOGY, names[1]) as second:
        for lab in (first, second):
            assert reaches(lab, "192.0.2.2")
            assert reaches(lab, "2001:db8:1::2")
            assert reaches(lab, "beta")
            assert lab["alpha"].run(["hostname"]).stdout == "alpha\n"
        first["alpha"].put(b"here", "/root/only-in-one")
        assert second["alpha"].run(["ls", "/root"]).stdout == ""
        second["beta"].set_cable("core", up=False)
        assert reaches(first, "192.0.2.2")
        assert not reaches(second, "192.0.2.2")
        assert first.up() == []
    assert [traces(name) for name in names] == [set(), set()]
    if not Path("/var/lib/fabric-lab").exists():
        assert forwarding() == before


def test_hosts_reach_the_package_mirror_and_no_lab_address_is_on_the_machine() -> None:
    name = f"out-{os.getpid()}"
    mirror = urlsplit(mirrors("")[0]).hostname
    connect = f"import socket; socket.create_connection(({mirror!r}, 80), timeout=20)"
    with Lab.from_topology(TOPOLOGY, name) as lab:
        lab["alpha"].run(["python3", "-c", connect])
        machine = subprocess.run(["ip", "-o", "address"], capture_output=True, text=True, check=True).stdout
        assert "192.0.2.1/24" not in machine
        assert "2001:db8:1::1" not in machine
    assert traces(name) == set()


PERSISTENT = {
    "hosts": {
        "alpha": {"release": "trixie", "persistent": True, "routes": {"198.51.100.0/24": "192.0.2.2"}},
        "client": {"kind": "netns"},
    },
    "links": {"core": {"subnets": ["192.0.2.0/24", "2001:db8:1::/64"], "hosts": ["alpha", "client"]}},
}


def test_a_persistent_host_keeps_its_files_over_a_boot_and_nothing_that_its_kernel_held() -> None:
    with Lab.from_topology(PERSISTENT, f"lasting-{os.getpid()}") as lab:
        alpha = lab["alpha"]
        for boot in (alpha.reboot, alpha.reset):
            alpha.put(boot.__name__.encode(), "/etc/kept")
            before = alpha.run(["cat", "/proc/1/stat"]).stdout.split()[21]  # when init started
            alpha.run(["ip", "link", "add", "br-gone", "type", "bridge"])
            alpha.run(["ip", "address", "add", "203.0.113.1/24", "dev", "core"])
            boot()
            assert alpha.run(["cat", "/proc/1/stat"]).stdout.split()[21] != before
            assert alpha.get("/etc/kept").decode() == boot.__name__
            assert "br-gone" not in alpha.run(["ip", "-o", "link"]).stdout
            assert "203.0.113.1" not in alpha.run(["ip", "-o", "address"]).stdout
            assert "198.51.100.0/24 via 192.0.2.2" in alpha.run(["ip", "route"]).stdout
            assert reaches(lab, "client")
            assert reaches(lab, "2001:db8:1::2")
        alpha.reinstall()
        assert alpha.run(["ls", "/etc/kept"], check=False).returncode != 0
        assert reaches(lab, "client")
    assert traces(lab.name) == set()


def test_programs_of_the_machine_run_in_a_netns_host() -> None:
    with Lab.from_topology(PERSISTENT, f"station-{os.getpid()}") as lab:
        client = lab["client"]
        assert "192.0.2.2/24" in client.run(["ip", "-o", "address"]).stdout
        connect = "import socket; print(socket.create_connection(('192.0.2.1', 22), 10).recv(4))"
        assert client.run([sys.executable, "-c", connect]).stdout == "b'SSH-'\n"
        with client.popen(["sleep", "600"]) as sleeper:
            client.power_off()
            assert sleeper.wait(10) < 0
        client.power_on()
        assert reaches(lab, "192.0.2.2")
        with pytest.raises(LabError, match="client is a netns host, so its files are the machine's"):
            client.put(b"", "/root/x")
    assert traces(lab.name) == set()


def test_what_a_killed_up_left_is_taken_down() -> None:
    name = f"killed-{os.getpid()}"
    topology = LabState(name)
    topology.root.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = topology.root / f"{name}.yml"
    file.write_text("hosts: {alpha: {}, beta: {}}\nlinks: {core: [alpha, beta]}\n")
    try:
        with subprocess.Popen([sys.executable, "-m", "tests.lab", "--name", name, "up", str(file)], cwd=ROOT) as up:
            wait_for(lambda: any(trace.startswith("process") for trace in traces(name)), 120)
            up.send_signal(signal.SIGKILL)
        assert traces(name)
    finally:
        file.unlink()
        assert take_down(name)
    assert traces(name) == set()
    assert not take_down(name)


def test_a_lab_that_lost_its_state_is_found_by_its_names() -> None:
    name = f"lost-{os.getpid()}"
    lab = Lab.from_topology(LINK, name)
    try:
        lab.up()
        shutil.rmtree(lab.state.directory)
        with pytest.raises(LabError, match=r"without its state directory; remove it with: .* down"):
            Lab.from_topology(LINK, name).up()
    finally:
        take_down(name)
    assert traces(name) == set()


def test_another_topology_under_the_same_name_is_refused() -> None:
    with (
        Lab.from_topology(LINK, f"twice-{os.getpid()}") as lab,
        pytest.raises(LabError, match="is up with another topology"),
    ):
        Lab.from_topology(TOPOLOGY, lab.name).up()


def test_secrets_are_private() -> None:
    with Lab.from_topology(LINK, f"secret-{os.getpid()}") as lab:
        paths = [path for path in lab.state.directory.rglob("*") if path.is_file() and not path.name.endswith(".pub")]
        assert lab.state.private_key in paths
        assert [path for path in paths if path.stat().st_mode & 0o077] == []
        assert lab.state.directory.stat().st_mode & 0o777 == 0o700


def wait_for(condition: Any, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"not within {timeout} s"
        time.sleep(0.05)
