# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What the module returns."""

from __future__ import annotations

import typing as t

from .figures import buckets, net, over_runs, pooled, return_codes
from .model import BPF, Measured, Request
from .observing.host import clock_source, compiles_bpf, cpu_model, kernel_release
from .return_codes import FORWARDING_DISABLED, looked_up


def asked_for(request: Request) -> dict[str, t.Any]:
    """Return the measurement as it was asked for, with what was left to the module."""
    return {
        "engine": request.engine,
        "family": request.family,
        "routes": request.routes,
        "network": str(request.network),
        "source": str(request.source),
        "interface": request.interface if request.routes is None else None,
        "loops": request.loops,
        "warm_up": request.warm_up,
        "batch": request.batch,
        "runs": request.runs,
    }


def found(request: Request, measured: Measured) -> dict[str, t.Any]:
    """Return what was found."""
    raw, empty = over_runs(measured.with_lookup), over_runs(measured.without)
    codes = return_codes(measured)
    return {
        "raw": raw,
        "net": net(raw, empty),
        "empty_loop": empty,
        "histogram": buckets(pooled(measured.with_lookup), request.buckets),
        "return_codes": codes,
        "looked_up": looked_up(codes),
        "kernel": kernel_release(),
        "cpu": cpu_model(),
        "clock_source": clock_source(),
        "jit": compiles_bpf() if request.engine == BPF else None,
    }


def warnings(request: Request, measured: Measured) -> t.Iterator[str]:
    """Yield what would make somebody take the figures for what they are not."""
    codes = return_codes(measured)
    disabled, total = codes.get(FORWARDING_DISABLED, 0), sum(codes.values())
    if disabled:
        where = f"net.{request.family}.conf.{request.interface}.forwarding"
        yield (
            f"{disabled} of {total} lookups returned FWD_DISABLED before looking anything up, because {where} is 0, "
            "so the figures are not the cost of a lookup; measure where packets are forwarded, or set routes."
        )
    if request.engine == BPF and compiles_bpf() is False:
        yield (
            "The kernel interprets BPF programs (net.core.bpf_jit_enable is 0), which makes the empty loop slow and "
            "the net figures less sure."
        )
