# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From a host and what is wanted of it to the steps in between. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from ..._converge.converge import Refusal
from ..._converge.plan import Plan
from .. import places
from ..loading import differing, is_due, is_ours, loading_files
from ..model import ABSENT, ALL_INSTALLED, INSTALLED, PRESENT, RUNNING, Host, Kernel, Wanted
from ..versions import is_newer, version_key
from . import hook
from .steps import Add, Build, Clear, Install, KernelStep, Load, PutSource, Remove, RemoveSource, WriteFile

_CUT = "a run was cut off"
_NOT_BUILT = "it is not built for this kernel"


def plan_module(host: Host, want: Wanted, failed: t.Collection[str] = ()) -> Plan:
    """Return the steps that are left. ``failed`` are kernels that this run has given up. Raises :class:`Refusal`."""
    if want.state == ABSENT:
        return Plan(_removal(host, want))
    check(host, want)
    plan = _Way(host, want, frozenset(failed))
    plan.lead()
    return Plan(plan.steps)


def selected(host: Host, want: Wanted) -> tuple[Kernel, ...]:
    """Return the kernels that are wanted, in the order of their versions. Raises :class:`Refusal`."""
    chosen: set[str] = set()
    for word in want.kernels:
        chosen |= host.installed if word == ALL_INSTALLED else {host.running if word == RUNNING else word}
        if word == ALL_INSTALLED and not host.installed:
            raise Refusal(
                f"No kernel is installed on this host (in {places.MODULES}); a host without one builds for kernels "
                "that are named in kernels, with their headers installed."
            )
        if word == RUNNING and not _exists(host, host.running):
            raise Refusal(
                f"The running kernel {host.running} has no {places.MODULES}/{host.running}: this is a container, or a "
                "host that builds for others. Name the kernels instead of 'running'."
            )
    missing = sorted(each for each in chosen if not _exists(host, each))
    if missing:
        raise Refusal(
            f"The kernel {missing[0]} is not installed ({places.MODULES}/{missing[0]} is missing); install "
            f"linux-image-{missing[0]}, or at least linux-headers-{missing[0]} to build for it."
        )
    return tuple(host.kernels[each] for each in sorted(chosen, key=version_key))


def _exists(host: Host, release: str) -> bool:
    return release in host.kernels and host.kernels[release].exists


def check(host: Host, want: Wanted) -> None:
    """Raise :class:`Refusal` when ``want`` does not fit ``host``; nothing was touched then."""
    _check_source(host, want)
    kernels = selected(host, want) if want.state != PRESENT else ()
    for kernel in kernels:
        _check_conf(host, want, kernel)
        if want.state == INSTALLED and not host.excluded(kernel):
            _check_downgrade(host, want, kernel)
    if want.loading.now and host.running not in {kernel.release for kernel in kernels}:
        raise Refusal(
            f"load.now loads into the running kernel {host.running}, which is not among the kernels; add 'running'."
        )


def _check_source(host: Host, want: Wanted) -> None:
    tree, version = host.trees.get(host.version), host.version
    there = version in host.sources
    if host.wanted_digest:
        if there and host.source_digest != host.wanted_digest and version not in host.ours:
            raise Refusal(
                f"{places.source(host.name, version)} is there with other files, and was not put there by dkms_module. "
                "Give the new source a version of its own, or leave source out to use what is there."
            )
        return
    if there or (tree is not None and not tree.broken):
        return
    if tree is not None:
        raise Refusal(
            f"DKMS has {want.name}/{version}, but its tree is broken: {tree.broken}. Give source, install the package "
            "that brings it, or remove it with state=absent."
        )
    raise Refusal(
        f"There is no source of {want.name}/{version}: {places.source(want.name, version)} has no dkms.conf. Give "
        "source, or install the package that brings it."
    )


