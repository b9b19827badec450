# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Networks as interval sets hold them."""

from __future__ import annotations

import ipaddress
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.addresses import (
    BadAddress,
    canonical,
    merged,
    parse_network,
)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
SMALL = st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def addresses_of(element: str) -> set[int]:
    if "-" in element:
        first, last = (int(ipaddress.ip_address(part)) for part in element.split("-"))
        return set(range(first, last + 1))
    network = ipaddress.ip_network(element)
    return set(range(int(network.network_address), int(network.broadcast_address) + 1))


@given(st.lists(SMALL, max_size=8), st.sampled_from([4, 6]))
def test_merging_keeps_every_address_and_no_two_elements_touch(ranges: list[tuple[int, int]], version: int) -> None:
    elements = merged(version, ranges)
    found = [addresses_of(element) for element in elements]
    assert set().union(*found) == {each for first, last in ranges for each in range(first, last + 1)}
    for one, other in itertools.pairwise(found):
        assert max(one) + 1 < min(other)


def test_elements_are_written_as_nft_prints_them() -> None:
    networks = ["10.0.0.0/24", "10.0.1.0/25", "192.0.2.1", "198.51.100.0/25", "198.51.100.128/25"]
    ranges = [parse_network(text)[1:] for text in networks]
    assert merged(4, ranges) == ("10.0.0.0-10.0.1.127", "192.0.2.1", "198.51.100.0/24")
    assert merged(4, [parse_network("0.0.0.0/0")[1:]]) == ("0.0.0.0/0",)
    assert merged(6, [parse_network("2001:0DB8::/32")[1:], parse_network("::1")[1:]]) == ("::1", "2001:db8::/32")


@given(st.ip_addresses(), st.integers(0, 130))
def test_every_network_is_read_as_the_standard_library_reads_it(address: Address, prefix: int) -> None:
    text = f"{address}/{prefix}"
    try:
        network = ipaddress.ip_network(text)
    except ValueError:
        with pytest.raises(BadAddress):
            parse_network(text)
    else:
        expected = (network.version, int(network.network_address), int(network.broadcast_address))
        assert parse_network(text) == expected
    assert parse_network(str(address)) == (address.version, int(address), int(address))
    network = ipaddress.ip_network(text, strict=False) if prefix <= address.max_prefixlen else ipaddress.ip_network(0)
    assert parse_network(str(network))[1] == int(network.network_address)


def test_an_address_has_one_form() -> None:
    assert canonical("2001:0DB8:0:0::1") == "2001:db8::1"
    with pytest.raises(BadAddress, match="is not an IP address"):
        canonical("192.0.2.256")


@pytest.mark.parametrize(
    "text",
    ["", "relay", "192.0.2.0/33", "192.0.2", "2001:db8::/129", "192.0.2.0/", "192.0.2.0/\u0662", "192.0.2.1/24/8"],
)
def test_what_is_no_network_is_refused(text: str) -> None:
    with pytest.raises(BadAddress, match="is not a network"):
        parse_network(text)


def test_bits_behind_the_prefix_are_refused_with_the_network_that_was_meant() -> None:
    with pytest.raises(BadAddress, match=r"write 192\.0\.2\.0/24"):
        parse_network("192.0.2.7/24")
