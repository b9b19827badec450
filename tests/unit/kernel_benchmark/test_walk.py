"""The walk over destinations meets each once before it meets one again, and none outside of the network."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.model import Network
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.walk import walk_over

FACTOR, STEP = 6364136223846793005, 1442695040888963407


def next_state(state: int, mask: int) -> int:
    """As bpf/route_lookup.c has it."""
    return (state * FACTOR + STEP) & mask


@st.composite
def networks(draw: st.DrawFn, fewest_bits: int = 0, most_bits: int = 128) -> Network:
    version = draw(st.sampled_from([4, 6]))
    width = 32 if version == 4 else 128
    bits = draw(st.integers(min(fewest_bits, width), min(most_bits, width)))
    address = draw(st.integers(0, 2**width - 1)) >> bits << bits
    if version == 4:
        return ipaddress.IPv4Network((address, width - bits))
    return ipaddress.IPv6Network((address, width - bits))


@given(networks(most_bits=10), st.integers(0, 2**64 - 1))
def test_every_address_of_a_small_network_comes_once(network: Network, start: int) -> None:
    walk = walk_over(network)
    state = start & walk.mask
    seen = set()
    for _turn in range(network.num_addresses):
        state = next_state(state, walk.mask)
        seen.add(walk.destination(state))
    assert seen == set(range(int(network.network_address), int(network.broadcast_address) + 1))


@given(networks(), st.integers(0, 2**64 - 1))
def test_no_destination_is_outside(network: Network, state: int) -> None:
    walk = walk_over(network)
    inside = walk.destination(state & walk.mask)
    assert int(network.network_address) <= inside <= int(network.broadcast_address)


@given(networks(fewest_bits=65), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_of_a_huge_network_the_bits_after_its_prefix_vary(network: Network, one: int, other: int) -> None:
    walk = walk_over(network)
    if network.version == 6:
        below = 128 - network.prefixlen - 64
        assert (walk.destination(one) ^ walk.destination(other)) == (one ^ other) << below


@pytest.mark.parametrize("text", ["0.0.0.0/0", "::/0", "192.0.2.1/32", "2001:db8::1/128", "2000::/64"])
def test_constants_fit_the_program(text: str) -> None:
    walk = walk_over(ipaddress.ip_network(text))
    assert max(walk.mask, walk.high_mask, walk.low_mask, walk.base_high, walk.base_low) < 2**64
    assert max(walk.high_shift, walk.low_shift) < 64
