# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What the modules tell of a package of modules. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import asdict

from ..model import Host, Kernel, NextBoot
from ..versions import version_key


def facts(host: Host) -> dict[str, t.Any]:
    """Return what dkms_module tells besides what it did."""
    return {
        "module": {"name": host.name, "version": host.version or None, "versions": _versions(host)},
        "kernels": kernel_facts(host),
        "signing": asdict(host.signing),
        "broken": broken_facts(host.broken),
    }


def _versions(host: Host) -> list[str]:
    return sorted(host.trees, key=version_key)


def broken_facts(broken: t.Mapping[str, str]) -> list[dict[str, str]]:
    """Return the trees of DKMS that are broken."""
    return [{"module": each, "problem": problem} for each, problem in sorted(broken.items())]


def kernel_facts(host: Host) -> list[dict[str, t.Any]]:
    """Return each kernel with what there is for it."""
    return [_kernel(host, host.kernels[each]) for each in sorted(host.kernels, key=version_key)]


def _kernel(host: Host, kernel: Kernel) -> dict[str, t.Any]:
    version = host.version or kernel.active
    in_place = kernel.is_in_place(version)
    running = kernel.release == host.running
    return {
        "kernel": kernel.release,
        "running": running,
        "headers": kernel.headers,
        "added": version in host.trees and not host.trees[version].broken,
        "built": kernel.is_built(version),
        "installed": kernel.active or None,
        "in_place": in_place,
        "loaded": loaded(host, kernel) if running else None,
        "skipped": host.excluded(kernel) or None,
        "problems": list(problems(kernel)),
    }


def problems(kernel: Kernel) -> tuple[str, ...]:
    """What is wrong with what DKMS takes for installed."""
    if not kernel.active:
        return ()
    if not kernel.is_built(kernel.active):
        return (f"DKMS has {kernel.active} installed, but not built",)
    return kernel.faults(kernel.active)


def loaded(host: Host, kernel: Kernel) -> str:
    """Return C(no), C(yes), or C(other) when what is loaded is not what is installed."""
    version = host.version or kernel.active
    module = host.loaded.get(host.main_part())
    if module is None:
        return "no"
    build = kernel.builds.get(version)
    file = build.files.get(host.main_part()) if build else None
    if file is None or not (file.srcversion and module.srcversion):
        return "yes"
    return "yes" if file.srcversion == module.srcversion else "other"


def next_boot_facts(host: Host, boot: NextBoot) -> dict[str, t.Any]:
    """Return whether the package is ready for the next boot, and why not."""
    reason = _not_ready(host, boot)
    return {
        "kernel": boot.kernel or None,
        "told_by": boot.source or None,
        "ready": not reason,
        "reason": reason or None,
    }


def _not_ready(host: Host, boot: NextBoot) -> str:
    if not boot.kernel:
        return "nothing tells which kernel boots next"
    kernel = host.kernels.get(boot.kernel)
    if kernel is None or not kernel.exists:
        return f"{boot.kernel} has no modules at all"
    if boot.missing:
        return f"{boot.missing} is missing; run 'update-initramfs -c -k {boot.kernel}'"
    version = host.version or kernel.active
    if host.excluded(kernel):
        return f"it is not for {boot.kernel}: {host.excluded(kernel)}"
    if kernel.is_in_place(version):
        return ""
    found = problems(kernel) or (
        (f"{kernel.active} is installed for {boot.kernel}, not {version}",)
        if kernel.active
        else (f"nothing is installed for {boot.kernel}",)
    )
    words = "; ".join(found)
    if not kernel.headers and not kernel.is_built(version):
        words += f", and linux-headers-{boot.kernel} is missing"
    return words


def warnings(before: Host, after: Host) -> t.Iterator[str]:
    """Tell what the user should see without asking."""
    for kernel in after.kernels.values():
        if after.version and after.excluded(kernel):
            yield f"{after.name}/{after.version} is not for {kernel.release}: {after.excluded(kernel)}."
    for module, problem in sorted(after.broken.items()):
        yield f"DKMS's tree of {module} is broken: {problem}. DKMS 3.0 stops there when it builds for a new kernel."
    running = after.kernels.get(after.running)
    if running is not None and loaded(after, running) == "other":
        yield f"{after.main_part()} is loaded from another build than the one that is installed; reload it, or reboot."
    gone = [version for version in before.trees if version not in after.trees]
    if gone and not after.trees and before.loaded:
        yield f"{', '.join(sorted(before.loaded))} is still loaded, until it is unloaded or the host reboots."
