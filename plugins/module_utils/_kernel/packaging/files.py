# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Writes the files of a package beside its modules, and gives all of them one date and plain modes."""

from __future__ import annotations

import gzip
import io
import os
import time
import typing as t

from ..observing.sources import Files
from .control import changelog, control, scripts
from .copyright import copyright_file
from .steps import BuildPackage

_CONTROL = "DEBIAN"
_KIBIBYTE = 1024
_PLAIN, _EXECUTABLE = 0o644, 0o755


def write_documents(folder: str, step: BuildPackage, files: Files, licences: t.Sequence[str]) -> None:
    """Write the documents of a package, whose modules are in ``folder`` already."""
    documents = f"{folder}/usr/share/doc/{step.package.name}"
    os.makedirs(documents, mode=0o755)
    text = changelog(step.package, step.source, step.version, step.maintainer)
    _write(f"{documents}/changelog.Debian.gz", packed(text))
    year = time.gmtime(step.package.epoch).tm_year
    _write(f"{documents}/copyright", copyright_file(step.source, step.version, files, licences, year))


def write_control(folder: str, step: BuildPackage, sums: str) -> None:
    """Write what dpkg reads of a package. ``sums`` are the MD5 sums of its files, as dpkg keeps them."""
    sizes = sum(_kibibytes(f"{folder}/{path}") for path in paths_of(folder)) + sum(1 for _each in os.walk(folder))
    names = [os.path.basename(module) for module in step.package.modules]
    os.mkdir(f"{folder}/{_CONTROL}")
    described = control(step.package, step.source, step.version, step.maintainer, names, sizes)
    _write(f"{folder}/{_CONTROL}/control", described)
    _write(f"{folder}/{_CONTROL}/md5sums", sums)
    for name, script in scripts(step.source, step.kernel, step.machine).items():
        _write(f"{folder}/{_CONTROL}/{name}", script)
        os.chmod(f"{folder}/{_CONTROL}/{name}", _EXECUTABLE)
    _settle(folder, step.package.epoch)


def packed(text: str) -> bytes:
    """Return a text in gzip, without a name and a time."""
    content = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=content, mtime=0) as file:
        file.write(text.encode())
    return content.getvalue()


def paths_of(folder: str) -> list[str]:
    """Return the files of a package, without a slash in front, in the order in which their sums are listed."""
    found = []
    for here, _folders, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(here, name), folder) for name in names]
    return sorted(found)


def _kibibytes(path: str) -> int:
    return -(-os.path.getsize(path) // _KIBIBYTE)


def _write(path: str, content: str | bytes) -> None:
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)


def _settle(folder: str, epoch: int) -> None:
    """Give everything one date, and modes that depend on no umask."""
    for here, _folders, names in os.walk(folder, topdown=False):
        for name in names:
            path = os.path.join(here, name)
            if os.path.basename(here) != _CONTROL or not os.access(path, os.X_OK):
                os.chmod(path, _PLAIN)
            os.utime(path, (epoch, epoch))
        os.chmod(here, _EXECUTABLE)
        os.utime(here, (epoch, epoch))
