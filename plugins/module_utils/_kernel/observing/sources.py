# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Sources of modules: directories and archives, as the files that they consist of."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
import typing as t
from dataclasses import dataclass

from ..._converge.converge import Refusal

#: What is no part of a source, though it is among its files.
_LEFT_OUT = {".git", ".hg", ".svn"}
_CONF = "dkms.conf"
#: Sources of kernel modules are small; this is a mistake, or a trap.
_MOST_BYTES = 512 * 1024**2


@dataclass(frozen=True)
class Entry:
    """A file of a source; ``link`` is where a symbolic link leads."""

    content: bytes = b""
    executable: bool = False
    link: str = ""


Files = t.Mapping[str, Entry]


def digest_of(files: Files) -> str:
    """Return the SHA-256 of names, kinds and contents."""
    whole = hashlib.sha256()
    for path in sorted(files):
        entry = files[path]
        for word in (path.encode("utf-8", "surrogateescape"), entry.link.encode(), b"x" if entry.executable else b""):
            whole.update(b"%d " % len(word) + word)
        whole.update(hashlib.sha256(entry.content).digest())
    return whole.hexdigest()


def read_directory(path: str) -> Files:
    """Read a source from its directory. Raises :class:`Refusal` where there is none."""
    files: dict[str, Entry] = {}
    if not os.path.isfile(os.path.join(path, _CONF)):
        raise Refusal(f"{path} has no dkms.conf; name the directory of a source that DKMS can build.")
    size = 0
    for folder, folders, names in os.walk(path):
        folders[:] = [each for each in folders if each not in _LEFT_OUT]
        links = [each for each in folders if os.path.islink(os.path.join(folder, each))]
        for name in (*names, *links):
            here = os.path.join(folder, name)
            status = os.lstat(here)
            inside = os.path.relpath(here, path)
            if stat.S_ISLNK(status.st_mode):
                files[inside] = Entry(link=os.readlink(here))
            elif stat.S_ISREG(status.st_mode):
                size += status.st_size
                _check_size(path, size)
                with open(here, "rb") as file:
                    files[inside] = Entry(file.read(), bool(status.st_mode & stat.S_IXUSR))
    return files


def read_archive(path: str) -> Files:
    """Read a source from a tar archive, from the directory that has the dkms.conf. Raises :class:`Refusal`."""
    try:
        with tarfile.open(path) as archive:
            files = dict(_members(path, archive))
    except (tarfile.TarError, EOFError) as error:
        raise Refusal(f"{path} cannot be read as a tar archive: {error}.") from error
    confs = [name for name in files if os.path.basename(name) == _CONF]
    if not confs:
        raise Refusal(f"{path} has no dkms.conf; it is no archive of a source that DKMS can build.")
    top = os.path.dirname(min(confs, key=lambda name: (name.count("/"), name)))
    start = f"{top}/" if top else ""
    return {name[len(start) :]: entry for name, entry in files.items() if name.startswith(start)}


def _members(path: str, archive: tarfile.TarFile) -> t.Iterator[tuple[str, Entry]]:
    size = 0
    for member in archive:
        name = os.path.normpath(member.name)
        if name.startswith(("/", "../")) or name == "..":
            raise Refusal(f"{path} has a file outside of its own directory ({member.name}); do not trust it.")
        if _LEFT_OUT & set(name.split("/")):
            continue
        if member.issym():
            yield name, Entry(link=member.linkname)
        elif member.isfile() or member.islnk():
            size += member.size
            _check_size(path, size)
            content = archive.extractfile(member)
            if content is not None:
                yield name, Entry(content.read(), bool(member.mode & stat.S_IXUSR))


def _check_size(path: str, size: int) -> None:
    if size > _MOST_BYTES:
        raise Refusal(f"{path} is larger than {_MOST_BYTES // 1024**2} MiB, which is no source of a module.")


def conf_text(files: Files) -> bytes:
    """Return the dkms.conf of a source."""
    return files[_CONF].content