def _check_conf(host: Host, want: Wanted, kernel: Kernel) -> None:
    conf = kernel.conf(host.version)
    if conf.name and conf.name != want.name:
        raise Refusal(f"The dkms.conf is that of {conf.name}, not of {want.name}; correct name.")
    if conf.version and conf.version != host.version:
        raise Refusal(f"The dkms.conf is that of version {conf.version}, not of {host.version}; correct version.")
    if not conf.parts:
        raise Refusal(
            f"The dkms.conf of {want.name}/{host.version} names no module for {kernel.release}: it needs "
            "BUILT_MODULE_NAME and DEST_MODULE_LOCATION."
        )


def _check_downgrade(host: Host, want: Wanted, kernel: Kernel) -> None:
    current = kernel.version_in_place() or kernel.active
    if current and is_newer(current, host.version) and not want.allow_downgrade:
        raise Refusal(
            f"{want.name}/{current} is installed for {kernel.release}, which is newer than {host.version}; to go back, "
            "set allow_downgrade."
        )


class _Way:
    """The steps so far, and the host that they lead to."""

    def __init__(self, host: Host, want: Wanted, failed: frozenset[str]) -> None:
        self.host = host
        self.want = want
        self.failed = failed
        self.steps: list[KernelStep] = []

    def take(self, step: KernelStep) -> None:
        """Add a step."""
        self.steps.append(step)
        self.host = step.after(self.host)

    def lead(self) -> None:
        """Take all steps."""
        if self.host.leftovers:
            self.take(Clear(self.host.leftovers, _CUT))
        self._source()
        if self.want.state == PRESENT:
            return
        kernels = [kernel.release for kernel in selected(self.host, self.want)]
        kernels = [each for each in kernels if each not in self.failed and not self._excluded(each)]
        for release in kernels:
            self._build(self.host.kernels[release])
        if self.want.state != INSTALLED:
            return
        before = self.host
        for release in kernels:
            self._install(self.host.kernels[release])
        self._configure()
        self._hook()
        if self.want.loading.now and before.running in kernels:
            self._load(before)
        if self.want.replace_older and not self.failed and not self.host.skipped:
            self._remove_older()

    def _excluded(self, release: str) -> bool:
        return bool(self.host.excluded(self.host.kernels[release]))

    def _source(self) -> None:
        host, name, version = self.host, self.want.name, self.host.version
        there = version in host.sources
        if host.wanted_digest and (not there or host.source_digest != host.wanted_digest):
            reason = "the source that was given is another" if there else "DKMS builds what is there"
            self.take(PutSource(name, version, host.wanted_digest, there, reason))
        tree = self.host.trees.get(version)
        if tree is None:
            self.take(Add(name, version, "DKMS does not know it"))
        elif tree.broken:
            self.take(Add(name, version, tree.broken))

    def _build(self, kernel: Kernel) -> None:
        version = self.host.version
        if kernel.is_built(version):
            return
        build, conf = kernel.builds.get(version), kernel.conf(version)
        reason = _NOT_BUILT
        if build is not None:
            odd = [file.path for file in build.files.values() if not kernel.fits(file)]
            reason = f"{odd[0]} is for another kernel" if odd else "what is built is not complete"
            reason = "its source is another one now" if build.stale else reason
        self.take(Build(self.want.name, version, kernel.release, kernel.arch, conf.needs, kernel.headers, reason))

    def _install(self, kernel: Kernel) -> None:
        version = self.host.version
        if kernel.is_in_place(version):
            return
        former = kernel.version_in_place() or kernel.active
        reason = "it is not installed"
        if former == version and any(isinstance(step, Build) and step.kernel == kernel.release for step in self.steps):
            reason = "it is built anew"
        elif former == version:
            reason = "; ".join(kernel.faults(version)) or "what is installed was built of another source"
        elif former:
            reason = f"{former} is installed"
        damaged = tuple(self._damaged(kernel))
        former = former if kernel.is_built(former) and former != version else ""
        self.take(Install(self.want.name, version, kernel.release, kernel.arch, former, damaged, reason))

    @staticmethod
    def _damaged(kernel: Kernel) -> t.Iterator[str]:
        """Files at DKMS's place that nobody has built: it would keep them as the kernel's own, to put them back."""
        known = {file.digest for build in kernel.builds.values() for file in build.files.values()}
        for file in kernel.installed.values():
            if kernel.active and file.digest not in known:
                yield file.path

    def _configure(self) -> None:
        for path, content in loading_files(self.want.name, self.host.main_part(), self.want.loading).items():
            self._write(path, content, "so it is loaded at boot" if "load" in path else "its parameters")

    def _hook(self) -> None:
        if self.want.hook is None:
            return
        content = hook.program(self.want.name) if self.want.hook else None
        reason = "so it is built for kernels that come" if content else "it is not wanted"
        for path in places.hooks(self.want.name):
            self._write(path, content, reason, executable=True)

    def _write(self, path: str, content: str | None, reason: str, executable: bool = False) -> None:
        if is_due(path, self.host.files.get(path), content):
            self.take(WriteFile(path, content, reason, executable))

    def _load(self, before: Host) -> None:
        module, kernel = self.host.main_part(), self.host.kernels[self.host.running]
        loaded, parameters = self.host.loaded.get(module), self.want.loading.parameters
        built = kernel.builds[self.host.version].files.get(module)
        srcversion = built.srcversion if built else ""
        reason = "it is not loaded"
        if loaded is not None:
            other = differing(parameters, loaded.parameters)
            is_new = not before.kernels[kernel.release].is_in_place(self.host.version)
            if loaded.srcversion and srcversion and loaded.srcversion != srcversion:
                reason = f"srcversion {loaded.srcversion} is loaded, {srcversion} is installed"
            elif other:
                reason = f"{other[0]} is {loaded.parameters[other[0]]}"
            elif is_new and not srcversion:
                reason = "another build is loaded"
            else:
                return
        installs = [step for step in self.steps if isinstance(step, Install) and step.kernel == kernel.release]
        former = installs[0].former if installs else ""
        given = tuple(sorted(parameters.items()))
        again = loaded is not None
        self.take(Load(self.want.name, module, kernel.release, kernel.arch, srcversion, given, again, former, reason))

    def _remove_older(self) -> None:
        host = self.host
        in_use = {kernel.active for kernel in host.kernels.values()}
        in_use |= {kernel.version_in_place() for kernel in host.kernels.values()}
        for version in sorted({*host.trees, *host.ours}, key=version_key):
            if version in in_use or not is_newer(host.version, version):
                continue
            if version in host.trees:
                broken = bool(host.trees[version].broken)
                self.take(Remove(host.name, version, broken, f"{host.version} has replaced it"))
            if version in host.ours:
                self.take(RemoveSource(host.name, version, "it was put there for this"))


