# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What the figures depend on besides the tables, and what this process may do."""

from __future__ import annotations

import os
import platform
import socket

from ...._converge.converge import ObservationFailed, Refusal

#: capability.h: CAP_NET_ADMIN, CAP_SYS_MODULE, CAP_SYS_ADMIN, CAP_BPF.
_NET_ADMIN = 12
_SYS_MODULE = 16
_SYS_ADMIN = 21
_BPF = 39
#: How /proc/cpuinfo names a model, by architecture.
_MODEL_KEYS = ("model name", "cpu", "uarch", "CPU implementer", "Processor")


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def cpu_model() -> str:
    """Return what the kernel calls the CPU, or its architecture where it has no name for it."""
    found: dict[str, str] = {}
    for line in _read("/proc/cpuinfo").splitlines():
        key, _colon, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())
    return next((found[key] for key in _MODEL_KEYS if found.get(key)), platform.machine())


def kernel_release() -> str:
    """As uname -r has it."""
    return os.uname().release


def clock_source() -> str:
    """Return what the kernel reads the time from; reading some of them takes a microsecond."""
    return _read("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def compiles_bpf() -> bool | None:
    """Whether the kernel compiles BPF programs instead of interpreting them; None where it does not tell."""
    # The file is in the initial network namespace only (net/core/sysctl_net_core.c).
    setting = _read("/proc/sys/net/core/bpf_jit_enable")
    return setting != "0" if setting else None


def interface_index(name: str) -> int:
    """Return the number of an interface. Raises Refusal when there is none of the name."""
    try:
        return socket.if_nametoindex(name)
    except OSError as error:
        known = ", ".join(sorted(interface for _index, interface in socket.if_nameindex()))
        raise Refusal(f"The host has no interface '{name}'; it has {known}.") from error


def _capabilities() -> int:
    for line in _read("/proc/self/status").splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    raise ObservationFailed("/proc/self/status does not tell the capabilities of this process.")


def require_capabilities(own_network: bool, own_module: bool) -> None:
    """Raise Refusal unless this process may do what is wanted.

    That is to load the program, or the kernel module for ``own_module``, and to make a network with ``own_network``.
    """
    effective = _capabilities()

    def has(capability: int) -> bool:
        return bool(effective >> capability & 1)

    if own_module and not (has(_SYS_MODULE) and has(_NET_ADMIN) and has(_SYS_ADMIN)):
        raise Refusal(
            "Measuring with a kernel module needs root (CAP_SYS_MODULE, CAP_NET_ADMIN and CAP_SYS_ADMIN), and no "
            "container; set become to true."
        )
    if has(_SYS_ADMIN):
        return
    if own_network:
        raise Refusal("Measuring in a network of its own needs root (CAP_SYS_ADMIN); set become to true.")
    if not (has(_BPF) and has(_NET_ADMIN)):
        raise Refusal(
            "Measuring loads a BPF program, which needs root, or CAP_BPF and CAP_NET_ADMIN; set become to true."
        )
