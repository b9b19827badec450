"""Modules in a kernel of their own: loaded, replaced, put back, and there after a boot and a loss of power."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.kernel.archive import archived_kernels
from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.package_host import PackageHost, Target
from tests.integration.kernel.places import ONE, TARGET, packages_for
from tests.integration.kernel.sources import MODULE, NAME, Toy
from tests.integration.kernel.stage import every_machine
from tests.integration.modules.module_host import ModuleHost
from tests.lab import Lab
from tests.lab.recipe import RELEASES

#: An emulated host takes its time, above all to compile.
SECONDS = 300.0


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.proof(area="kernel", line=3, title="In a kernel: loaded, replaced, kept, put back, and there after a boot")
@every_machine
def test_a_module_stays_loaded_until_a_better_one_is(machine: KernelHost) -> None:
    load = {"now": True, "persist": True, "parameters": {"answer": 7}}
    options = {"kernels": ["running"], "load": load}
    machine.done(**machine.toy(Toy("1.0"), **options))
    kernel = machine.older
    assert machine.run("uname", "-r").strip() == kernel
    assert machine.loaded("parameters/answer") == "7"
    assert machine.loaded("srcversion") == machine.modinfo(kernel, "srcversion")
    machine.at_rest(**machine.toy(Toy("1.0"), **options))
    # Another parameter: it is loaded anew.
    options["load"] = {**load, "parameters": {"answer": 8}}
    assert machine.done(**machine.toy(Toy("1.0"), **options)).titles[-1] == "Reload fabric_toy"
    assert machine.loaded("parameters/answer") == "8"
    # It does not compile: the old one stays in place and loaded.
    before = machine.loaded("srcversion")
    machine.refused(**machine.toy(Toy("2.0", fails_for=kernel), **options))
    assert machine.loaded("srcversion") == before
    assert machine.is_in_place(kernel, "1.0")
    # It compiles and does not load: the old one comes back.
    refused = machine.refused(**machine.toy(Toy("3.0", loads=False), **options))
    assert "1.0 is installed and loaded again" in refused.message
    assert machine.loaded("srcversion") == before
    assert machine.loaded("parameters/answer") == "8"
    assert machine.is_in_place(kernel, "1.0")
    # It does both.
    machine.done(**machine.toy(Toy("4.0"), **options))
    assert machine.loaded("version") == "4.0"
    (module,) = machine.info(NAME)["modules"]
    assert (module["next_boot"]["kernel"], module["next_boot"]["ready"]) == (kernel, True)
    machine.host.reboot()
    machine.host.wait_booted(SECONDS)
    assert (machine.loaded("version"), machine.loaded("parameters/answer")) == ("4.0", "8")


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.proof(area="kernel", line=5, title="Power is lost while the compiler works: run again, same end")
@every_machine
def test_a_build_that_loses_power_is_made_again(machine: KernelHost) -> None:
    options = {"kernels": ["running"], "load": {"now": True, "persist": True}, "replace_older": True}
    machine.done(**machine.toy(Toy("1.0"), **options))
    upgrade = machine.toy(Toy("2.0"), **options)
    machine.run("sync")
    machine.start(**upgrade)
    machine.until(["pgrep", "-x", "cc1"], SECONDS)
    machine.host.reset()
    machine.host.wait_booted(SECONDS)
    assert machine.is_in_place(machine.older, "1.0")
    assert machine.loaded("version") == "1.0"
    assert f"/kernel/build/{NAME}-2.0" in machine.everything()
    result = machine.done(**upgrade)
    assert result.titles[0].startswith("Remove /var/lib/baremetal.fabric/kernel/build/")
    assert machine.is_in_place(machine.older, "2.0")
    assert machine.loaded("version") == "2.0"
    everything = machine.everything()
    for left in ("/kernel/build/", ".fabric-", f"{NAME}/1.0", f"{NAME}-1.0"):
        assert left not in everything
    machine.at_rest(**upgrade)


@pytest.fixture
def delivery(request: pytest.FixtureRequest) -> Iterator[tuple[PackageHost, Target]]:
    """A host that builds, and one with a kernel of its own and nothing to build with."""
    release = request.param
    archived = archived_kernels(release)
    builds = {"release": release, "packages": packages_for((archived[0], archived[-1]))}
    loads = {"kind": "qemu", "release": release}
    name = f"kernel-load-{release}-{os.getpid()}"
    with Lab.from_topology({"hosts": {ONE: builds, TARGET: loads}, "uplink": True}, name=name) as lab:
        for host in lab.hosts:
            host.wait_booted(SECONDS)
        target = Target(lab[TARGET])
        builder = PackageHost(lab[ONE], kernels=(target.run("uname", "-r").strip(),), release=release)
        builder.install()
        yield builder, target


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.proof(area="kernel", line=2, title="In a kernel: a package from elsewhere is loaded; a purge leaves it so")
@pytest.mark.parametrize("delivery", RELEASES, indirect=True)
def test_a_package_is_loaded_into_a_kernel(delivery: tuple[PackageHost, Target]) -> None:
    builder, target = delivery
    kernel = builder.newer
    assert not target.has("gcc")
    assert not target.has("dkms")
    told = builder.package_of(builder.done(**builder.wanted(Toy())), kernel)
    before = target.modules_of(kernel)
    target.run("dpkg", "--install", target.take(builder.content(told), told))
    target.run("modprobe", MODULE, "answer=7")
    assert target.run("cat", f"/sys/module/{MODULE}/parameters/answer").strip() == "7"
    srcversion = target.run("cat", f"/sys/module/{MODULE}/srcversion").strip()
    assert srcversion == target.modinfo(kernel, "srcversion", MODULE) == builder.module_in(told, "srcversion")
    target.run("dpkg", "--purge", told["package"])
    assert target.run("cat", f"/sys/module/{MODULE}/srcversion").strip() == srcversion
    assert target.modinfo(kernel, "filename", MODULE) == ""
    assert target.modules_of(kernel) == before
    target.run("rmmod", MODULE)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.proof(
    area="kernel", line=2, title="In a kernel: packages are loaded, repaired, put back, replaced, and gone"
)
@pytest.mark.parametrize("delivery", RELEASES, indirect=True)
def test_packages_are_loaded_put_back_and_replaced(delivery: tuple[PackageHost, Target]) -> None:
    builder, target = delivery
    kernel, host = builder.newer, ModuleHost(target.host)
    host.install()
    before = target.modules_of(kernel)
    load = {"now": True, "persist": True, "parameters": {"answer": 7}}

    def brought(toy: Toy) -> dict[str, Any]:
        told = builder.package_of(builder.done(**builder.wanted(toy)), kernel)
        target.take(builder.content(told), told)
        return {"name": NAME, "packages": [told], "directory": "/root", "kernels": ["running"], "load": load}

    def loaded(file: str) -> str:
        return target.run("cat", f"/sys/module/{MODULE}/{file}").strip()

    first = brought(Toy("1.0"))
    told = host.module("kernel_module_binary", first, check=True)
    assert target.modules_of(kernel) == before
    result = host.module("kernel_module_binary", first)
    assert (result.failed, result.titles) == (False, told.titles), result.message
    assert (loaded("version"), loaded("parameters/answer")) == ("1.0", "7")
    again = host.module("kernel_module_binary", first)
    assert (again.failed, again.changed, again.titles) == (False, False, [])
    # A file that somebody changed: it is repaired, and what is loaded stays, as it is just that.
    host.sh(f"echo garbage > {target.modinfo(kernel, 'filename', MODULE)}")
    assert host.module("kernel_module_binary", first).changed
    assert target.modinfo(kernel, "version", MODULE) == "1.0"
    assert host.sh(f"dmesg | grep -c '{MODULE} 1.0: '").strip() == "1"
    # One that cannot be loaded: the former package comes back.
    refused = host.module("kernel_module_binary", brought(Toy("3.0", loads=False)))
    assert refused.failed
    assert "is installed and loaded again" in refused.message
    assert (loaded("version"), target.modinfo(kernel, "version", MODULE)) == ("1.0", "1.0")
    # One that can be.
    last = host.module("kernel_module_binary", brought(Toy("4.0")))
    assert (last.failed, last.titles[-1]) == (False, f"Reload {MODULE}"), last.message
    assert (loaded("version"), loaded("parameters/answer")) == ("4.0", "7")
    downgrade = host.module("kernel_module_binary", first)
    assert downgrade.failed
    assert "set allow_downgrade" in downgrade.message
    gone = host.module("kernel_module_binary", {"name": NAME, "state": "absent"})
    assert (gone.failed, gone.changed) == (False, True), gone.message
    assert target.modules_of(kernel) == before
    assert not host.succeeds("ls", f"/etc/modprobe.d/{NAME}.conf", f"/etc/modules-load.d/{NAME}.conf")
