# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Reads a build host: its source, its kernels' headers, its tools, and the packages that lie in the destination."""

from __future__ import annotations

import hashlib
import os
import tempfile
import typing as t

from ..._converge.command import Runner
from ..._converge.converge import Refusal
from .. import places
from ..formats import dkms_conf
from ..formats.dkms_conf import Question, Variables
from ..model import ALL_INSTALLED
from ..observing import tree
from ..observing.sources import Files, conf_text, digest_of, read_archive, read_directory
from . import kernel_headers
from .buildinfo import read
from .dpkg_status import Installed, installed, tools
from .layout import SOURCE
from .model import BuildHost, Found, Headers, Kernel, Wanted
from .names import package_name
from .room import build_room, furnish
from .root import text_within, within

_STATUS = "/var/lib/dpkg/status"
_KMODSIGN = "/usr/bin/kmodsign"


def source_of(want: Wanted) -> Files:
    """Read the source. Raises :class:`Refusal` when there is none, or several."""
    if want.archive:
        return read_archive(want.archive)
    return read_directory(want.directory or _installed_source(want))


def _installed_source(want: Wanted) -> str:
    versions = tree.source_versions(want.name)
    if want.version in versions:
        return places.source(want.name, want.version)
    if want.version or not versions:
        raise Refusal(
            f"There is no source of {want.name}: {places.source(want.name, want.version or 'VERSION')} has no "
            "dkms.conf. Give source, or install the package that brings it."
        )
    if len(versions) > 1:
        raise Refusal(f"There are several versions of {want.name} ({', '.join(versions)}); say which one with version.")
    return places.source(want.name, versions[0])


def observe_build_host(want: Wanted, files: Files, runner: Runner) -> BuildHost:
    """Read the host. Raises :class:`Refusal` when the system in which is to be built is none."""
    packages = installed(text_within(want.root, _STATUS))
    if "dpkg" not in packages or "dkms" not in packages:
        raise Refusal(
            f"DKMS is not installed in {want.root or '/'}, or that is no Debian system; install dkms and a compiler "
            f"there{', such as with chroot and apt-get' if want.root else ''}."
        )
    there = _kernels_within(want.root)
    releases = sorted({*(each for each in want.kernels if each != ALL_INSTALLED), *there})
    machine = os.uname().machine
    answers = _evaluated(want, files, releases, machine, runner)
    kernels = {}
    for release, variables in zip(releases, answers):
        conf = dkms_conf.conf_of(variables, release, machine)
        kernels[release] = Kernel(release, conf, _headers(want.root, release, packages))
    first = kernels[releases[0]].conf if releases else None
    return BuildHost(
        name=want.name,
        version=want.version or (first.version if first else ""),
        architecture=packages["dpkg"].architecture,
        machine=machine,
        source_digest=digest_of(files),
        conf_name=first.name if first else "",
        conf_version=first.version if first else "",
        kernels=kernels,
        installed=frozenset(there),
        found=_found(want, releases),
        leftovers=_leftovers(want.name),
    )


def _kernels_within(root: str) -> list[str]:
    base = within(root, places.MODULES)
    releases = sorted(os.listdir(base)) if os.path.isdir(base) else []
    found = []
    for release in releases:
        is_kernel = any(os.path.exists(f"{base}/{release}/{each}") for each in ("modules.builtin", "kernel"))
        if is_kernel or _has_headers(root, release):
            found.append(release)
    return found


def _build(root: str, release: str) -> str:
    return within(root, f"{places.MODULES}/{release}/build")


def _has_headers(root: str, release: str) -> bool:
    return os.path.isdir(f"{_build(root, release)}/include")


def _evaluated(want: Wanted, files: Files, releases: t.Sequence[str], machine: str, runner: Runner) -> list[Variables]:
    """Ask bash what dkms.conf says for each kernel, where the build will ask it."""
    here = f"{places.TREE}/{SOURCE}/dkms.conf"
    questions = [Question(want.name, want.version, release, machine, here) for release in releases]
    with tempfile.TemporaryDirectory() as folder:
        furnish(folder, want.root, ())
        os.mkdir(f"{folder}/{SOURCE}")
        with open(f"{folder}/{SOURCE}/dkms.conf", "wb") as file:
            file.write(conf_text(files))
        with build_room(folder, want.root):
            system = ("chroot", want.root) if want.root else ()
            output = runner.run((*system, *dkms_conf.command(questions)), data=dkms_conf.SCRIPT.encode())
    return dkms_conf.answers(output)


def _headers(root: str, release: str, packages: t.Mapping[str, Installed]) -> Headers | None:
    if not _has_headers(root, release):
        return None
    build = f"{places.MODULES}/{release}/build"
    config = kernel_headers.settings(text_within(root, f"{build}/include/config/auto.conf"))
    scripts = within(root, f"{build}/scripts")
    package = f"linux-headers-{release}"
    further = {package, os.path.basename(os.path.dirname(scripts))}
    return Headers(
        version=packages[package].version if package in packages else "",
        released=kernel_headers.released(text_within(root, f"{build}/include/generated/utsversion.h")),
        compression=kernel_headers.compression(config),
        sign_hash=config.get("CONFIG_MODULE_SIG_HASH", ""),
        sign_tool=_sign_tool(root, build),
        base=_base(root, release),
        tools=tuple(sorted(tools(packages, kernel_headers.compiler(config), further).items())),
    )


def _sign_tool(root: str, build: str) -> str:
    for path in (f"{build}/scripts/sign-file", _KMODSIGN):
        if os.access(within(root, path), os.X_OK):
            return path
    return ""


def _base(root: str, release: str) -> str:
    """Where dpkg has the kernel's own directory: below /usr since Debian 13, and lintian wants what dpkg has."""
    listed = text_within(root, f"/var/lib/dpkg/info/linux-headers-{release}.list").splitlines()
    return "/usr/lib/modules" if f"/usr/lib/modules/{release}" in listed else "/lib/modules"


def _found(want: Wanted, releases: t.Sequence[str]) -> dict[str, Found]:
    """Read what lies in the destination for these kernels, whatever its version."""
    found = {}
    names = {package_name(want.name, release) for release in releases}
    for file in sorted(os.listdir(want.destination)) if os.path.isdir(want.destination) else []:
        path = f"{want.destination}/{file}"
        if file.endswith(".deb") and file.split("_", maxsplit=1)[0] in names and os.path.isfile(path):
            with open(path, "rb") as package:
                digest = hashlib.sha256(package.read()).hexdigest()
            text = tree.text_of(path[: -len(".deb")] + ".buildinfo")
            found[file] = read(f"{text}\n" if text else "", digest)
    return found


def _leftovers(name: str) -> tuple[str, ...]:
    shops = f"{places.STATE}/packages"
    here = sorted(os.listdir(shops)) if os.path.isdir(shops) else []
    return tuple(f"{shops}/{each}" for each in here if each.startswith(f"{name}-"))
