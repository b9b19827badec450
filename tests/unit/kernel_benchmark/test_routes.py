"""Synthetic routes cover a network exactly, and are told to the kernel as it expects them."""

from __future__ import annotations

import errno
import ipaddress
import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.netlink_routes import (
    error_in,
    messages,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.synthetic_routes import (
    LONGEST,
    cut,
    most_routes,
)

NETWORKS = [ipaddress.ip_network(text) for text in ("128.0.0.0/2", "10.0.0.0/14", "2000::/3", "2001:db8::/36")]
GATEWAYS = {4: ipaddress.ip_address("198.18.0.2"), 6: ipaddress.ip_address("fd00::2")}


@given(st.sampled_from(NETWORKS), st.integers(1, 1024))
def test_every_destination_has_exactly_one_route(network: ipaddress.IPv4Network, count: int) -> None:
    width = network.max_prefixlen
    pieces = sorted((address, address + (1 << (width - length))) for address, length in cut(network, count))
    assert len(pieces) == count
    assert pieces[0][0] == int(network.network_address)
    assert pieces[-1][1] == int(network.broadcast_address) + 1
    assert all(before[1] == after[0] for before, after in pairwise(pieces))


@given(st.sampled_from(NETWORKS), st.integers(1, 1024))
def test_no_route_is_longer_than_what_networks_tell_each_other(network: ipaddress.IPv4Network, count: int) -> None:
    assert all(network.prefixlen <= length <= LONGEST[network.version] for _address, length in cut(network, count))


def test_prefix_lengths_are_mixed() -> None:
    assert len({length for _address, length in cut(NETWORKS[0], 1000)}) > 8


def test_the_same_number_gives_the_same_routes() -> None:
    assert list(cut(NETWORKS[2], 500)) == list(cut(NETWORKS[2], 500))


def test_a_network_can_be_cut_down_to_its_longest_prefixes() -> None:
    network = ipaddress.ip_network("192.0.0.0/20")
    assert most_routes(network) == 16
    assert {length for _address, length in cut(network, 16)} == {24}


def test_no_routes_are_none() -> None:
    assert list(cut(NETWORKS[0], 0)) == []


@pytest.mark.parametrize(("network", "length"), [(NETWORKS[0], 52), (NETWORKS[2], 76)])
def test_the_last_request_of_each_message_asks_for_an_answer(network: ipaddress.IPv4Network, length: int) -> None:
    sent = list(messages(cut(network, 1200), GATEWAYS[network.version], 7))
    headers = [struct.unpack_from("=IHHII", message, at) for message in sent for at in range(0, len(message), length)]
    assert [len(message) // length for message in sent] == [500, 500, 200]
    assert {header[:2] for header in headers} == {(length, 24)}
    assert [number for number, header in enumerate(headers) if header[2] & 0x004] == [499, 999, 1199]


def test_an_answer_is_an_error_or_none() -> None:
    def answer(code: int) -> bytes:
        return struct.pack("=IHHIIi16x", 36, 2, 0, 1, 0, code)

    assert error_in(answer(0)) == 0
    assert error_in(answer(0) + answer(-errno.ENOMEM)) == errno.ENOMEM
    assert error_in(b"") == 0
