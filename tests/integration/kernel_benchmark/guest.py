"""A host with a kernel of its own, on which lookups are timed by the kernel module."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tests.integration.kernel_benchmark.benchmark_host import BenchmarkHost
from tests.lab import Lab
from tests.playbook import Played, play, playbook_argv

NAME = "fabric_route_lookup"
PACKAGE = "fabric-route-lookup"
DEVICE = f"/dev/{NAME}"
SOURCE = "/var/lib/baremetal.fabric/kernel_benchmark"
ROLE = "baremetal.fabric.kernel_benchmark"
#: Little, for an emulated host.
SHORT: dict[str, Any] = {"loops": 20000, "warm_up": 2000, "runs": 3}
#: What a kernel says when something in it went wrong, and any trace that leads through the module. An emulated CPU that
#: gets no time is taken for one that is stuck; that counts where it is stuck in the module.
_TROUBLE = re.compile(r"BUG: (?!soft lockup)|kernel BUG|WARNING:|Oops|general protection|UBSAN|\[fabric_route_lookup\]")
#: Documentation/admin-guide/tainted-kernels.rst: a module from out of the tree, one without a known key, a soft lockup.
_TAINTS_TO_EXPECT = 1 << 12 | 1 << 13 | 1 << 14
#: Writes an order and tells how that ended, and what is read then.
_ASK = f"""\
import errno, os, sys
device = os.open("{DEVICE}", os.O_RDWR)
for line in sys.stdin.buffer.read().split(b"\\n--\\n"):
    try:
        os.write(device, line)
        ended = "done"
    except OSError as error:
        ended = errno.errorcode[error.errno]
    answer = b""
    try:
        while part := os.read(device, 65536):
            answer += part
    except OSError as error:
        answer = errno.errorcode[error.errno].encode()
    print(ended, answer.decode().partition("\\n")[0])
"""


@dataclass
class Guest(BenchmarkHost):
    """The host; ``lab`` is all there is in it."""

    lab: Lab | None = None
    folder: Path = Path()
    release: str = ""
    complaints_before: list[str] = field(default_factory=list)
    #: What a run without the module came to, and the first run of the role.
    unequipped: str = ""
    first: Played | None = None

    telling: ClassVar[tuple[str, ...]] = (
        *BenchmarkHost.telling,
        "dmesg | tail -n 40",
        "dkms status 2>&1; lsmod | head; find /lib/modules/*/updates -type f",
    )

    def play_role(self, check: bool = False, **variables: Any) -> Played:
        """Run the role as a person does."""
        assert self.lab is not None
        roles = [{"role": ROLE, "vars": {f"kernel_benchmark_{name}": value for name, value in variables.items()}}]
        file = self.folder / "play.yml"
        file.write_text(json.dumps([{"hosts": "lab", "gather_facts": False, "roles": roles}]))
        argv = playbook_argv(str(file), [self.lab.inventory], *(("--check", "--diff") if check else ()))
        return play(argv, self.folder / "play.log")

    def equip(self) -> None:
        """Have the role put the module in place, once it is seen that a run without it fails."""
        self.unequipped = self.refused(engine="module")
        self.first = self.play_role(engine="module", sizes=[0, 1000], **SHORT)

    def is_loaded(self) -> bool:
        """Whether the module is in the kernel."""
        return self.succeeds("test", "-d", f"/sys/module/{NAME}")

    def told(self, *orders: str) -> list[str]:
        """What comes of orders that are written to the device one after the other, the first line of each."""
        return self.run("python3", "-c", _ASK, stdin="\n--\n".join(orders)).splitlines()

    def complaints(self) -> list[str]:
        """What the kernel complained of since it was booted."""
        return [line for line in self.run("dmesg").splitlines() if _TROUBLE.search(line)]

    def taints(self) -> int:
        """What taints the kernel, but for what any module of one's own does, and an emulator without time."""
        return int(self.read("/proc/sys/kernel/tainted")) & ~_TAINTS_TO_EXPECT
