# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Routes as messages of rtnetlink(7): a million of them take ip(8) minutes, and the kernel seconds."""

from __future__ import annotations

import itertools
import struct
import typing as t

from .model import Address

#: linux/netlink.h and linux/rtnetlink.h
_NLMSG_ERROR = 2
_RTM_NEWROUTE = 24
_REQUEST, _ACK, _EXCLUSIVE, _CREATE = 0x001, 0x004, 0x200, 0x400
_RTA_DST, _RTA_OIF, _RTA_GATEWAY = 1, 4, 5
_TABLE_MAIN, _PROTOCOL_STATIC, _UNICAST = 254, 4, 1
_FAMILIES = {4: 2, 6: 10}
_HEADER = struct.Struct("=IHHII")
#: As many as the kernel takes at once with the room that a socket has by default.
_PER_MESSAGE = 500


def _attribute(kind: int, content: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(content), kind) + content


def messages(prefixes: t.Iterable[tuple[int, int]], gateway: Address, interface_index: int) -> t.Iterator[bytes]:
    """Yield what to send: many requests at a time, of which the last one asks for an answer."""
    size, family = len(gateway.packed), _FAMILIES[gateway.version]
    where = _attribute(_RTA_GATEWAY, gateway.packed) + _attribute(_RTA_OIF, struct.pack("=I", interface_index))
    destination = struct.pack("=HH", 4 + size, _RTA_DST)
    rest = struct.Struct(f"=BBBBBBBBI4s{size}s")
    length = _HEADER.size + rest.size + len(where)
    remaining = iter(prefixes)
    while True:
        some = list(itertools.islice(remaining, _PER_MESSAGE))
        if not some:
            return
        parts = []
        for number, (address, prefix_length) in enumerate(some, 1):
            flags = _REQUEST | _CREATE | _EXCLUSIVE | (_ACK if number == len(some) else 0)
            parts.append(_HEADER.pack(length, _RTM_NEWROUTE, flags, number, 0))
            parts.append(
                rest.pack(
                    family,
                    prefix_length,
                    0,
                    0,
                    _TABLE_MAIN,
                    _PROTOCOL_STATIC,
                    0,
                    _UNICAST,
                    0,
                    destination,
                    address.to_bytes(size, "big"),
                )
            )
            parts.append(where)
        yield b"".join(parts)


def error_in(answer: bytes) -> int:
    """Return the first error number in what the kernel answered, 0 if all went well."""
    offset = 0
    while offset + _HEADER.size + 4 <= len(answer):
        length, kind = struct.unpack_from("=IH", answer, offset)
        (code,) = struct.unpack_from("=i", answer, offset + _HEADER.size)
        if kind == _NLMSG_ERROR and code:
            return int(-code)
        offset += max(length + 3 & ~3, _HEADER.size)
    return 0
