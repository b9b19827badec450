# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Networks as nft's interval sets hold and print them: merged ranges. Pure."""

from __future__ import annotations

import ipaddress
import socket
import typing as t

_FAMILY = {4: socket.AF_INET, 6: socket.AF_INET6}
_BYTES = {4: 4, 6: 16}


class BadAddress(ValueError):
    """A text is not what it should be; the message says what would be."""


def canonical(text: str) -> str:
    """Return an address in the form that the kernel's tools print (inet_ntop(3)); raise :class:`BadAddress`."""
    try:
        return _text(*_parsed(text.strip()))
    except OSError as error:
        raise BadAddress(f"'{text}' is not an IP address; write one such as 192.0.2.1 or 2001:db8::1") from error


def _parsed(text: str) -> tuple[int, int]:
    version = 6 if ":" in text else 4
    return version, int.from_bytes(socket.inet_pton(_FAMILY[version], text), "big")


def _text(version: int, value: int) -> str:
    return socket.inet_ntop(_FAMILY[version], value.to_bytes(_BYTES[version], "big"))


def parse_network(text: str) -> tuple[int, int, int]:
    """Return the IP version, the first and the last address (as numbers) of a network in CIDR notation.

    Raises :class:`BadAddress`, also for a network with host bits, which is more often a slip than a wish.
    """
    stripped = text.strip()
    found = _plain_network(stripped)
    if found is not None:
        return found
    try:
        network = ipaddress.ip_network(stripped)
    except ValueError as error:
        try:
            loose = ipaddress.ip_network(stripped, strict=False)
        except ValueError:
            raise BadAddress(
                f"'{text}' is not a network; write an address or CIDR such as 192.0.2.0/24 or 2001:db8::/32"
            ) from error
        raise BadAddress(f"'{text}' has bits set behind its prefix; write {loose}, or the single address") from error
    return network.version, int(network.network_address), int(network.broadcast_address)


def _plain_network(text: str) -> tuple[int, int, int] | None:
    """Return the same for what needs no second look, in a fraction of the time; None for the rest."""
    address, slash, prefix = text.partition("/")
    version = 6 if ":" in address else 4
    bits = _BYTES[version] * 8
    if slash and not (prefix.isdecimal() and prefix.isascii() and len(prefix) <= 3 and int(prefix) <= bits):
        return None
    try:
        first = int.from_bytes(socket.inet_pton(_FAMILY[version], address), "big")
    except (OSError, ValueError):
        return None
    size = 1 << (bits - int(prefix)) if slash else 1
    return None if first & (size - 1) else (version, first, first + size - 1)


def merged(version: int, ranges: t.Iterable[tuple[int, int]]) -> tuple[str, ...]:
    """Return ranges of addresses as an interval set with auto-merge prints them: disjoint, apart, in order."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(_element(version, first, last) for first, last in joined)


def _element(version: int, first: int, last: int) -> str:
    size = last - first + 1
    if size == 1:
        return _text(version, first)
    if size & (size - 1) == 0 and first % size == 0:
        return f"{_text(version, first)}/{_BYTES[version] * 8 + 1 - size.bit_length()}"
    return f"{_text(version, first)}-{_text(version, last)}"
