"""The host on which DKMS builds."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tests.integration.kernel.sources import MODULE, NAME, Toy
from tests.integration.modules.module_host import ModuleHost
from tests.integration.modules.payload import FOLDER
from tests.integration.modules.result import Result

TREE = "/var/lib/dkms"
STATE = "/var/lib/baremetal.fabric"
SOURCES = "/root/sources"
LOCK = "/run/baremetal.fabric/locks/dkms.lock"
#: What DKMS had when the host was booted: a key, once it has built.
_START_OVER = f"""\
rm -rf {TREE}/[!m]* {TREE}/m[!o]* {STATE} {SOURCES} /usr/src/fabric-toy-* /usr/src/.fabric-toy-* /etc/dkms/fabric-toy*
rm -f /etc/modprobe.d/fabric-toy.conf /etc/modules-load.d/fabric-toy.conf /etc/kernel/*/baremetal-fabric-*
for kernel in $(ls /lib/modules); do
    rm -rf /lib/modules/$kernel/updates /lib/modules/$kernel/extra
    depmod $kernel
done
"""
#: What depmod would read each time; what is left is enough of a kernel for DKMS.
_TRIM = """\
for kernel in $(ls /lib/modules); do
    rm -rf /lib/modules/$kernel/kernel/drivers /lib/modules/$kernel/kernel/fs /lib/modules/$kernel/kernel/net
    rm -rf /lib/modules/$kernel/kernel/sound
    depmod $kernel
done
"""


@dataclass
class KernelHost(ModuleHost):
    """A host with the headers of ``kernels``. Every test begins without any module in DKMS."""

    kernels: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()
    release: str = ""
    started: list[str] = field(default_factory=list)
    begun: subprocess.Popen[bytes] | None = None

    patience: ClassVar[float] = 900.0
    telling: ClassVar[tuple[str, ...]] = (
        "dkms status 2>&1",
        f"find {TREE} {STATE} /usr/src -maxdepth 5 -not -path '*/linux-*' | sort | head -80",
        "find /lib/modules/*/updates -type f",
        "tail -n 20 /var/lib/baremetal.fabric/kernel/logs/*",
    )

    @property
    def older(self) -> str:
        """The kernel whose version is lower."""
        return self.kernels[0]

    @property
    def newer(self) -> str:
        """The kernel whose version is higher."""
        return self.kernels[-1]

    def prepare(self) -> None:
        """Bring what the tests need to a host that was just booted."""
        self.install()
        self.sh(_TRIM, timeout=600)

    def start_over(self) -> None:
        """Make it a host on which nothing was ever built."""
        self.history.clear()
        self.last = None
        self.sh(_START_OVER)

    # Sources

    def put_source(self, toy: Toy) -> str:
        """Bring a source to the host; returns its directory."""
        folder = f"{SOURCES}/{toy.name}-{toy.version}"
        self.sh(f"rm -rf {folder}; mkdir -p {folder}")
        for name, text in toy.files().items():
            self.host.put(text.encode(), f"{folder}/{name}")
        return folder

    def toy(self, toy: Toy, **options: Any) -> dict[str, Any]:
        """Options for a version of our module, whose source is brought to the host."""
        return {"name": toy.name, "source": {"directory": self.put_source(toy)}, **options}

    # Runs

    def ask(self, order: str, timeout: float) -> dict[str, Any]:
        """Have the host carry out an order, and keep what it started."""
        answer = super().ask(order, timeout)
        self.started = answer["started"]
        return answer

    def attempt(self, check: bool = False, **options: Any) -> Result:
        """Run the module, whatever comes of it."""
        ending = {key: options.pop(key) for key in ("cut", "orphan") if key in options}
        return self.module("dkms_module", options, check=check, **ending)

    def done(self, **options: Any) -> Result:
        """Run the module; it must do its work."""
        result = self.attempt(**options)
        assert not result.failed, result.message
        return result

    def refused(self, **options: Any) -> Result:
        """Run the module; it must fail."""
        result = self.attempt(**options)
        assert result.failed, f"it did: {result.titles}"
        return result

    def at_rest(self, **options: Any) -> Result:
        """A run changes nothing, plans nothing, and does not start DKMS."""
        again = self.done(**options)
        assert (again.changed, again.titles) == (False, [])
        assert not [each for each in self.started if "dkms " in each], self.started
        return again

    def quartet(self, **options: Any) -> Result:
        """Check mode, the run, both again: what was told was done, and then nothing is left."""
        told = self.attempt(check=True, **options)
        assert not told.failed, told.message
        result = self.done(**options)
        assert result.changed
        assert result.values["plan"] == told.values["plan"]
        assert result.values["diff"] == told.values["diff"]
        self.at_rest(**options)
        again = self.attempt(check=True, **options)
        assert (again.changed, again.titles) == (False, [])
        return result

    def info(self, name: str | None = None) -> dict[str, Any]:
        """What the info module tells."""
        result = self.module("dkms_module_info", {"name": name})
        assert not result.failed, result.message
        return dict(result.values)

    def start(self, **options: Any) -> None:
        """Begin a run of the module, and do not wait for it."""
        order = {"module": "dkms_module", "arguments": {**options, "_ansible_check_mode": False, "_ansible_diff": True}}
        argv = ["env", f"PYTHONPATH={FOLDER}", "python3", "-m", "on_host.module"]
        begun = self.host.popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert begun.stdin is not None
        begun.stdin.write(json.dumps(order).encode())
        begun.stdin.close()
        self.begun = begun

    # Looking

    def loaded(self, what: str, module: str = MODULE) -> str:
        """What the kernel tells of a module that is loaded."""
        return self.read(f"/sys/module/{module}/{what}")

    def modinfo(self, kernel: str, field_: str, module: str = MODULE) -> str:
        """What modinfo finds for a kernel; empty when it finds nothing."""
        return self.run("modinfo", "-k", kernel, "-F", field_, module, check=False).strip()

    def path(self, kernel: str, module: str = MODULE) -> str:
        """The file that would be loaded."""
        return self.modinfo(kernel, "filename", module)

    def digest(self, path: str) -> str:
        """The SHA-256 of a file."""
        return hashlib.sha256(self.host.get(path)).hexdigest()

    def built(self, name: str, version: str, kernel: str, module: str) -> str:
        """The file that DKMS has built."""
        found = self.sh(f"ls {TREE}/{name}/{version}/{kernel}/x86_64/module/{module}.ko*", check=False).split()
        return found[0] if found else ""

    def is_in_place(self, kernel: str, version: str, name: str = NAME, module: str = MODULE) -> bool:
        """Whether what DKMS has built of a version is what would be loaded: without asking our own code."""
        path, built = self.path(kernel, module), self.built(name, version, kernel, module)
        if not path or not built or self.digest(path) != self.digest(built):
            return False
        return self.modinfo(kernel, "vermagic", module).split()[0] == kernel

    def kernel_of(self, result: Result, kernel: str) -> dict[str, Any]:
        """What a run tells of a kernel."""
        return next(each for each in result.values["kernels"] if each["kernel"] == kernel)

    def dkms(self, *words: str, check: bool = True) -> str:
        """Run DKMS by hand."""
        return self.run("dkms", *words, check=check, timeout=600)

    def everything(self) -> str:
        """All that a run could leave behind, without times: names below the folders that it works in."""
        folders = f"{TREE} {STATE} /usr/src/fabric-toy* /usr/src/.fabric-toy* /lib/modules/*/updates"
        return self.sh(f"find {folders} 2>/dev/null | grep -v '/log/' | sort", check=False)

    def remember(self, what: Any) -> str:
        """A value as text."""
        return json.dumps(what, sort_keys=True)
