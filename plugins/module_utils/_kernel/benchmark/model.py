# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What a measurement is asked for, and what it found. Times are in nanoseconds."""

from __future__ import annotations

import ipaddress
import typing as t
from dataclasses import dataclass

BPF, MODULE = "bpf", "module"

Address = t.Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
Network = t.Union[ipaddress.IPv4Network, ipaddress.IPv6Network]


@dataclass(frozen=True)
class Request:
    """A measurement. ``routes`` are put into a network of its own; None is for the tables that the host has."""

    engine: str
    network: Network
    source: Address
    interface: str
    routes: int | None
    loops: int
    warm_up: int
    batch: int
    runs: int
    buckets: int
    wait_seconds: float

    @property
    def family(self) -> str:
        """As the option has it: ipv4 or ipv6."""
        return f"ipv{self.network.version}"


@dataclass(frozen=True)
class Loop:
    """One run of the loop: over which network, from which state of the walk, with or without the lookup."""

    network: Network
    source: Address
    interface_index: int
    batch: int
    state: int
    look_up: bool


@dataclass(frozen=True)
class Sample:
    """What one run of the loop came to: how often a batch of ``batch`` lookups took so many nanoseconds."""

    batch: int
    batches: int
    total: int
    minimum: int
    maximum: int
    histogram: t.Mapping[int, int]
    return_codes: t.Mapping[str, int]
    errors: int = 0
    last_error: int = 0


#: What an engine does: so many lookups of a loop. It returns what they came to, and how far the walk went.
Run = t.Callable[[Loop, int], t.Tuple[Sample, int]]


@dataclass(frozen=True)
class Measured:
    """All runs: the loop with the lookup, and each time beside it the loop without."""

    with_lookup: tuple[Sample, ...]
    without: tuple[Sample, ...]
