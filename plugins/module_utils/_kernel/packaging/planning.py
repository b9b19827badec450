# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From a build host and what is wanted of it to the steps in between. Pure."""

from __future__ import annotations

import typing as t

from ..._converge.converge import Refusal
from ..._converge.plan import Plan
from .. import places
from ..model import ALL_INSTALLED
from ..versions import version_key
from .buildinfo import difference, inputs_of
from .model import BuildHost, Found, Headers, Kernel, Package, Wanted
from .names import debian_name, package_name, package_version
from .steps import BuildPackage, Clear, PackageStep, environment

_LOCATION = "updates/dkms"


def plan_packages(host: BuildHost, want: Wanted, failed: t.Collection[str] = ()) -> Plan:
    """Return the steps that are left. ``failed`` are kernels that this run has given up. Raises :class:`Refusal`."""
    check(host, want)
    return Plan(_steps(host, want, failed))


def _steps(host: BuildHost, want: Wanted, failed: t.Collection[str]) -> t.Iterator[PackageStep]:
    if host.leftovers:
        yield Clear(host.leftovers, "a run was cut off")
    for kernel in selected(host, want):
        if kernel.release in failed or host.excluded(kernel):
            continue
        step = _build(host, want, kernel)
        if step is not None:
            yield step


def selected(host: BuildHost, want: Wanted) -> tuple[Kernel, ...]:
    """Return the kernels that are wanted, in the order of their versions. Raises :class:`Refusal`."""
    chosen: set[str] = set()
    for word in want.kernels:
        chosen |= host.installed if word == ALL_INSTALLED else {word}
    if not chosen:
        raise Refusal(
            f"No kernel is installed in {want.root or '/'}, nor the headers of one; install linux-headers-RELEASE for "
            "each kernel that is to be served, or name them in kernels."
        )
    return tuple(host.kernels[each] for each in sorted(chosen, key=version_key))


def check(host: BuildHost, want: Wanted) -> None:
    """Raise :class:`Refusal` when ``want`` does not fit ``host``; nothing was touched then."""
    if host.conf_name and host.conf_name != want.name:
        raise Refusal(f"The dkms.conf is that of {host.conf_name}, not of {want.name}; correct name.")
    if host.conf_version and host.conf_version != host.version:
        raise Refusal(f"The dkms.conf is that of version {host.conf_version}, not of {host.version}; correct version.")
    for kernel in selected(host, want):
        if not kernel.conf.parts:
            raise Refusal(
                f"The dkms.conf of {want.name}/{host.version} names no module for {kernel.release}: it needs "
                "BUILT_MODULE_NAME and DEST_MODULE_LOCATION."
            )


def wanted_package(host: BuildHost, want: Wanted, kernel: Kernel) -> Package:
    """Return the package that a kernel shall have."""
    headers = kernel.headers or Headers()
    name = package_name(want.name, kernel.release)
    version = package_version(host.version, want.revision, headers.version)
    epoch = want.epoch if want.epoch is not None else headers.released or 0
    suffix = f".ko.{headers.compression}" if headers.compression else ".ko"
    folder = f"{headers.base}/{kernel.release}/{_LOCATION}"
    further = {
        "X-Source-Digest": host.source_digest,
        "X-Kernel": kernel.release,
        "X-Maintainer": want.maintainer,
        "X-Signed-By": want.key.digest if want.key else "nobody",
    }
    inputs = inputs_of(
        debian_name(want.name),
        name,
        version,
        host.architecture,
        f"{places.TREE}/{want.name}/{host.version}/build",
        dict(headers.tools),
        environment(epoch),
        further,
    )
    modules = tuple(sorted(f"{folder}/{part.name}{suffix}" for part in kernel.conf.parts))
    return Package(name, version, host.architecture, kernel.release, modules, inputs, epoch, want.key is not None)


def _build(host: BuildHost, want: Wanted, kernel: Kernel) -> BuildPackage | None:
    package = wanted_package(host, want, kernel)
    found, hindrance = host.found.get(package.file, Found()), _hindrance(want, kernel)
    if found.intact and found.inputs == package.inputs and not hindrance:
        return None
    return BuildPackage(
        source=want.name,
        version=host.version,
        kernel=kernel.release,
        machine=host.machine,
        package=package,
        destination=want.destination,
        root=want.root,
        maintainer=want.maintainer,
        headers=kernel.headers or Headers(),
        key=want.key,
        hindrance=hindrance,
        reason=_reason(found, package),
    )


def _reason(found: Found, package: Package) -> str:
    if not found.digest:
        return "it is not there"
    if not found.inputs:
        return "nothing tells what it was built of"
    if not found.intact:
        return "it is not what was built"
    return difference(found.inputs, package.inputs)


def _hindrance(want: Wanted, kernel: Kernel) -> str:
    """Why there can be no package for a kernel."""
    release, headers = kernel.release, kernel.headers
    where = f" in {want.root}" if want.root else ""
    if headers is None:
        return (
            f"{release}: its headers are missing ({want.root}{places.MODULES}/{release}/build); install the package "
            f"linux-headers-{release}{where}."
        )
    needs = [each for each in kernel.conf.needs if each != want.name]
    if needs:
        return f"{release}: {want.name} is built on {needs[0]} (BUILD_DEPENDS), which a package by itself cannot have."
    if want.epoch is None and headers.released is None:
        return f"{release}: its headers do not tell when it was released; set source_date_epoch."
    if want.key is not None and not (headers.sign_tool and headers.sign_hash):
        return (
            f"{release}: nothing is there to sign its modules with; install the package linux-kbuild that its headers "
            f"depend on, or sbsigntool{where}."
        )
    return ""


def hindrances(plan: Plan) -> tuple[str, ...]:
    """Return why steps of a plan cannot succeed."""
    return tuple(step.hindrance for step in plan if isinstance(step, BuildPackage) and step.hindrance)
