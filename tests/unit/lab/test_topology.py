"""The topology file is understood, and every mistake in it is named with its place."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lab.errors import TopologyError
from tests.lab.topology import parse_disk, parse_size, parse_topology

MIB = 1024**2


def topology(**changes: Any) -> dict[str, Any]:
    data: dict[str, Any] = {
        "hosts": {"alpha": {"kind": "nspawn"}, "store": {"kind": "qemu", "disks": {"d1": {"size": "101M"}}}},
        "links": {"core": {"subnets": ["192.0.2.0/24", "2001:db8:1::/64"], "hosts": ["alpha", "store"]}},
    }
    return {**data, **changes}


def test_hosts_get_addresses_in_the_order_of_the_link() -> None:
    parsed = parse_topology(topology())
    assert [str(address) for address in parsed.host("store").ports[0].addresses] == ["192.0.2.2/24", "2001:db8:1::2/64"]


def test_addresses_can_be_given_by_hand() -> None:
    links = {"core": {"subnets": ["192.0.2.0/24"], "hosts": {"alpha": ["198.51.100.7/25"], "store": None}}}
    parsed = parse_topology(topology(links=links))
    assert [str(address) for address in parsed.host("alpha").ports[0].addresses] == ["198.51.100.7/25"]
    assert [str(address) for address in parsed.host("store").ports[0].addresses] == ["192.0.2.2/24"]


def test_a_list_is_a_link_without_addresses() -> None:
    parsed = parse_topology(topology(links={"core": ["alpha", "store"]}))
    assert parsed.host("alpha").ports[0].addresses == ()


def test_defaults_apply_to_every_host_that_does_not_say_otherwise() -> None:
    hosts = {"alpha": {}, "beta": {"release": "trixie"}}
    parsed = parse_topology({"hosts": hosts, "defaults": {"release": "bookworm", "kind": "qemu"}})
    assert [(host.kind, host.release) for host in parsed.hosts] == [("qemu", "bookworm"), ("qemu", "trixie")]


def test_a_host_without_a_system_takes_no_defaults_for_one() -> None:
    hosts = {"alpha": {}, "client": {"kind": "netns", "routes": {"0.0.0.0/0": "192.0.2.1"}}}
    parsed = parse_topology({"hosts": hosts, "defaults": {"packages": ["docker.io/sid"], "persistent": True}})
    alpha, client = parsed.hosts
    assert (alpha.packages, alpha.persistent) == (("docker.io/sid",), True)
    assert (client.packages, client.persistent) == ((), False)
    assert [(str(network), str(gateway)) for network, gateway in client.routes] == [("0.0.0.0/0", "192.0.2.1")]


@pytest.mark.parametrize(
    ("text", "size"), [(512, 512), ("101M", 101 * MIB), ("4GiB", 4096 * MIB), ("1 T", 1024**4), ("4096", 4096)]
)
def test_sizes(text: object, size: int) -> None:
    assert parse_size(text, "here") == size


@pytest.mark.parametrize("text", ["", "M", "1.5G", "-1", 0, True, None, "10MB"])
def test_what_is_not_a_size_is_refused(text: object) -> None:
    with pytest.raises(TopologyError, match=r"here: .* is not a size"):
        parse_size(text, "here")


def test_a_disk_is_known_by_its_id_unless_it_has_a_serial() -> None:
    assert parse_disk("d1", {"size": "101M"}, "d1").serial == "d1"
    assert parse_disk("d1", {"size": "101M", "serial": "WD-1"}, "d1").serial == "WD-1"


def test_a_wwn_makes_a_scsi_disk() -> None:
    disk = parse_disk("d1", {"size": "101M", "wwn": 0x5000C50015EA71AC}, "d1")
    assert (disk.bus, disk.wwn) == ("scsi", "0x5000c50015ea71ac")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "hosts: empty"),
        ({"hosts": ["alpha"]}, "hosts: a mapping is expected"),
        (topology(host={}), "topology: host not known; allowed are"),
        ({"hosts": {"Alpha": {}}}, r"hosts\.Alpha: 'Alpha' will not do"),
        ({"hosts": {"switch": {}}}, r"hosts\.switch: this name belongs"),
        ({"hosts": {"a": {"kind": "lxc"}}}, r"hosts\.a\.kind: 'lxc' is not one of nspawn, qemu, netns"),
        ({"hosts": {"a": {"release": "buster"}}}, r"hosts\.a\.release: 'buster' is not one of bookworm, trixie"),
        ({"hosts": {"a": {"disks": {"d1": {"size": 512}}}}}, r"hosts\.a\.disks: nspawn hosts .* use kind: qemu"),
        ({"hosts": {"a": {"packages": ["x y"]}}}, r"hosts\.a\.packages: 'x y' will not do"),
        ({"hosts": {"a": {"packages": ["docker.io/forky"]}}}, r"hosts\.a\.packages: 'docker.io/forky' will not do"),
        ({"hosts": {"a": {"disabled_units": ["docker"]}}}, r"hosts\.a\.disabled_units: 'docker' will not do"),
        ({"hosts": {"a": {"kind": "qemu", "persistent": True}}}, r"hosts\.a\.persistent: a qemu host cannot have it"),
        ({"hosts": {"a": {"kind": "qemu", "routes": {"::/0": "::1"}}}}, r"hosts\.a\.routes: a qemu host configures"),
        ({"hosts": {"a": {"kind": "netns", "packages": ["x1"]}}}, r"hosts\.a\.packages: a netns host has no system"),
        ({"hosts": {"a": {"kind": "netns", "disks": {"d1": {"size": 512}}}}}, r"hosts\.a\.disks: netns hosts share"),
        ({"hosts": {"a": {"routes": {"0.0.0.0/0": "way out"}}}}, r"hosts\.a\.routes: 'way out' does not appear"),
        ({"hosts": {"a": {"routes": {"default": "192.0.2.1"}}}}, r"hosts\.a\.routes: .* write such as"),
        ({"hosts": {"a": {"routes": {"::/0": "192.0.2.1"}}}}, r"hosts\.a\.routes: 192.0.2.1 is no gateway to ::/0"),
        ({"hosts": {"a": {"packages": "docker.io"}}}, r"hosts\.a\.packages: a list of words is expected"),
        ({"hosts": {"a": {"cpus": 0}}}, r"hosts\.a\.cpus: a whole number from 1"),
        ({"hosts": {"a": {}}, "uplink": "yes"}, "uplink: true or false"),
        (topology(links={"core": ["gamma"]}), r"links\.core\.hosts: no host 'gamma'; declared are alpha, store"),
        (topology(links={"uplink": ["alpha"]}), r"links\.uplink: this name belongs to the way out"),
        (topology(links={"core": {"hosts": []}}), r"links\.core\.hosts: empty"),
        (
            topology(links={"core": {"subnets": ["192.0.2.1/24"], "hosts": ["alpha"]}}),
            r"links\.core\.subnets: .*host bits",
        ),
        (topology(links={"core": {"subnets": ["192.0.2.0/31"], "hosts": ["alpha", "store"]}}), "no address left"),
        (topology(links={"core": {"hosts": {"alpha": ["192.0.2.1"]}}}), r"links\.core\.hosts\.alpha"),
        (
            topology(links={"core": {"hosts": {"alpha": ["192.0.2.9/24"], "store": ["192.0.2.9/24"]}}}),
            "192.0.2.9 belongs to both alpha and store",
        ),
    ],
)
def test_mistakes_are_named_with_their_place(data: dict[str, Any], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        parse_topology(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "size is missing"),
        ({"size": "101M", "speed": 1}, "speed not known"),
        ({"size": "101M", "logical_block_size": 520}, "520 is not one of 512, 4096"),
        ({"size": 512 * 3, "logical_block_size": 4096}, "not a multiple of the 4096-byte sector"),
        ({"size": "101M", "serial": "a serial that is far too long"}, "a serial has up to 20"),
        ({"size": "101M", "bus": "ide"}, "'ide' is not one of virtio, scsi"),
        ({"size": "101M", "bus": "virtio", "wwn": "0x5000c50015ea71ac"}, "only a disk with bus: scsi has a WWN"),
        ({"size": "101M", "wwn": "5000"}, "a WWN is 0x and 16 hexadecimal digits"),
        ({"size": "101M", "iops": 0}, "iops: a whole number from 1"),
    ],
)
def test_mistakes_in_a_disk_are_named(data: dict[str, Any], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        parse_disk("d1", data, "hosts.store.disks.d1")


def test_two_disks_cannot_share_a_serial() -> None:
    disks = {"d1": {"size": "101M", "serial": "x"}, "d2": {"size": "101M", "serial": "x"}}
    with pytest.raises(TopologyError, match="two disks have the serial 'x'"):
        parse_topology({"hosts": {"store": {"kind": "qemu", "disks": disks}}})
