"""The program that is checked in is the source's, and shares with Python the memory that it thinks it does."""

from __future__ import annotations

import base64
import ipaddress
import re
import struct

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark import route_lookup_program as carried
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.model import Loop
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.program import instructions
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.shared_memory import (
    BUCKETS,
    MOST_PER_BATCH,
    SIZE,
    packed,
    sample_of,
    state_of,
)
from tests.bpf.build import CARRIER, SOURCE, carrier_text, source_hash
from tests.bpf.elf import BadObject, Code, read_code


def test_the_program_was_built_from_the_source() -> None:
    assert source_hash() == carried.SOURCE_SHA256, "bpf/route_lookup.c was changed: run make bpf"


def test_the_carrier_is_what_the_build_writes() -> None:
    code = Code(base64.b64decode(carried.INSTRUCTIONS), carried.REFERENCES, carried.MEMORY_SIZE)
    assert carrier_text(code, carried.SOURCE_SHA256) == CARRIER.read_text(encoding="utf-8")


def test_both_sides_agree_on_the_memory() -> None:
    source = SOURCE.read_text(encoding="utf-8")
    loop = Loop(ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_address("192.0.2.1"), 3, 5, 77, True)
    assert len(packed(loop)) == SIZE == carried.MEMORY_SIZE
    assert re.findall(r"^#define (?:BUCKETS|MOST_PER_BATCH) (\d+)", source, re.MULTILINE) == [
        str(MOST_PER_BATCH),
        str(BUCKETS),
    ]


def test_references_get_the_descriptor_of_the_map() -> None:
    plain, code = base64.b64decode(carried.INSTRUCTIONS), instructions(77)
    assert len(code) == len(plain)
    for index in carried.REFERENCES:
        operation, registers, _offset, constant = struct.unpack_from("<BBhi", code, 8 * index)
        assert (operation, registers >> 4, constant) == (0x18, 2, 77)
    changed = [
        index for index in range(len(code) // 8) if code[8 * index : 8 * index + 8] != plain[8 * index : 8 * index + 8]
    ]
    assert tuple(changed) == carried.REFERENCES


def test_only_helpers_that_every_supported_kernel_has_are_called() -> None:
    code = base64.b64decode(carried.INSTRUCTIONS)
    calls = {
        constant for operation, _registers, _offset, constant in struct.iter_unpack("<BBhi", code) if operation == 0x85
    }
    assert calls == {5, 69}  # bpf_ktime_get_ns, bpf_fib_lookup


def test_what_was_found_is_read_where_the_program_writes_it() -> None:
    loop = Loop(ipaddress.ip_network("2000::/3"), ipaddress.ip_address("::"), 1, 2, 5, True)
    memory = bytearray(packed(loop))
    struct.pack_into("<QQQQ", memory, 88, 3, 600, 100, 300)
    struct.pack_into("<Q", memory, 88 + 32 + 8 * 5, 6)
    struct.pack_into("<I", memory, SIZE - 4 * BUCKETS + 4 * 200, 3)
    found = sample_of(bytes(memory), 2)
    assert (found.batches, found.total, found.minimum, found.maximum) == (3, 600, 100, 300)
    assert (found.return_codes, found.histogram, found.errors) == ({"FWD_DISABLED": 6}, {200: 3}, 0)
    assert state_of(bytes(memory)) == 5


def test_an_object_of_another_kind_is_refused() -> None:
    with pytest.raises(BadObject):
        read_code(b"\x7fELF\x02\x02" + bytes(100), "xdp")
