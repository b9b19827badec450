"""Recipes, mirrors, seeds and the boot sector."""

from __future__ import annotations

import io
import struct
import tarfile
from dataclasses import replace

import pytest

from tests.lab.errors import TopologyError
from tests.lab.image import master_boot_record, mirrors
from tests.lab.recipe import image_recipe
from tests.lab.seed import GuestInterface, hosts_file, interface_files, nameservers, seed_tar
from tests.lab.topology import parse_topology

TOPOLOGY = parse_topology(
    {
        "hosts": {"alpha": {}, "store": {"kind": "qemu"}},
        "links": {"core": {"subnets": ["192.0.2.0/24", "2001:db8:1::/64"], "hosts": ["alpha"]}},
    }
)


def test_a_changed_recipe_is_another_image() -> None:
    recipe = image_recipe("trixie", "qemu")
    assert recipe.key == image_recipe("trixie", "qemu").key
    assert recipe.key != replace(recipe, files=recipe.files[1:]).key
    assert recipe.key != image_recipe("trixie", "qemu", ["dkms"]).key


def test_a_machine_has_the_newest_kernel_unless_its_packages_name_another() -> None:
    usual = image_recipe("trixie", "qemu", ["linux-headers-amd64"]).packages
    assert "linux-image-amd64" in usual
    chosen = image_recipe("trixie", "qemu", ["linux-image-6.12.107+deb13-amd64"]).packages
    assert [package for package in chosen if package.startswith("linux-image-")] == ["linux-image-6.12.107+deb13-amd64"]
    assert set(usual) - set(chosen) == {"linux-image-amd64", "linux-headers-amd64"}


def test_a_package_of_another_suite_brings_its_source_and_a_pin() -> None:
    recipe = image_recipe("trixie", "nspawn", ["docker.io/sid", "docker-cli/sid", "nftables"])
    assert recipe.further_suites == ("sid",)
    pin = next(file for file in recipe.files if file.path == "/etc/apt/preferences.d/lab-sid")
    assert pin.text == "Package: *\nPin: release n=sid\nPin-Priority: 50\n"
    assert image_recipe("trixie", "nspawn", ["nftables"]).further_suites == ()


def test_what_a_recipe_does_not_use_does_not_change_its_key() -> None:
    recipe = image_recipe("trixie", "nspawn")
    assert recipe.key == image_recipe("trixie", "nspawn", disabled_units=[]).key
    assert recipe.key != image_recipe("trixie", "nspawn", disabled_units=["docker.service"]).key


def test_the_order_of_packages_does_not_matter() -> None:
    assert image_recipe("trixie", "nspawn", ["b", "a", "a"]).key == image_recipe("trixie", "nspawn", ["a", "b"]).key


def test_unknown_releases_and_kinds_are_refused() -> None:
    with pytest.raises(TopologyError, match="release 'sid' is not known"):
        image_recipe("sid", "qemu")
    with pytest.raises(TopologyError, match="kind 'lxc' is not known"):
        image_recipe("trixie", "lxc")


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ("", ("http://deb.debian.org/debian", "http://deb.debian.org/debian-security")),
        (
            "URIs: http://mirror.example/debian/\n",
            ("http://mirror.example/debian", "http://deb.debian.org/debian-security"),
        ),
        (
            "# deb http://old.example/debian x main\ndeb [signed-by=/k] https://m.example/debian bookworm main\n"
            "deb https://m.example/debian-security bookworm-security main\n",
            ("https://m.example/debian", "https://m.example/debian-security"),
        ),
        (
            "deb http://archive.ubuntu.com/ubuntu noble main\n",
            ("http://deb.debian.org/debian", "http://deb.debian.org/debian-security"),
        ),
    ],
)
def test_the_mirror_of_the_machine_is_used(sources: str, found: tuple[str, str]) -> None:
    assert mirrors(sources) == found


def test_the_boot_sector_has_one_active_partition_to_the_end() -> None:
    record = master_boot_record(b"\xeb" * 512, 8 * 1024**3)
    assert len(record) == 512
    assert record[:440] == b"\xeb" * 440
    assert record[510:] == b"\x55\xaa"
    active, kind, start, sectors = struct.unpack("<B3xB3xII", record[446:462])
    assert (active, kind, start, start + sectors) == (0x80, 0x83, 2048, 8 * 1024**3 // 512)


def test_resolvers_on_loopback_are_of_no_use_elsewhere() -> None:
    assert nameservers("search x\nnameserver 127.0.0.53\nnameserver ::1\nnameserver 192.0.2.53\n") == ["192.0.2.53"]


def test_hosts_know_each_other_by_name() -> None:
    text = hosts_file("alpha", TOPOLOGY)
    assert "192.0.2.1 alpha" in text
    assert "2001:db8:1::1 alpha" in text
    assert "127.0.1.1 store" in hosts_file("store", TOPOLOGY)


def test_an_interface_is_named_and_addressed_by_its_mac() -> None:
    files = interface_files([GuestInterface("core", "52:54:00:00:00:02", 1400, ["192.0.2.2/24"], "192.0.2.1")])
    assert "Name=core" in files["etc/systemd/network/10-core.link"]
    assert "MTUBytes=1400" in files["etc/systemd/network/10-core.link"]
    network = files["etc/systemd/network/10-core.network"]
    assert "Address=192.0.2.2/24" in network
    assert "Gateway=192.0.2.1" in network


def test_the_seed_keeps_keys_private_and_is_the_same_each_time() -> None:
    first = seed_tar(TOPOLOGY.host("alpha"), TOPOLOGY, "ssh-ed25519 A", ("private", "public"), ["192.0.2.53"])
    assert first == seed_tar(TOPOLOGY.host("alpha"), TOPOLOGY, "ssh-ed25519 A", ("private", "public"), ["192.0.2.53"])
    with tarfile.open(fileobj=io.BytesIO(first)) as archive:
        modes = {member.name: member.mode for member in archive}
    assert modes["etc/ssh/ssh_host_ed25519_key"] == 0o600
    assert modes["root/.ssh"] == 0o700
    assert modes["root/.ssh/authorized_keys"] == 0o600
    assert modes["etc/hosts"] == 0o644
