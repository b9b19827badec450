"""What the next boot will find, told before it."""

from __future__ import annotations

import pytest

from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.sources import NAME, Toy
from tests.integration.kernel.stage import every_release

_GRUB = """\
set default="0"
menuentry 'Debian GNU/Linux' {{
    linux /boot/vmlinuz-{kernel} root=LABEL=root ro
}}
"""


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=6, title="The info module says before the boot whether the module will be there")
@every_release
def test_readiness_for_the_next_boot_is_told_before_it(builder: KernelHost) -> None:
    builder.run("mkdir", "-p", "/boot/grub")
    builder.host.put(_GRUB.format(kernel=builder.newer).encode(), "/boot/grub/grub.cfg")
    broken = builder.toy(Toy("1.0", fails_for=builder.newer))
    builder.refused(**broken)
    (module,) = builder.info(NAME)["modules"]
    boot = module["next_boot"]
    assert (boot["kernel"], boot["told_by"], boot["ready"]) == (builder.newer, "/boot/grub/grub.cfg", False)
    assert boot["reason"] == f"nothing is installed for {builder.newer}"
    builder.host.put(_GRUB.format(kernel=builder.older).encode(), "/boot/grub/grub.cfg")
    (module,) = builder.info(NAME)["modules"]
    assert module["next_boot"]["ready"]
    builder.host.put(_GRUB.format(kernel=builder.newer).encode(), "/boot/grub/grub.cfg")
    builder.done(**builder.toy(Toy("1.0")))
    (module,) = builder.info(NAME)["modules"]
    assert (module["next_boot"]["ready"], module["next_boot"]["reason"]) == (True, None)
    # It goes under the hands of somebody.
    builder.run("rm", builder.path(builder.newer))
    (module,) = builder.info(NAME)["modules"]
    assert not module["next_boot"]["ready"]
    assert "is gone" in module["next_boot"]["reason"]
    builder.run("rm", "-r", "/boot/grub")
