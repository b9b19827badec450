"""Kernels that come and go as they do on hosts: packages of the archive, with all that their maintainer scripts run."""

from __future__ import annotations

import subprocess

from tests.integration.kernel.kernel_host import KernelHost

_APT = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-y", "-qq")
#: An emulated host takes minutes to unpack a kernel and to make its initramfs.
SECONDS = 2400.0


def image_of(kernel: str) -> str:
    """The package of a kernel."""
    return f"linux-image-{kernel}"


def headers_of(kernel: str) -> str:
    """The package of its headers."""
    return f"linux-headers-{kernel}"


def remove(host: KernelHost, kernel: str) -> None:
    """Take a kernel and its headers away."""
    host.run(*_APT, "purge", image_of(kernel), headers_of(kernel), timeout=SECONDS)
    assert not host.succeeds("test", "-d", f"/lib/modules/{kernel}/kernel")


def install(host: KernelHost, *packages: str) -> subprocess.CompletedProcess[str]:
    """Install packages, whatever comes of it."""
    host.run("apt-get", "-qq", "update", timeout=300)
    return host.host.run([*_APT, "install", *packages], check=False, timeout=SECONDS)


def configured(host: KernelHost, package: str) -> bool:
    """Whether dpkg has a package as installed, and not half of it."""
    return host.run("dpkg-query", "--show", "--showformat", "${db:Status-Status}", package, check=False) == "installed"
