# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Reads a package of modules and its host in one coarse pass: one bash, and one modinfo for each kernel."""

from __future__ import annotations

import os
import tempfile
import typing as t
from dataclasses import dataclass, replace

from ..._converge.command import Runner
from ..._converge.converge import Refusal
from .. import places
from ..formats import dkms_conf
from ..formats.dkms_conf import Question, Variables
from ..model import ABSENT, ALL_INSTALLED, RUNNING, Conf, Host, Kernel, Loaded, Signing, Tree, Wanted
from ..observing import tree
from ..observing.loading import loaded_modules, loading_texts
from ..observing.modinfo import found_by_modinfo
from ..observing.sources import Files, conf_text, digest_of, read_archive, read_directory
from .signing import signing_of


@dataclass(frozen=True)
class Given:
    """The source that the module was given; without files where it was given none."""

    files: Files
    digest: str = ""


def given_source(want: Wanted) -> Given:
    """Read the source that is to be put in place. Raises :class:`Refusal`."""
    files = read_directory(want.directory) if want.directory else read_archive(want.archive) if want.archive else {}
    return Given(files, digest_of(files) if files else "")


def observe_host(want: Wanted, given: Given, runner: Runner) -> Host:
    """Read the host. Raises :class:`Refusal` when it cannot be told which version is wanted."""
    trees, sources = tree.versions(want.name), tree.source_versions(want.name)
    running, arch = os.uname().release, os.uname().machine
    version = want.version or _version(want, given, trees, sources, runner)
    versions = sorted({*trees, *([version] if version else [])})
    active = tree.active_versions(want.name)
    releases = _releases(want, running, active, {v: tree.built_kernels(want.name, v) for v in versions})
    with tempfile.TemporaryDirectory() as folder:
        here = {each: given if each == version else None for each in versions}
        confs = {each: _conf_path(want.name, each, trees, here[each], folder) for each in versions}
        framework, found = _evaluated(want.name, confs, releases, arch, runner)
    kernels = {}
    for release in releases:
        kernels[release] = _kernel(want.name, release, arch, found[release], active.get((release, arch), ""), runner)
    compared = bool(given.digest) and version in sources
    host = Host(
        name=want.name,
        version=version,
        running=running,
        kernels=kernels,
        installed=frozenset(tree.kernels()),
        trees=trees,
        sources=frozenset(sources),
        source_digest=digest_of(read_directory(places.source(want.name, version))) if compared else "",
        wanted_digest=given.digest,
        ours=frozenset(tree.our_versions(want.name)),
        broken=tree.broken_trees(),
        leftovers=tuple(tree.leftovers(want.name)),
        signing=signing_of(framework),
    )
    return replace(host, loaded=_loaded(host, want), files=_files(want.name))


def _version(want: Wanted, given: Given, trees: t.Mapping[str, Tree], sources: t.Sequence[str], runner: Runner) -> str:
    if want.state == ABSENT:
        return ""
    if given.files:
        version = dkms_conf.plain_version(conf_text(given.files).decode("utf-8", "replace"))
        if version:
            return version
        with tempfile.TemporaryDirectory() as folder:
            conf = _given_conf(given, folder)
            asked = _asked([Question(want.name, "", "", os.uname().machine, conf)], runner)
        version = dkms_conf.first(asked[0], "PACKAGE_VERSION")
        if not version:
            raise Refusal("The source's dkms.conf has no PACKAGE_VERSION; give version, or correct it.")
        return version
    found = sorted({*trees, *sources})
    if len(found) == 1:
        return found[0]
    if not found:
        raise Refusal(
            f"There is no source of {want.name}: neither {places.SOURCES}/{want.name}-VERSION nor anything in "
            f"{places.TREE}/{want.name}. Give source, or install the package that brings it."
        )
    raise Refusal(f"There are several versions of {want.name} ({', '.join(found)}); say which one with version.")


def _given_conf(given: Given, folder: str) -> str:
    path = f"{folder}/dkms.conf"
    with open(path, "wb") as file:
        file.write(conf_text(given.files))
    return path


def _conf_path(name: str, version: str, trees: t.Mapping[str, Tree], given: Given | None, folder: str) -> str:
    if given is not None and given.files:
        return _given_conf(given, folder)
    here = trees.get(version)
    if here is not None and not here.broken:
        return f"{here.source}/dkms.conf"
    return f"{places.source(name, version)}/dkms.conf"


def _releases(
    want: Wanted,
    running: str,
    active: t.Iterable[tuple[str, str]],
    built: t.Mapping[str, t.Sequence[str]],
) -> list[str]:
    named = {running if each == RUNNING else each for each in want.kernels if each != ALL_INSTALLED}
    touched = {kernel for kernel, _arch in active} | {kernel for each in built.values() for kernel in each}
    return sorted({*named, *touched, *tree.kernels()})


def _asked(questions: t.Sequence[Question], runner: Runner) -> list[Variables]:
    return dkms_conf.answers(runner.run(dkms_conf.command(questions), data=dkms_conf.SCRIPT.encode()))


def _evaluated(
    name: str, confs: t.Mapping[str, str], releases: t.Sequence[str], arch: str, runner: Runner
) -> tuple[Variables, dict[str, dict[str, Conf]]]:
    pairs = [(release, version) for release in releases for version in confs]
    questions = [Question(), *(Question(name, version, release, arch, confs[version]) for release, version in pairs)]
    framework, *answers = _asked(questions, runner)
    found: dict[str, dict[str, Conf]] = {release: {} for release in releases}
    for (release, version), variables in zip(pairs, answers):
        found[release][version] = dkms_conf.conf_of(variables, release, arch)
    return framework, found


def _kernel(name: str, release: str, arch: str, confs: t.Mapping[str, Conf], active: str, runner: Runner) -> Kernel:
    exists = os.path.isdir(f"{places.MODULES}/{release}")
    builds = {version: tree.build_of(name, version, release, arch) for version in confs}
    kernel = Kernel(
        release,
        arch,
        exists,
        tree.has_headers(release),
        confs,
        {version: build for version, build in builds.items() if build is not None},
        active,
    )
    parts = {part.name: part for conf in confs.values() for part in conf.parts}
    there = {each: tree.installed_file(release, part) for each, part in parts.items()}
    installed = {each: file for each, file in there.items() if file is not None}
    if not parts or not exists or not (kernel.builds or active or installed):
        return kernel
    return replace(kernel, installed=installed, found=found_by_modinfo(release, parts, installed, runner))


def _loaded(host: Host, want: Wanted) -> dict[str, Loaded]:
    kernel = host.kernels.get(host.running)
    names = [part.name for conf in (kernel.confs.values() if kernel else ()) for part in conf.parts]
    return loaded_modules(names, want.loading.parameters)


def _files(name: str) -> dict[str, str]:
    programs = {path: tree.program_of(path) for path in places.hooks(name)}
    return {**loading_texts(name), **{path: text + "\n" for path, text in programs.items() if text is not None}}


def observe_signing(runner: Runner) -> Signing:
    """Return the key that DKMS signs with."""
    return signing_of(_asked([Question()], runner)[0])
