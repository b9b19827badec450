# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What can be done to a package of modules, each step a value. Pure."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, replace

from ..._converge.plan import Argv, Step
from .. import places
from ..loading import load_commands, with_file
from ..model import Build as Built
from ..model import File, Host, Kernel, Loaded, Tree


class KernelStep(Step):
    """A step, and the host that it leads to."""

    def after(self, host: Host) -> Host:
        """Return ``host`` once the step is done."""
        raise NotImplementedError


@dataclass(frozen=True)
class Clear(KernelStep):
    """Remove what a run that was cut off had begun."""

    paths: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Remove {', '.join(self.paths)}"

    def after(self, host: Host) -> Host:
        return replace(host, leftovers=())


@dataclass(frozen=True)
class PutSource(KernelStep):
    """Put a source in place, whole."""

    name: str
    version: str
    digest: str
    replaces: bool
    reason: str

    @property
    def title(self) -> str:
        return f"{'Replace' if self.replaces else 'Write'} {places.source(self.name, self.version)}"

    def after(self, host: Host) -> Host:
        kernels = {release: self._outdated(kernel) for release, kernel in host.kernels.items()}
        trees = dict(host.trees)
        if self.version in trees and trees[self.version].source == places.source(self.name, self.version):
            trees[self.version] = Tree(trees[self.version].source)
        return replace(
            host,
            kernels=kernels,
            trees=trees,
            sources=host.sources | {self.version},
            source_digest=self.digest,
            ours=host.ours | {self.version},
            broken=without_healed(host.broken, self.name, trees),
        )

    def _outdated(self, kernel: Kernel) -> Kernel:
        build = kernel.builds.get(self.version)
        if build is None:
            return kernel
        return replace(kernel, builds={**kernel.builds, self.version: replace(build, stale=True)})


def without_healed(broken: t.Mapping[str, str], name: str, trees: t.Mapping[str, Tree]) -> dict[str, str]:
    """Return the broken trees without those of a package that are whole again, or gone."""
    whole = {each for each in broken if each.split("/")[0] == name}
    whole -= {f"{name}/{version}" for version, tree in trees.items() if tree.broken}
    return {each: what for each, what in broken.items() if each not in whole}


@dataclass(frozen=True)
class Add(KernelStep):
    """Have DKMS know of a version."""

    name: str
    version: str
    reason: str

    @property
    def title(self) -> str:
        return f"Add {self.name}/{self.version} to DKMS"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return ((places.DKMS, "add", "-m", self.name, "-v", self.version),)

    def after(self, host: Host) -> Host:
        trees = {**host.trees, self.version: Tree(places.source(self.name, self.version))}
        return replace(host, trees=trees, broken=without_healed(host.broken, self.name, trees))


@dataclass(frozen=True)
class _ForKernel(KernelStep):
    name: str
    version: str
    kernel: str
    arch: str

    def _argv(self, *words: str) -> Argv:
        return (places.DKMS, *words, "-m", self.name, "-v", self.version, "-k", self.kernel, "-a", self.arch)


@dataclass(frozen=True)
class Build(_ForKernel):
    """Build a version for a kernel, in a tree of its own, and bring what came of it into DKMS's tree."""

    needs: tuple[str, ...]
    headers: bool
    reason: str

    @property
    def title(self) -> str:
        return f"Build {self.name}/{self.version} for {self.kernel}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        workshop = places.workshop(self.name, self.version, self.kernel)
        return ((*self._argv("build"), "--dkmstree", workshop),)

    def after(self, host: Host) -> Host:
        kernel = host.kernels[self.kernel]
        folder = places.built(self.name, self.version, self.kernel, self.arch)
        files = {
            part.name: File(f"{folder}/module/{part.name}.ko", f"of {self.version}", vermagic=self.kernel)
            for part in kernel.conf(self.version).parts
        }
        return with_kernel(host, replace(kernel, builds={**kernel.builds, self.version: Built(files)}))


def with_kernel(host: Host, kernel: Kernel) -> Host:
    """Return ``host`` with one of its kernels changed."""
    return replace(host, kernels={**host.kernels, kernel.release: kernel})


@dataclass(frozen=True)
class Install(_ForKernel):
    """Install what is built of a version for a kernel. ``damaged`` are installed files that nobody has built."""

    former: str  #: the version that is put back when this one does not stand
    damaged: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Install {self.name}/{self.version} for {self.kernel}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        # Without it DKMS leaves what is damaged, and what it takes for newer, and 3.0 says that all went well.
        return (self._argv("install", "--force"),)

    def after(self, host: Host) -> Host:
        kernel = host.kernels[self.kernel]
        files = {**kernel.installed, **kernel.builds[self.version].files}
        return with_kernel(host, replace(kernel, active=self.version, installed=files, found=files))


@dataclass(frozen=True)
class WriteFile(KernelStep):
    """Write, or remove, a file that says how a module is loaded, or a hook, which is ``executable``."""

    path: str
    content: str | None
    reason: str
    executable: bool = False

    @property
    def title(self) -> str:
        return f"Remove {self.path}" if self.content is None else f"Write {self.path}"

    def after(self, host: Host) -> Host:
        return replace(host, files=with_file(host.files, self.path, self.content))


@dataclass(frozen=True)
class Load(KernelStep):
    """Load a module into the running kernel, or the new one in place of the one that is loaded."""

    name: str
    module: str
    kernel: str
    arch: str
    srcversion: str
    parameters: tuple[tuple[str, str], ...]
    again: bool
    former: str  #: the version that is put back when this one cannot be loaded
    reason: str

    @property
    def title(self) -> str:
        return f"{'Reload' if self.again else 'Load'} {self.module}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return load_commands(self.module, self.parameters, self.again)

    def after(self, host: Host) -> Host:
        return replace(host, loaded={**host.loaded, self.module: Loaded(self.srcversion, dict(self.parameters))})


@dataclass(frozen=True)
class Remove(KernelStep):
    """Remove a version from DKMS, and from the kernels that it is installed for."""

    name: str
    version: str
    broken: bool
    reason: str

    @property
    def title(self) -> str:
        return f"Remove {self.name}/{self.version} from DKMS{' by hand, as its tree is broken' if self.broken else ''}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return () if self.broken else ((places.DKMS, "remove", "-m", self.name, "-v", self.version, "--all"),)

    def after(self, host: Host) -> Host:
        trees = {version: tree for version, tree in host.trees.items() if version != self.version}
        kernels = {release: self._without(kernel) for release, kernel in host.kernels.items()}
        return replace(host, trees=trees, kernels=kernels, broken=without_healed(host.broken, self.name, trees))

    def _without(self, kernel: Kernel) -> Kernel:
        builds = {version: build for version, build in kernel.builds.items() if version != self.version}
        if kernel.active != self.version:
            return replace(kernel, builds=builds)
        return replace(kernel, builds=builds, active="", found={}, installed={})


@dataclass(frozen=True)
class RemoveSource(KernelStep):
    """Remove a source that was put in place for dkms_module."""

    name: str
    version: str
    reason: str

    @property
    def title(self) -> str:
        return f"Remove {places.source(self.name, self.version)}"

    def after(self, host: Host) -> Host:
        return replace(host, sources=host.sources - {self.version}, ours=host.ours - {self.version})
