# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The program as the kernel loads it."""

from __future__ import annotations

import base64
import struct

from .route_lookup_program import INSTRUCTIONS, REFERENCES

#: The instruction's second half of the second byte: the constant is a map's value (linux/bpf.h).
_BPF_PSEUDO_MAP_VALUE = 2


def instructions(map_descriptor: int) -> bytes:
    """Return the program with the descriptor of the map whose value is its memory."""
    code = bytearray(base64.b64decode(INSTRUCTIONS))
    for index in REFERENCES:
        register = code[8 * index + 1] & 0x0F
        code[8 * index + 1] = register | _BPF_PSEUDO_MAP_VALUE << 4
        struct.pack_into("<i", code, 8 * index + 4, map_descriptor)
    return bytes(code)
