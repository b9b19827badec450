"""The host that modules are built on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

HOST = "builder"
#: Two hosts that build packages, and one that installs them.
ONE, OTHER, TARGET = "one", "quite-another", "target"

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


def packaging_topology(release: str, kernels: Sequence[str]) -> dict[str, Any]:
    """A lab with two hosts that build for these kernels, and one that has them and nothing to build with."""
    headers = [f"linux-headers-{kernel}" for kernel in kernels]
    images = [f"linux-image-{kernel}" for kernel in kernels]
    packages = {ONE: packages_for(kernels), OTHER: [*TOOLS, "lintian", *headers], TARGET: images}
    hosts = {name: {"release": release, "packages": each} for name, each in packages.items()}
    return {"hosts": hosts, "uplink": True}
