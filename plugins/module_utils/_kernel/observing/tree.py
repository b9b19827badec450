# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What DKMS has in its tree, what is on the disk, and what is in the kernel. Starts no process."""

from __future__ import annotations

import json
import os
import re
import typing as t

from .. import places
from ..formats.module_file import file_of
from ..model import Build, File, Loaded, Part, Tree

_ACTIVE = re.compile(r"kernel-(?P<kernel>.+)-(?P<arch>[^-]+)")
#: What is in a version's directory beside a directory for each kernel.
_OWN = {"build", "source", "tarball", "driver_disk", "rpm", "deb"}
#: What a run that was cut off leaves beside what it was to replace.
_LAID = re.compile(r"\.fabric-(?:new|old)-")


def packages() -> list[str]:
    """Return the names of all packages that DKMS has."""
    return _folders(places.TREE)


def versions(name: str) -> dict[str, Tree]:
    """Return what DKMS has of a package, by version."""
    found = {}
    for version in _folders(f"{places.TREE}/{name}"):
        if version != "original_module" and not _ACTIVE.fullmatch(version):
            found[version] = _tree(name, version)
    return found


def _tree(name: str, version: str) -> Tree:
    link = f"{places.added(name, version)}/source"
    source = os.path.realpath(link)
    if not os.path.lexists(link):
        return Tree("", f"{link} is missing")
    if not os.path.isdir(source):
        return Tree(source, f"{source}, where its source should be, is missing")
    if not os.path.isfile(f"{source}/dkms.conf"):
        return Tree(source, f"{source}/dkms.conf is missing")
    return Tree(source)


def broken_trees() -> dict[str, str]:
    """Return what is wrong with trees of any package, by NAME/VERSION."""
    found = {}
    for name in packages():
        for version, tree in versions(name).items():
            if tree.broken:
                found[f"{name}/{version}"] = tree.broken
    return found


def source_versions(name: str) -> list[str]:
    """Return the versions of a package that are in /usr/src."""
    start = f"{name}-"
    names = [each for each in _folders(places.SOURCES) if each.startswith(start)]
    return [each[len(start) :] for each in names if os.path.isfile(f"{places.SOURCES}/{each}/dkms.conf")]


def kernels() -> list[str]:
    """Return the kernels that are installed; headers alone are no kernel."""
    found = []
    for release in _folders(places.MODULES):
        base = f"{places.MODULES}/{release}"
        if os.path.exists(f"{base}/modules.builtin") or os.path.exists(f"{base}/kernel"):
            found.append(release)
    return found


def has_headers(kernel: str) -> bool:
    """Whether modules can be built for a kernel, as DKMS finds out."""
    return os.path.isdir(f"{places.MODULES}/{kernel}/build/include")


def active_versions(name: str) -> dict[tuple[str, str], str]:
    """Return the versions that are installed as DKMS says, by kernel and architecture."""
    found = {}
    for each in _names(f"{places.TREE}/{name}"):
        match, path = _ACTIVE.fullmatch(each), f"{places.TREE}/{name}/{each}"
        if match and os.path.islink(path):
            found[match["kernel"], match["arch"]] = os.readlink(path).split("/")[0]
    return found


def built_kernels(name: str, version: str) -> list[str]:
    """Return the kernels for which DKMS has something of a version."""
    return [each for each in _folders(places.added(name, version)) if each not in _OWN and not each.startswith(".")]


def build_of(name: str, version: str, kernel: str, arch: str) -> Build | None:
    """Return what is built of a version for a kernel."""
    folder = f"{places.built(name, version, kernel, arch)}/module"
    if not os.path.isdir(folder):
        return None
    files = {}
    for each in _names(folder):
        module = _module_name(each)
        if module:
            files[module] = read_file(f"{folder}/{each}")
    return Build(files, _is_stale(name, version, kernel))


def _module_name(file: str) -> str:
    suffix = next((each for each in places.SUFFIXES if file.endswith(each)), "")
    return file[: -len(suffix)] if suffix else ""


def read_file(path: str) -> File:
    """Return a module's file."""
    with open(path, "rb") as file:
        return file_of(path, file.read())


def installed_file(kernel: str, part: Part) -> File | None:
    """Return the file of a module where DKMS installs it: Debian's place, or the one that dkms.conf names."""
    for location in ("/updates/dkms", part.location):
        for suffix in places.SUFFIXES:
            path = f"{places.MODULES}/{kernel}{location}/{part.name}{suffix}"
            if os.path.isfile(path):
                return read_file(path)
    return None


def loaded_module(name: str, parameters: t.Iterable[str]) -> Loaded | None:
    """Return a module that is loaded, with those of its parameters that can be read."""
    folder = f"{places.LOADED}/{name.replace('-', '_')}"
    if not os.path.exists(f"{folder}/initstate"):  # one that is built in has none
        return None
    values = {each: _text(f"{folder}/parameters/{each}") for each in parameters}
    return Loaded(
        _text(f"{folder}/srcversion") or "", {key: value for key, value in values.items() if value is not None}
    )


def records(name: str, version: str) -> dict[str, t.Any] | None:
    """Return what we know of a source that we have put in place; None where we have not."""
    text = _text(places.record(name, version))
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def our_versions(name: str) -> list[str]:
    """Return the versions of a package whose source we have put in place, also when DKMS has lost them."""
    found = []
    for each in _names(places.STATE):
        if each.startswith(f"{name}-") and each.endswith(".json"):
            version = each[len(name) + 1 : -len(".json")]
            record = records(name, version)
            if record is not None and (record.get("name"), record.get("version")) == (name, version):
                found.append(version)
    return found


def _is_stale(name: str, version: str, kernel: str) -> bool:
    record = records(name, version)
    if record is None:
        return False
    return kernel in record.get("stale", ())


def leftovers(name: str) -> list[str]:
    """Return what runs that were cut off have left behind."""
    found = []
    for version in _folders(f"{places.TREE}/{name}"):
        for kernel in _folders(f"{places.TREE}/{name}/{version}"):
            base = f"{places.TREE}/{name}/{version}/{kernel}"
            if version != "original_module" and not os.path.islink(f"{places.TREE}/{name}/{version}"):
                found += [f"{base}/{each}" for each in _folders(base) if _LAID.match(each)]
    sources = [each for each in _names(places.SOURCES) if each.startswith(f".{name}-")]
    found += [f"{places.SOURCES}/{each}" for each in sources if each.endswith((".fabric-new", ".fabric-old"))]
    shops = f"{places.STATE}/build"
    found += [f"{shops}/{each}" for each in _names(shops) if each.startswith(f"{name}-")]
    return sorted(found)


def text_of(path: str) -> str | None:
    """Return the text of a file; None where there is none."""
    return _text(path)


def program_of(path: str) -> str | None:
    """Return the text of a program; of one that cannot be run, without the line that names its interpreter."""
    text = _text(path)
    if text is None or os.access(path, os.X_OK):
        return text
    return text.split("\n", 1)[-1]


def _text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().rstrip("\n")
    except OSError:
        return None


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _folders(folder: str) -> list[str]:
    return [each for each in _names(folder) if os.path.isdir(f"{folder}/{each}") and not _is_active(folder, each)]


def _is_active(folder: str, name: str) -> bool:
    return bool(_ACTIVE.fullmatch(name)) and os.path.islink(f"{folder}/{name}")
