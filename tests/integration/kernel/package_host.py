"""The host on which packages of kernel modules are built, and what is looked at in them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.places import ONE, OTHER, TARGET
from tests.integration.kernel.sources import NAME, Toy
from tests.integration.modules.result import Result
from tests.lab import Lab, LabHost

PACKAGES = "/srv/packages"
MAINTAINER = "Kernel Team <kernel@fabric.example>"


@dataclass
class PackageHost(KernelHost):
    """A host that builds packages."""

    telling: ClassVar[tuple[str, ...]] = (
        *KernelHost.telling,
        f"ls -l --time-style=full-iso {PACKAGES}",
        f"tail -n 40 {PACKAGES}/*.buildinfo",
    )

    def start_over(self) -> None:
        """Make it a host on which nothing was ever built."""
        super().start_over()
        self.sh(f"rm -rf {PACKAGES} /srv/elsewhere")

    def wanted(self, toy: Toy, **options: Any) -> dict[str, Any]:
        """Options for packages of a version of our module, whose source is brought to the host."""
        return self.named(NAME, source={"directory": self.put_source(toy)}, **options)

    def named(self, name: str, **options: Any) -> dict[str, Any]:
        """Options for packages of a module."""
        given = {"destination": PACKAGES, "maintainer": MAINTAINER, "kernels": list(self.kernels)}
        return {"name": name, **given, **options}

    def attempt(self, check: bool = False, **options: Any) -> Result:
        """Run the module, whatever comes of it."""
        ending = {key: options.pop(key) for key in ("cut", "orphan") if key in options}
        return self.module("kernel_module_package", options, check=check, **ending)

    def at_rest(self, **options: Any) -> Result:
        """A run changes nothing, plans nothing, and starts nothing but what reads the dkms.conf."""
        again = self.done(**options)
        assert (again.changed, again.titles) == (False, [])
        assert len(self.started) == 1, self.started
        assert "bash -s" in self.started[0]
        return again

    def put_archive(self, toy: Toy, path: str) -> None:
        """Bring a source to the host as an archive, in another order and with other dates than a directory has."""
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz") as archive:
            for name, text in sorted(toy.files().items(), reverse=True):
                member = tarfile.TarInfo(f"{NAME}/{name}")
                member.size, member.mtime, member.uid = len(text.encode()), 86400, 1000
                archive.addfile(member, io.BytesIO(text.encode()))
        self.host.put(content.getvalue(), path)

    def package_of(self, result: Result, kernel: str) -> dict[str, Any]:
        """What a run tells of the package for a kernel."""
        return next(each for each in result.values["packages"] if each["kernel"] == kernel)

    def content(self, told: dict[str, Any]) -> bytes:
        """The bytes of a package, which are those that were told."""
        content = self.host.get(told["path"])
        assert hashlib.sha256(content).hexdigest() == told["sha256"]
        return content

    def listing(self, told: dict[str, Any]) -> list[str]:
        """The files in a package, as they are installed."""
        lines = self.run("dpkg-deb", "--contents", told["path"]).splitlines()
        return [line.split()[-1].removeprefix(".") for line in lines if not line.startswith("d")]

    def field_of(self, told: dict[str, Any], field: str) -> str:
        """A field of a package's control file."""
        return self.run("dpkg-deb", "--field", told["path"], field).strip()

    def module_in(self, told: dict[str, Any], field: str) -> str:
        """What modinfo tells of the module in a package."""
        folder = "/root/unpacked"
        self.sh(f"rm -rf {folder}; dpkg-deb --extract {told['path']} {folder}")
        return self.run("modinfo", "-F", field, folder + told["modules"][0]).strip()

    def everything(self) -> str:
        """All that a run could leave behind: files with their digests where packages lie, names elsewhere."""
        sums = self.sh(f"cd {PACKAGES} 2>/dev/null && sha256sum * || true")
        return f"{super().everything()}\n{sums}"


@dataclass
class Target:
    """A host that installs packages, and has nothing to build with."""

    host: LabHost

    def run(self, *argv: str, check: bool = True) -> str:
        """Run a command and return what it printed."""
        return self.host.run(argv, check=check, timeout=300).stdout

    def has(self, program: str) -> bool:
        """Whether a program is installed."""
        return self.host.run(["sh", "-c", f"command -v {program}"], check=False).returncode == 0

    def take(self, content: bytes, told: dict[str, Any]) -> str:
        """Bring a package to the host; returns its path."""
        path = f"/root/{told['path'].rsplit('/', 1)[1]}"
        self.host.put(content, path)
        return path

    def modinfo(self, kernel: str, field: str, module: str) -> str:
        """What modinfo finds for a kernel; empty when it finds nothing."""
        return self.run("modinfo", "-k", kernel, "-F", field, module, check=False).strip()

    def modules_of(self, kernel: str) -> str:
        """All files that a kernel has, with their digests."""
        return self.run("sh", "-c", f"cd /lib/modules/{kernel} && find . -type f | sort | xargs sha256sum")

    def folders_of(self, kernel: str) -> str:
        """All directories that a kernel has."""
        return self.run("sh", "-c", f"cd /lib/modules/{kernel} && find . -type d | sort")


@dataclass
class Packaging:
    """The hosts of a release."""

    one: PackageHost
    other: PackageHost
    target: Target

    @classmethod
    def of(cls, lab: Lab, kernels: tuple[str, ...], release: str) -> Packaging:
        """The hosts of a lab that was booted."""
        for host in lab.hosts:
            host.wait_booted()
        one, other = (PackageHost(lab[name], kernels=kernels, release=release) for name in (ONE, OTHER))
        for builder in (one, other):
            builder.prepare()
        return cls(one, other, Target(lab[TARGET]))


def text_of(result: Result) -> str:
    """All that a run has returned."""
    return json.dumps(result.values)
