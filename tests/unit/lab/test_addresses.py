"""Two labs never meet: names, interfaces, MACs, subnets, ports."""

from __future__ import annotations

import ipaddress

import pytest

from tests.lab import addresses
from tests.lab.errors import LabError, TopologyError


def test_a_lab_does_not_claim_what_belongs_to_one_whose_name_it_begins() -> None:
    assert addresses.belongs_to("a", addresses.namespace("a", "store"))
    assert not addresses.belongs_to("a", addresses.namespace("a-b", "store"))


@pytest.mark.parametrize("name", ["", "A", "a--b", "-a", "a-", "a/b", "x" * 29])
def test_lab_names_that_cannot_be_part_of_a_path_or_namespace_are_refused(name: str) -> None:
    with pytest.raises(TopologyError, match="will not do"):
        addresses.check_lab_name(name)


def test_interface_names_fit_the_kernel() -> None:
    longest = "x" * 28
    assert len(addresses.uplink_interface(longest)) <= 15
    assert len(addresses.port_interface(longest, "h" * 16, "l" * 12)) <= 15
    assert len(addresses.bridge_interface("l" * 12)) <= 15


def test_macs_are_unicast_and_differ_between_labs_hosts_and_links() -> None:
    macs = {
        addresses.mac_address(lab, host, link) for lab in ("a", "b") for host in ("h1", "h2") for link in ("l1", "l2")
    }
    assert len(macs) == 8
    assert all(int(mac[:2], 16) & 1 == 0 for mac in macs)


def test_the_uplink_avoids_what_the_machine_routes() -> None:
    first = addresses.uplink_network("a", [])
    second = addresses.uplink_network("a", [str(first), "192.0.2.0/24"])
    assert not first.overlaps(second)
    assert second.subnet_of(addresses.UPLINK_POOL)


def test_a_machine_that_routes_the_whole_pool_is_told_so() -> None:
    with pytest.raises(LabError, match="is free on this machine"):
        addresses.uplink_network("a", ["100.64.0.0/10"])


def test_a_port_that_is_taken_is_not_given_again() -> None:
    first = addresses.forwarded_port("a", "h", set())
    assert addresses.forwarded_port("a", "h", {first}) != first
    with pytest.raises(LabError, match="no port between"):
        addresses.forwarded_port("a", "h", set(addresses.PORT_RANGE))


def test_uplink_addresses_follow_the_machine_and_stay_in_the_subnet() -> None:
    network = ipaddress.IPv4Network("100.64.7.0/24")
    assert str(addresses.uplink_address(network, 0)) == "100.64.7.2/24"
    with pytest.raises(LabError, match="no uplink address"):
        addresses.uplink_address(network, 253)


def test_a_container_of_a_lab_with_an_underscore_has_a_name_that_systemd_takes_and_that_leads_back() -> None:
    namespace = addresses.namespace("molecule-docker_firewall", "trixie")
    machine = addresses.machine_name(namespace)
    assert machine == "lab-molecule-docker.firewall--trixie"
    assert addresses.namespace_of_machine(machine) == namespace
