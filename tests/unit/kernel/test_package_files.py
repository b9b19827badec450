# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a package as they are written, and the furniture of the room in which it is built."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._kernel import places
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.observing.sources import Entry
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.files import (
    paths_of,
    write_control,
    write_documents,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.model import Headers, Package
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.room import furnish
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.steps import BuildPackage

KERNEL = "6.1.0-47-amd64"
MODULE = f"/lib/modules/{KERNEL}/updates/dkms/toy.ko"
EPOCH = 1778198400
STEP = BuildPackage(
    source="toy",
    version="1.0",
    kernel=KERNEL,
    machine="x86_64",
    package=Package(f"toy-modules-{KERNEL}", "1.0-1", "amd64", KERNEL, (MODULE,), "", EPOCH),
    destination="/srv/packages",
    root="",
    maintainer="Ada <ada@example.com>",
    headers=Headers(),
    key=None,
    hindrance="",
    reason="it is not there",
)


def written(folder: Path, umask: int) -> dict[str, tuple[int, float, bytes]]:
    """A package's files with their modes, dates and contents, written under a umask."""
    former = os.umask(umask)
    try:
        (folder / MODULE[1:]).parent.mkdir(parents=True)
        (folder / MODULE[1:]).write_bytes(b"\x7fELF" * 500)
        write_documents(str(folder), STEP, {"toy.c": Entry(b"// Copyright (c) 2024 Ada\n")}, ["GPL"])
        write_control(str(folder), STEP, "".join(f"0  {path}\n" for path in paths_of(str(folder))))
    finally:
        os.umask(former)
    found = {}
    for path in (folder, *folder.rglob("*")):
        status = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (stat.S_IMODE(status.st_mode), status.st_mtime, content)
    return found


def test_neither_the_umask_nor_the_time_shows_in_the_files(tmp_path: Path) -> None:
    one, other = written(tmp_path / "one", 0o022), written(tmp_path / "other", 0o077)
    assert one == other
    assert {when for _mode, when, _content in one.values()} == {EPOCH}
    executable = {name for name, (mode, _when, content) in one.items() if mode == 0o755 and content}
    assert executable == {"DEBIAN/preinst", "DEBIAN/postinst", "DEBIAN/postrm"}
    assert {mode for mode, _when, _content in one.values()} == {0o755, 0o644}


def test_sums_are_of_what_is_installed_only(tmp_path: Path) -> None:
    files = written(tmp_path / "one", 0o022)
    sums = files["DEBIAN/md5sums"][2].decode().splitlines()
    assert [line.split()[1] for line in sums] == [
        MODULE[1:],
        f"usr/share/doc/{STEP.package.name}/changelog.Debian.gz",
        f"usr/share/doc/{STEP.package.name}/copyright",
    ]
    # 2000 bytes of a module, two documents of less than a kibibyte each, and the directories.
    folders = sum(1 for path in (tmp_path / "one").rglob("*") if path.is_dir() and path.name != "DEBIAN") + 1
    assert f"Installed-Size: {2 + 1 + 1 + folders}\n" in files["DEBIAN/control"][2].decode()


def test_a_room_has_the_links_to_the_headers_and_no_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = tmp_path / "modules"
    (modules / KERNEL / "kernel").mkdir(parents=True)
    (modules / KERNEL / "modules.dep").touch()
    (modules / KERNEL / "build").symlink_to("/usr/src/headers")
    (modules / KERNEL / "source").mkdir()
    monkeypatch.setattr(places, "MODULES", str(modules))
    furnish(str(tmp_path / "tree"), "", [KERNEL])
    here = tmp_path / "tree/.modules" / KERNEL
    assert sorted(each.name for each in here.iterdir()) == ["build", "source"]
    assert (here / "build").readlink() == Path("/usr/src/headers")
    assert not (here / "source").is_symlink()
    assert "sign_file=" in (tmp_path / "tree/.etc/framework.conf").read_text()