def _removal(host: Host, want: Wanted) -> t.Iterator[KernelStep]:
    wanted = [version for version in host.trees if not want.version or version == want.version]
    if host.leftovers:
        yield Clear(host.leftovers, _CUT)
    for version in sorted(wanted, key=version_key):
        yield Remove(host.name, version, bool(host.trees[version].broken), "it is not wanted")
    ours = [version for version in host.ours if not want.version or version == want.version]
    for version in sorted(ours, key=version_key):
        yield RemoveSource(host.name, version, "it was put there for this")
    if set(wanted) == set(host.trees):
        for path, text in sorted(host.files.items()):
            if is_ours(text):
                yield WriteFile(path, None, "nothing is left to load or to build")


def without_headers(plan: Plan) -> tuple[Build, ...]:
    """Return the builds of a plan that cannot succeed."""
    return tuple(step for step in plan if isinstance(step, Build) and not step.headers)


def missing_headers(kernel: str) -> str:
    """Tell what a kernel lacks."""
    return (
        f"{kernel}: its headers are missing ({places.MODULES}/{kernel}/build); install the package "
        f"linux-headers-{kernel}."
    )


def with_skipped(host: Host, skipped: t.Mapping[str, str]) -> Host:
    """Return ``host`` with kernels that a build has left out."""
    return replace(host, skipped=dict(skipped)) if skipped else host
