# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The few calls of bpf(2) that loading and running one program takes. Nothing has to be installed for them."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import platform
import struct
import sys
import typing as t

from ...._converge.converge import ObservationFailed, Refusal
from ..model import Loop, Run, Sample
from ..program import instructions
from ..route_lookup_program import MEMORY_SIZE
from ..shared_memory import packed, sample_of, state_of

#: __NR_bpf of the architectures that Debian has with little endian and 64 bits (asm/unistd_64.h, asm-generic/unistd.h).
_CALL_NUMBERS = {"x86_64": 321, "aarch64": 280, "riscv64": 280, "loongarch64": 280, "ppc64le": 361}

#: linux/bpf.h
_MAP_CREATE, _PROG_LOAD, _PROG_TEST_RUN = 0, 5, 10
_MAP_TYPE_ARRAY = 2
_PROG_TYPE_XDP = 6
_MMAPABLE = 1 << 10
_NAME = b"route_lookup\0\0\0\0"
#: Room for what the verifier says.
_LOG_BYTES = 1 << 20
#: The program does not look at its packet, but the kernel wants one.
_PACKET = bytes(64)


def _call(command: int, attributes: bytes) -> int:
    number = _CALL_NUMBERS.get(platform.machine())
    if number is None or sys.byteorder != "little":
        known = ", ".join(sorted(_CALL_NUMBERS))
        raise Refusal(f"This host is {platform.machine()}, but the program can be loaded on {known} only.")
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = int(libc.syscall(ctypes.c_long(number), ctypes.c_int(command), buffer, ctypes.c_uint(len(attributes))))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"bpf: {os.strerror(code)}")
    return result


def _create_map() -> int:
    return _call(_MAP_CREATE, struct.pack("=IIIIIII16s", _MAP_TYPE_ARRAY, 4, MEMORY_SIZE, 1, _MMAPABLE, 0, 0, _NAME))


def _load(code: bytes, log: t.Any = None) -> int:
    program = ctypes.create_string_buffer(code, len(code))
    license_text = ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack(
        "=IIQQIIQII16s",
        _PROG_TYPE_XDP,
        len(code) // 8,
        ctypes.addressof(program),
        ctypes.addressof(license_text),
        1 if log is not None else 0,
        len(log) if log is not None else 0,
        ctypes.addressof(log) if log is not None else 0,
        0,
        0,
        _NAME,
    )
    return _call(_PROG_LOAD, attributes)


def _load_or_explain(code: bytes) -> int:
    try:
        return _load(code)
    except OSError as error:
        if error.errno == errno.EPERM:
            raise Refusal(
                "The kernel does not let this process load a BPF program; run as root on a host, or in a container, "
                "that allows bpf(2)."
            ) from error
        first = error
    log = ctypes.create_string_buffer(_LOG_BYTES)
    with contextlib.suppress(OSError):
        return _load(code, log)
    words = log.value.decode("utf-8", "replace").strip().splitlines()[-3:]
    raise ObservationFailed(
        f"The kernel {os.uname().release} does not take the program ({first.strerror}): "
        f"{' / '.join(words) or 'it gives no reason'}"
    )


class Program:
    """The loaded program and its memory. Both are gone when it is closed, or when the process ends, however it ends."""

    def __init__(self) -> None:
        with contextlib.ExitStack() as stack:
            self._map = self._owned(stack, _create_map_or_explain())
            self.memory = stack.enter_context(mmap.mmap(self._map, MEMORY_SIZE))
            self._program = self._owned(stack, _load_or_explain(instructions(self._map)))
            self._stack = stack.pop_all()

    @staticmethod
    def _owned(stack: contextlib.ExitStack, descriptor: int) -> int:
        stack.callback(os.close, descriptor)
        return descriptor

    def run(self, times: int) -> None:
        """Let the kernel run it so many times. Raises OSError."""
        packet = ctypes.create_string_buffer(_PACKET, len(_PACKET))
        attributes = struct.pack(
            "=IIIIQQIIIIQQIII4x",
            self._program,
            0,
            len(_PACKET),
            0,
            ctypes.addressof(packet),
            0,
            times,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        )
        _call(_PROG_TEST_RUN, attributes)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()


@contextlib.contextmanager
def bpf_engine() -> t.Iterator[Run]:
    """Have the program do it. Raises Refusal, ObservationFailed and OSError."""
    with Program() as program:

        def run(loop: Loop, lookups: int) -> tuple[Sample, int]:
            program.memory[:] = packed(loop)
            program.run(lookups // loop.batch)
            memory = bytes(program.memory)
            return sample_of(memory, loop.batch), state_of(memory)

        yield run


def _create_map_or_explain() -> int:
    try:
        return _create_map()
    except OSError as error:
        if error.errno == errno.EPERM:
            raise Refusal(
                "The kernel does not let this process make a BPF map; run as root on a host, or in a container, that "
                "allows bpf(2)."
            ) from error
        raise
