"""Counts what the kernel has loaded, whoever loaded it: programs and maps of BPF, by name (bpf(2))."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterator

_CALL = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
NAME = "route_lookup"
#: Commands of linux/bpf.h for the next number and for a descriptor, and the place of the name in the information.
_KINDS = {"programs": (11, 13, 64), "maps": (12, 14, 24)}
_INFORMATION = 15


def _bpf(command: int, attributes: bytes) -> tuple[int, bytes]:
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = libc.syscall(_CALL, command, buffer, len(attributes))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result, buffer.raw


def _name(descriptor: int, place: int) -> str:
    information = ctypes.create_string_buffer(256)
    _bpf(_INFORMATION, struct.pack("=IIQ", descriptor, len(information), ctypes.addressof(information)))
    return information.raw[place : place + 16].split(b"\0")[0].decode()


def _numbers(next_number: int) -> Iterator[int]:
    number = 0
    while True:
        try:
            _result, answer = _bpf(next_number, struct.pack("=III", number, 0, 0))
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise
            return
        (number,) = struct.unpack_from("=I", answer, 4)
        yield number


def loaded(kind: str) -> int:
    """How many `programs` or `maps` of the benchmark there are on this kernel."""
    next_number, open_number, place = _KINDS[kind]
    count = 0
    for number in _numbers(next_number):
        try:
            descriptor, _answer = _bpf(open_number, struct.pack("=III", number, 0, 0))
        except FileNotFoundError:
            continue  # gone meanwhile
        try:
            count += _name(descriptor, place) == NAME
        finally:
            os.close(descriptor)
    return count
