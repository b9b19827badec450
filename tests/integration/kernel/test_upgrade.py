"""The kernel of a host is upgraded: what the next boot will find is told before it, and is so."""

from __future__ import annotations

import pytest

from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.new_kernels import headers_of, image_of, install
from tests.integration.kernel.sources import NAME, Toy
from tests.integration.kernel.stage import every_machine

RELIC = "fabric-relic"
SECONDS = 300.0


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.proof(
    area="kernel", line=6, title="A kernel upgrade: after the boot the module is there, or it was told that it is not"
)
@every_machine
def test_after_a_kernel_upgrade_the_boot_finds_what_was_told(machine: KernelHost) -> None:
    load = {"now": True, "persist": True}
    machine.done(**machine.toy(Toy(), load=load, hook=True))
    # One that is not made for the new kernel. DKMS leaves it alone; a build of its own that fails stops dpkg.
    relic = Toy(name=RELIC, fails_for=machine.newer, more='AUTOINSTALL=""')
    machine.done(**machine.toy(relic, load=load, hook=True))
    assert (machine.loaded("version"), machine.loaded("version", relic.module)) == ("1.0", "1.0")
    done = install(machine, image_of(machine.newer), headers_of(machine.newer))
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert f"{NAME}: 1.0 is in place for {machine.newer}." in said
    assert f"{RELIC}: No version is in place for {machine.newer}" in said
    assert machine.is_in_place(machine.newer, "1.0")
    told = {module["name"]: module["next_boot"] for module in machine.info()["modules"]}
    assert {boot["kernel"] for boot in told.values()} == {machine.newer}
    assert (told[NAME]["ready"], told[RELIC]["ready"]) == (True, False)
    assert told[RELIC]["reason"] == f"nothing is installed for {machine.newer}"
    machine.host.reboot()
    machine.host.wait_booted(SECONDS)
    assert machine.run("uname", "-r").strip() == machine.newer
    assert machine.loaded("version") == "1.0"
    assert machine.loaded("srcversion") == machine.modinfo(machine.newer, "srcversion")
    assert not machine.succeeds("test", "-e", f"/sys/module/{relic.module}")
    machine.at_rest(**machine.toy(Toy(), load=load, hook=True))
