# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Routes to measure with: a network cut into so many pieces of different sizes, without a gap.

Every destination in the network has exactly one route. The pieces come about by halving one of them, chosen at random,
until there are enough: prefix lengths are mixed, as in real tables, and the trees that the kernel makes of them are
irregular.
"""

from __future__ import annotations

import random
import typing as t

from .model import Network

#: The longest prefixes that are routed between networks.
LONGEST = {4: 24, 6: 48}
#: The same routes each time, so that runs can be compared.
_SEED = 5


def most_routes(network: Network) -> int:
    """Return into how many pieces a network can be cut."""
    return 1 << max(0, LONGEST[network.version] - network.prefixlen)


def cut(network: Network, count: int) -> t.Iterator[tuple[int, int]]:
    """Yield ``count`` prefixes, each as the number of its address and its length, that make up ``network``."""
    if count < 1:
        return
    width, longest = network.max_prefixlen, max(LONGEST[network.version], network.prefixlen)
    # random() is what Python keeps the same for a seed in all versions.
    choose = random.Random(_SEED).random  # noqa: S311 - this is no secret
    growing = [(int(network.network_address), network.prefixlen)]
    done: list[tuple[int, int]] = []
    while len(growing) + len(done) < count:
        index = int(choose() * len(growing))
        address, length = growing[index]
        if length == longest:
            done.append(growing[index])
            growing[index] = growing[-1]
            growing.pop()
            continue
        growing[index] = (address, length + 1)
        growing.append((address | 1 << (width - length - 1), length + 1))
    yield from done
    yield from growing
