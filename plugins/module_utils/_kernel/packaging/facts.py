# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What kernel_module_package tells of the packages. Pure."""

from __future__ import annotations

import typing as t

from ..versions import version_key
from .model import BuildHost, Found, Kernel, Package, Wanted
from .planning import selected, wanted_package

#: A SHA-256 in hexadecimal digits; what a plan puts in its stead is no such thing.
_DIGEST_LENGTH = 64


def facts(host: BuildHost, want: Wanted) -> dict[str, t.Any]:
    """Return what the module tells besides what it did."""
    kernels = selected(host, want)
    return {
        "module": {"name": host.name, "version": host.version, "source_digest": host.source_digest},
        "packages": list(_packages(host, want, kernels)),
        "excluded": [
            {"kernel": kernel.release, "reason": host.excluded(kernel)} for kernel in kernels if host.excluded(kernel)
        ],
    }


def _packages(host: BuildHost, want: Wanted, kernels: t.Iterable[Kernel]) -> t.Iterator[dict[str, t.Any]]:
    """Yield the packages that are there: none for a kernel that could not be built for."""
    for kernel in kernels:
        package = wanted_package(host, want, kernel)
        found = host.found.get(package.file, Found())
        if found.inputs == package.inputs and not host.excluded(kernel):
            yield _package(want, package, found.digest)


def _package(want: Wanted, package: Package, digest: str) -> dict[str, t.Any]:
    return {
        "kernel": package.kernel,
        "package": package.name,
        "version": package.version,
        "architecture": package.architecture,
        "path": f"{want.destination}/{package.file}",
        "buildinfo": f"{want.destination}/{package.buildinfo}",
        "sha256": digest if len(digest) == _DIGEST_LENGTH else None,
        "modules": list(package.modules),
        "signed": package.signed,
    }


def warnings(want: Wanted, before: BuildHost, after: BuildHost) -> t.Iterator[str]:
    """Tell what the user should see without asking."""
    for kernel in selected(after, want):
        if after.excluded(kernel):
            yield f"{after.name}/{after.version} is not for {kernel.release}: {after.excluded(kernel)}."
            continue
        package = wanted_package(after, want, kernel)
        former, now = before.found.get(package.file, Found()), after.found.get(package.file, Found())
        if former.intact and former.inputs != now.inputs:
            yield (
                f"{package.file} was there already, and is another package now. Hosts that have the former one take "
                "it for the same; raise revision."
            )


def draw(host: BuildHost) -> str:
    """Draw the packages in the destination, with what they were built of, as a person reads it."""
    lines = []
    for file in sorted(host.found, key=version_key):
        found = host.found[file]
        state = "" if found.intact else " is not what was built" if found.inputs else " is of unknown origin"
        lines.append(f"{file}{state}")
        lines += [f"  {line}" for line in (found.inputs.splitlines() if found.intact else ())]
    lines += [f"{path}: of a run that was cut off" for path in host.leftovers]
    return "\n".join(lines)
