# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What installing a binary package looks at before and after. That it installs one is proved on lab hosts."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import StepFailed
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.deploying.carrying import carry_out
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.deploying.model import Package, Target
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.deploying.observing import _VERIFIED
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.deploying.steps import InstallPackages

KERNEL = "6.12.1-amd64"


class Machine(Runner):
    """Starts nothing; modinfo finds the file ``found``."""

    def __init__(self, found: Path) -> None:
        super().__init__()
        self.found = found
        self.asked: list[str] = []

    def run(self, argv: Any, *_more: Any, **_options: Any) -> str:
        self.asked.append(next(word for word in argv if word in ("apt-get", "modinfo")))
        return f"filename:       {self.found}\n" if self.asked[-1] == "modinfo" else ""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "toy.ko"
    path.write_bytes(b"a module")
    return path


def install(module: Path, content: bytes, digest: str, machine: Machine) -> None:
    deb = module.parent / "toy.deb"
    deb.write_bytes(content)
    package = Package(f"toy-modules-{KERNEL}", "1.0-1", "amd64", KERNEL, (str(module),), str(deb), digest)
    carry_out(InstallPackages((package,), (), False, ""), Target("toy"), machine)


def test_what_was_built_is_installed_and_found(module: Path) -> None:
    machine = Machine(module)
    install(module, b"package", hashlib.sha256(b"package").hexdigest(), machine)
    assert machine.asked == ["apt-get", "modinfo"]


def test_another_package_than_the_one_that_was_built_is_not_installed(module: Path) -> None:
    machine, digest = Machine(module), hashlib.sha256(b"package").hexdigest()
    with pytest.raises(StepFailed, match=f"its SHA-256 is {hashlib.sha256(b'other').hexdigest()}, not {digest}"):
        install(module, b"other", digest, machine)
    assert machine.asked == []


def test_a_package_that_did_not_come_is_told_before_anything_is_installed(module: Path) -> None:
    package = Package("toy-modules-x", "1.0-1", "amd64", KERNEL, (str(module),), str(module.parent / "gone.deb"))
    machine = Machine(module)
    with pytest.raises(StepFailed, match=r"gone\.deb is not here"):
        carry_out(InstallPackages((package,), (), False, ""), Target("toy"), machine)
    assert machine.asked == []


def test_another_file_that_the_kernel_would_load_is_named(module: Path) -> None:
    other = module.parent / "extra" / "toy.ko"
    other.parent.mkdir()
    other.write_bytes(b"another module")
    with pytest.raises(StepFailed, match=f"is installed, but modinfo -k {KERNEL} finds {other} before {module}"):
        install(module, b"package", "", Machine(other))


def test_files_that_dpkg_finds_changed_or_missing_are_read() -> None:
    said = """\
??5??????   /usr/lib/modules/6.12.1-amd64/updates/dkms/toy.ko.xz
missing     /usr/lib/modules/6.12.1-amd64/updates/dkms/other.ko.xz
missing     /usr/share/doc/toy/copyright (No such file or directory)
??5?????? c /etc/toy.conf
missing   c /etc/other.conf
"""
    assert [match["path"] for match in _VERIFIED.finditer(said)] == [
        "/usr/lib/modules/6.12.1-amd64/updates/dkms/toy.ko.xz",
        "/usr/lib/modules/6.12.1-amd64/updates/dkms/other.ko.xz",
        "/usr/share/doc/toy/copyright",
        "/etc/toy.conf",
        "/etc/other.conf",
    ]
