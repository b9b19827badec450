"""Packages of Debian that bring a source for DKMS, taken over as they are."""

from __future__ import annotations

import pytest

from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.stage import every_release, newest_release

#: They build for both releases; two have no MODULE_VERSION.
PACKAGES = ("acpi-call-dkms", "ddcci-dkms", "dm-writeboost-dkms", "lime-forensics-dkms", "v4l2loopback-dkms")
FIXTURES = ("dkms-test-dkms", "dkms-noautoinstall-test-dkms")
REPLACING = "dkms-replace-test-dkms"


def fetched(builder: KernelHost, package: str) -> tuple[str, str]:
    """Bring a package's source to the host as dpkg does, without what it runs; returns name and version."""
    builder.sh("test -e /var/lib/apt/lists/lock || apt-get update -qq", timeout=300)
    folder = f"/root/{package}"
    builder.sh(f"mkdir -p {folder} && cd {folder} && apt-get download -qq {package} && dpkg -x *.deb tree", timeout=300)
    builder.sh(f"cp -a {folder}/tree/usr/src/. /usr/src/")
    conf = builder.sh(f"cat {folder}/tree/usr/src/*/dkms.conf")
    values = dict(line.split("=", 1) for line in conf.splitlines() if line.startswith("PACKAGE_"))
    return values["PACKAGE_NAME"].strip("\"'"), values["PACKAGE_VERSION"].strip("\"'")


def modules_of(builder: KernelHost, name: str, version: str, kernel: str) -> list[str]:
    """The modules that DKMS has built."""
    folder = f"/var/lib/dkms/{name}/{version}/{kernel}/x86_64/module"
    return [each.split(".ko")[0] for each in builder.run("ls", folder).split() if ".ko" in each]


def adopted(builder: KernelHost, package: str, jobs: int) -> None:
    """Have the module put a package's modules in place for two kernels."""
    name, version = fetched(builder, package)
    kernels = list(builder.kernels)
    result = builder.done(name=name, kernels=kernels, jobs=jobs)
    assert result.changed
    for kernel in kernels:
        modules = modules_of(builder, name, version, kernel)
        assert modules
        for module in modules:
            assert builder.is_in_place(kernel, version, name, module), f"{module} for {kernel}"
        assert builder.kernel_of(result, kernel)["in_place"]
    builder.at_rest(name=name, kernels=kernels, jobs=jobs)


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=1, title="Debian's packages are adopted, on two kernels")
@pytest.mark.parametrize("package", PACKAGES)
@every_release
def test_a_package_of_debian_is_adopted(builder: KernelHost, package: str) -> None:
    adopted(builder, package, jobs=2)


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=1, title="DKMS's own fixtures are adopted, also one that replaces another")
@newest_release
def test_dkms_own_fixtures_are_adopted(builder: KernelHost) -> None:
    for package in FIXTURES:
        adopted(builder, package, jobs=1)
    # It brings a module of the same name, and both want it: the one that was asked for last has it.
    adopted(builder, REPLACING, jobs=1)
