"""The role, as an operator runs it: on hosts that build for themselves, and on hosts that a builder builds for."""

from __future__ import annotations

import io
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kernel.archive import archived_kernels
from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.new_kernels import configured, headers_of, image_of
from tests.integration.kernel.places import packages_for
from tests.integration.kernel.sources import MODULE, NAME, Toy
from tests.integration.kernel.stage import every_role_host
from tests.lab import Lab
from tests.playbook import PlaybookFailed, Played, play, playbook_argv

BUILDER, TARGET = "builder", "target"
#: All that runs on a host that has everything already.
ON_HOST = ("ansible.builtin.raw", "ansible.builtin.copy", "baremetal.fabric.dkms_module")


class Stand:
    """A builder, a host that has nothing but kernels, and the role."""

    def __init__(self, lab: Lab, release: str, folder: Path) -> None:
        kernels = archived_kernels(release)
        self.lab = lab
        self.folder = folder
        self.target = KernelHost(lab[TARGET], kernels=(kernels[0], kernels[-1]), release=release)

    def archive(self, toy: Toy) -> Path:
        """A source as people have it."""
        path = self.folder / f"{toy.name}-{toy.version}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for name, text in toy.files().items():
                entry = tarfile.TarInfo(f"{toy.name}-{toy.version}/{name}")
                entry.size = len(text.encode())
                archive.addfile(entry, io.BytesIO(text.encode()))
        return path

    def play(self, *options: str, **variables: Any) -> Played:
        """Run the playbook."""
        given = {
            "kernel_module_hosts": TARGET,
            "kernel_module_name": NAME,
            "kernel_module_cache": str(self.folder / "packages"),
            **variables,
        }
        argv = playbook_argv("playbooks/kernel_module.yml", [self.lab.inventory], "-e", json.dumps(given), *options)
        return play(argv, self.folder / "play.log")

    def refused(self, **variables: Any) -> str:
        """Run the playbook; it must fail."""
        with pytest.raises(PlaybookFailed) as failure:
            self.play(**variables)
        return str(failure.value)

    def found(self, kernel: str) -> str:
        """The version of the module that a kernel would load."""
        return self.target.modinfo(kernel, "version")


