"""The host that modules are built on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

HOST = "builder"

#: What the role installs on a host that builds for itself.
TOOLS = ("dkms", "gcc", "make", "xz-utils")


def packages_for(kernels: Sequence[str]) -> list[str]:
    """DKMS, and kernels with their headers."""
    return [*TOOLS, *(f"linux-{what}-{kernel}" for what in ("headers", "image") for kernel in kernels)]


def topology(release: str, kernels: Sequence[str]) -> dict[str, Any]:
    """A lab with a host of the release that has these kernels installed."""
    host = {"release": release, "packages": packages_for(kernels)}
    return {"hosts": {HOST: host}, "uplink": True}


def machine_topology(release: str, kernel: str) -> dict[str, Any]:
    """A lab with a host of the release that runs this kernel, and can build for it."""
    host = {"kind": "qemu", "release": release, "memory": "2G", "packages": packages_for((kernel,))}
    return {"hosts": {HOST: host}, "uplink": True}
