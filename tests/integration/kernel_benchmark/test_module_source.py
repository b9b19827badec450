"""The kernel module's source, compiled by what builds each release's own kernels."""

from __future__ import annotations

import os
import re

import pytest

from tests.conftest import ROOT
from tests.integration.kernel.archive import archived_kernels
from tests.integration.kernel.places import HOST, topology
from tests.lab import Lab
from tests.lab.recipe import RELEASES

SOURCE = ROOT / "roles" / "kernel_benchmark" / "files" / "route-lookup"
_WARNING = re.compile(r"\.[ch]:\d+(?::\d+)?: (?:warning|error)", re.IGNORECASE)


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=7, title="The kernel module compiles without any warning, on two kernels")
@pytest.mark.parametrize("release", RELEASES)
def test_it_compiles_without_a_warning(release: str) -> None:
    archived = archived_kernels(release)
    kernels = (archived[0], archived[-1])
    with Lab.from_topology(topology(release, kernels), name=f"kbench-build-{release}-{os.getpid()}") as lab:
        host = lab[HOST]
        for kernel in kernels:
            folder = f"/root/{kernel}"
            host.run(["mkdir", folder])
            for file in SOURCE.iterdir():
                host.put(file.read_bytes(), f"{folder}/{file.name}")
            made = host.run(["make", "-C", folder, f"KDIR=/lib/modules/{kernel}/build", "W=1"], timeout=300)
            said = [line for line in (made.stdout + made.stderr).splitlines() if _WARNING.search(line)]
            # W=1 has something to say of the kernel's own headers.
            assert not [line for line in said if "/include/" not in line], said
            told = host.run(["modinfo", "--field", "vermagic", f"{folder}/fabric_route_lookup.ko"]).stdout
            assert told.split()[0] == kernel
