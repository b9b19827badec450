# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""How the program walks over a network's addresses: each once per period, in an order that looks random."""

from __future__ import annotations

from dataclasses import dataclass

from .model import Network

_ALL = (1 << 64) - 1


@dataclass(frozen=True)
class Walk:
    """The constants with which a destination is made from the walk's state, a number of up to 64 bits.

    high = base_high | (state >> high_shift & high_mask); low = base_low | (state << low_shift & low_mask)
    """

    mask: int
    base_high: int
    base_low: int
    high_mask: int
    low_mask: int
    high_shift: int
    low_shift: int

    def destination(self, state: int) -> int:
        """Return the address, as a number, that the program makes from a state."""
        high = self.base_high | (state >> self.high_shift & self.high_mask)
        low = self.base_low | (state << self.low_shift & _ALL & self.low_mask)
        return high << 64 | low


def walk_over(network: Network) -> Walk:
    """Return the walk over ``network``: over all of its addresses, or over its first 2^64 subnets if it has more."""
    bits = network.max_prefixlen - network.prefixlen
    base = int(network.network_address)
    varied = min(bits, 64)
    below = bits - varied  # low bits of the address that stay zero
    return Walk(
        mask=(1 << varied) - 1,
        base_high=base >> 64,
        base_low=base & _ALL,
        high_mask=_ALL if below else 0,
        low_mask=_ALL if below < 64 else 0,
        high_shift=(64 - below) if below else 0,
        low_shift=below % 64,
    )