@pytest.fixture
def stand(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stand]:
    """A builder and a host of a release."""
    kernels = archived_kernels(request.param)
    hosts = {
        BUILDER: {"release": request.param, "packages": packages_for((kernels[0], kernels[-1]))},
        TARGET: {"release": request.param, "packages": [image_of(kernels[0]), image_of(kernels[-1])]},
    }
    with Lab.from_topology({"hosts": hosts, "uplink": True}, name=f"kernel-role-{request.param}-{os.getpid()}") as lab:
        for host in hosts:
            lab[host].wait_booted()
        # The newest that GRUB would boot; the link of the boot loader is what an image's build made of it.
        lab[TARGET].run(["ln", "-sfn", f"boot/vmlinuz-{kernels[-1]}", "/vmlinuz"])
        yield Stand(lab, request.param, tmp_path)


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=2, title="The role: a builder's packages on a host without compiler, and none is refused"
)
@every_role_host
def test_hosts_install_what_the_builder_has_built(stand: Stand) -> None:
    target, newer, older = stand.target, stand.target.newer, stand.target.older
    there = {"kernel_module_build": "on_builder", "kernel_module_builder": BUILDER}
    both = {**there, "kernel_module_kernels": [older, newer]}
    one = {**both, "kernel_module_archive": str(stand.archive(Toy("1.0")))}
    told = stand.play("--check", **one)
    assert [each.task for each in told.results if each.values.get("changed")] != []
    assert not any(stand.found(kernel) for kernel in (older, newer))
    played = stand.play(**one)
    assert (stand.found(older), stand.found(newer)) == ("1.0", "1.0")
    assert not any(target.succeeds("test", "-e", f"/usr/{path}") for path in ("sbin/dkms", "bin/gcc", "bin/make"))
    built = played.of("baremetal.fabric.kernel_module_package")["packages"]
    assert {package["kernel"] for package in built} == {older, newer}
    again = stand.play(**one)
    assert again.changed == 0
    # A file that somebody changed.
    target.sh(f"echo garbage > {target.path(newer)}")
    assert stand.play(**one).changed > 0
    assert stand.found(newer) == "1.0"
    # A version that is not for the next kernel: the host keeps what it has.
    pattern = older.replace(".", "\\.").replace("+", "\\+")
    exclusive = stand.archive(Toy("2.0", more=f'BUILD_EXCLUSIVE_KERNEL="^{pattern}$"'))
    before = target.run("dpkg-query", "--show")
    said = stand.refused(**there, kernel_module_archive=str(exclusive))
    assert f"has no package for {newer} (BUILD_EXCLUSIVE_KERNEL" in said
    assert target.run("dpkg-query", "--show") == before
    # One that does not compile for the older kernel: a host that has both is refused, with the compiler's line.
    broken = stand.archive(Toy("2.5", fails_for=older))
    said = stand.refused(**both, kernel_module_archive=str(broken))
    assert f"has no package for {older} ({older}: " in said
    assert f"#error {MODULE} is not made for this kernel" in said
    assert target.run("dpkg-query", "--show") == before
    # A host that has only the newer one takes it.
    stand.play(**there, kernel_module_archive=str(broken), kernel_module_kernels=[newer])
    assert (stand.found(older), stand.found(newer)) == ("1.0", "2.5")
    # An upgrade, a downgrade that is refused, and the end.
    stand.play(**both, kernel_module_archive=str(stand.archive(Toy("3.0"))))
    assert (stand.found(older), stand.found(newer)) == ("3.0", "3.0")
    assert "downgrade" in stand.refused(**one).lower()
    assert stand.found(newer) == "3.0"
    assert stand.play(**one, kernel_module_allow_downgrade=True).changed > 0
    assert stand.found(newer) == "1.0"
    assert stand.play(**both, kernel_module_state="absent").changed > 0
    assert not any(stand.found(kernel) for kernel in (older, newer))
    assert stand.play(**both, kernel_module_state="absent").changed == 0


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=1, title="The role: a host with nothing but kernels builds for the next one")
@every_role_host
def test_a_host_that_has_nothing_comes_to_build_for_the_kernel_that_boots_next(stand: Stand) -> None:
    target, newer, older = stand.target, stand.target.newer, stand.target.older
    one = {"kernel_module_archive": str(stand.archive(Toy("1.0")))}
    told = stand.play("--check", **one)
    assert f"linux-headers-{newer}" in str(told.of("ansible.builtin.debug")["msg"])
    assert not target.succeeds("test", "-e", "/usr/sbin/dkms")
    played = stand.play(**one)
    result = played.of("baremetal.fabric.dkms_module")
    assert [each["in_place"] for each in result["kernels"] if each["kernel"] == newer] == [True]
    assert stand.found(newer) == "1.0"
    # Of the kernel that neither runs nor boots next nothing was asked.
    assert stand.found(older) == ""
    assert configured(target, headers_of(newer))
    assert not configured(target, headers_of(older))
    again = stand.play(**one)
    assert again.changed == 0
    ran = [each.action for each in again.results if not each.values.get("skipped")]
    assert [action for action in ran if action in ON_HOST] == list(ON_HOST)
    # One that does not compile.
    said = stand.refused(kernel_module_archive=str(stand.archive(Toy("2.0", fails_for=newer))))
    assert f"#error {MODULE} is not made for this kernel" in said
    assert stand.found(newer) == "1.0"
    # Without the headers of a kernel, which the archive has no more.
    target.sh("mkdir -p /lib/modules/6.1.0-1-amd64/kernel")
    said = stand.refused(**one, kernel_module_kernels=["6.1.0-1-amd64", newer])
    assert "linux-headers-6.1.0-1-amd64" in said
    assert stand.found(newer) == "1.0"
    target.sh("rm -r /lib/modules/6.1.0-1-amd64")
    assert stand.play(**one, kernel_module_state="absent").changed > 0
    assert stand.found(newer) == ""
    assert stand.play(**one, kernel_module_state="absent").changed == 0
