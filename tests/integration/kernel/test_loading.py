"""Modules in a kernel of their own: loaded, replaced, put back, and there after a boot and a loss of power."""

from __future__ import annotations

import pytest

from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.sources import NAME, Toy
from tests.integration.kernel.stage import every_machine

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
