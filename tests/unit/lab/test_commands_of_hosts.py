"""What QEMU, nspawn, SSH and Ansible are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.cgroups import hierarchies
from tests.lab.container import container_argv, container_environment
from tests.lab.disks import Bays, Unit
from tests.lab.inventory import inventory
from tests.lab.machine import Wiring, block_node, disk_device, machine_argv, processor, stopped_in_its_start
from tests.lab.remote import Reach, config_text
from tests.lab.state import LabState
from tests.lab.topology import parse_disk, parse_topology

TOPOLOGY = parse_topology(
    {
        "hosts": {
            "store": {
                "kind": "qemu",
                "disks": {"d1": {"size": "101M"}},
                "groups": ["stores"],
                "variables": {"rack": 7},
            },
            "alpha": {"kind": "nspawn", "docker": True},
        },
        "links": {"core": ["store", "alpha"]},
    }
)
STORE = TOPOLOGY.host("store")
BAYS = Bays(count=5, inserted={2: Unit(STORE.disks[0], "disk-001-d1.qcow2")})
WIRING = Wiring(ssh_port=22022, macs={"uplink": "52:54:00:00:00:01", "core": "52:54:00:00:00:02"}, taps={"core": 9})


def argv(uplink: bool = True) -> list[str]:
    return machine_argv("lab-a--store", STORE, Path("/state"), BAYS, WIRING, uplink, ["-accel", "tcg", "-smp", "1"])


def test_a_disk_sits_behind_the_root_port_of_its_slot() -> None:
    assert "bus=slot2" in next(word for word in argv() if "id=disk2" in word).split(",")
    assert [word.split(",")[1] for word in argv() if word.startswith("pcie-root-port")] == [
        f"id=slot{n}" for n in range(5)
    ]


def test_a_disk_has_the_same_arguments_plugged_cold_and_hot() -> None:
    cold = next(word for word in argv() if "id=disk2" in word).split(",")
    hot = disk_device(2, STORE.disks[0])
    assert cold == [str(hot.pop("driver")), *(f"{key}={value}" for key, value in hot.items())]
    assert block_node(2, BAYS.inserted[2], Path("/state"))["node-name"] == "node2"


def test_the_sector_size_and_the_wwn_reach_the_device() -> None:
    disk = parse_disk("d9", {"size": "101M", "wwn": "0x5000c50015ea71ac", "logical_block_size": 4096}, "d9")
    device = disk_device(3, disk)
    assert device["driver"] == "scsi-hd"
    assert device["wwn"] == 0x5000C50015EA71AC
    assert (device["logical_block_size"], device["physical_block_size"]) == (4096, 4096)


def test_ssh_is_forwarded_from_loopback_only() -> None:
    user = next(word for word in argv() if word.startswith("user,"))
    assert "hostfwd=tcp:127.0.0.1:22022-" in user
    assert "restrict=off" in user
    assert "restrict=on" in next(word for word in argv(uplink=False) if word.startswith("user,"))


def test_a_link_is_a_tap_that_was_opened_before() -> None:
    assert "tap,id=core,fd=9" in argv()


@pytest.mark.parametrize(("flags", "accel"), [("fpu vme svm", "tcg,thread=multi"), ("fpu vme", "tcg,thread=multi")])
def test_without_kvm_the_guest_is_emulated(flags: str, accel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert processor(f"flags\t\t: {flags}\n", 1)[1] == accel


def test_kvm_needs_the_flag_of_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _: True)
    assert processor("flags\t\t: fpu vmx\n", 1)[1] == "kvm"
    assert processor("flags\t\t: fpu vmx_nothing\nmodel name : svm\n", 1)[1] == "tcg,thread=multi"


@pytest.mark.parametrize(("flags", "cpus"), [("fpu vmx", "4"), ("fpu", "1")])
def test_an_emulated_guest_has_one_cpu(flags: str, cpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _: True)
    words = processor(f"flags\t\t: {flags}\n", 4)
    assert words[words.index("-smp") + 1] == cpus


def test_docker_gets_the_system_calls_that_it_needs() -> None:
    alpha = TOPOLOGY.host("alpha")
    assert "--system-call-filter=bpf keyctl add_key" in container_argv("lab-a--alpha", alpha, Path("/t"), Path("/s"))
    plain = container_argv("lab-a--alpha", replace(alpha, docker=False), Path("/t"), Path("/s"))
    assert not any("system-call-filter" in word for word in plain)


def test_a_throw_away_host_boots_the_tree_and_a_persistent_one_its_overlay() -> None:
    alpha = TOPOLOGY.host("alpha")
    argv = container_argv("lab-a--alpha", alpha, Path("/t"), Path("/s"))
    assert argv[0] == "systemd-nspawn"
    assert {"--directory=/t", "--volatile=overlay"} < set(argv)
    argv = container_argv("lab-a--alpha", replace(alpha, persistent=True), Path("/t"), Path("/s"))
    assert argv[:3] == ["unshare", "--mount", "--propagation=slave"]
    assert "--directory=/s/overlay/root" in argv
    assert "--volatile=overlay" not in argv
    assert argv[argv.index("overlay") + 1 :][:3] == ["/t", "/s/overlay", "systemd-nspawn"]


@pytest.mark.parametrize(
    ("mounts", "found"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n", ["/sys/fs/cgroup"]),
        (
            "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
            "cgroup /sys/fs/cgroup/systemd cgroup rw,name=systemd 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
            ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"],
        ),
    ],
)
def test_groups_are_made_where_systemd_keeps_its_units(mounts: str, found: list[str]) -> None:
    assert hierarchies(mounts) == [Path(path) for path in found]


def test_a_host_that_ssh_cannot_reach_is_not_in_the_inventory() -> None:
    topology = parse_topology({"hosts": {"alpha": {}, "client": {"kind": "netns", "groups": ["clients"]}}})
    lab = inventory(topology, [Reach("alpha", "lab-a--alpha", None, Path("/s"))], Path("/c"))["all"]["children"]["lab"]
    assert list(lab["hosts"]) == ["alpha"]
    assert "children" not in lab


def test_containers_get_cgroup_v2_and_a_writable_proc_sys_net() -> None:
    chosen = container_environment()
    assert chosen["SYSTEMD_NSPAWN_UNIFIED_HIERARCHY"] == "1"
    assert chosen["SYSTEMD_NSPAWN_API_VFS_WRITABLE"] == "network"


def test_every_host_is_in_the_inventory_and_in_its_groups() -> None:
    reaches = [
        Reach("store", "lab-a--store", 22022, Path("/state/store/ssh")),
        Reach("alpha", "lab-a--alpha", None, Path("/state/alpha/ssh")),
    ]
    lab = inventory(TOPOLOGY, reaches, Path("/state/ssh_config"))["all"]["children"]["lab"]
    assert list(lab["hosts"]) == ["store", "alpha"]
    assert lab["hosts"]["store"]["rack"] == 7
    assert lab["hosts"]["store"]["ansible_host"] == "lab-a--store"
    assert list(lab["children"]["stores"]["hosts"]) == ["store"]
    text = config_text(LabState("a", Path("/state")), reaches)
    assert "Port 22022" in text
    assert "netns exec lab-a--alpha" in text
    assert "StrictHostKeyChecking yes" in text


PANIC = "[    1.3] Kernel panic - not syncing: Attempted to kill the idle task!\n"


@pytest.mark.parametrize(
    ("console", "stopped"),
    [
        pytest.param("Booting `lab'\n[ 2.4] amd_pstate: not there\n", False, id="boots"),
        pytest.param(f"Booting `lab'\n{PANIC}", True, id="panics"),
        pytest.param(f"Booting `lab'\n{PANIC}Booting `lab'\n[ 2.4] amd_pstate\n", False, id="boots-again"),
        pytest.param(f"Booting `lab'\n[ 2.4] amd_pstate\nBooting `Debian'\n{PANIC}", True, id="panics-later"),
        pytest.param("Booting `lab'\nKernel panic - not syncing: Attempted to kill init!", False, id="other-panic"),
        pytest.param("", False, id="nothing"),
    ],
)
def test_only_a_kernel_that_fell_over_its_own_start_is_started_again(console: str, stopped: bool) -> None:
    assert stopped_in_its_start(console) is stopped
