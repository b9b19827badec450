"""dkms_module against DKMS by hand: nothing to do, and several kernels side by side."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from tests.integration.kernel.archive import archived_kernels
from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.places import HOST, topology
from tests.integration.kernel.sources import NAME, Toy
from tests.integration.modules.payload import FOLDER
from tests.lab import Lab, take_down

from .figures import Figure, Sample
from .store import BenchmarkFailed

#: A run looks at bytes, which dkms status does not without notes to tell; it must not cost more than that all the same.
IDLE_BOUND = 2.0
BUILD_BOUND = 1.0
KERNELS = 3
_GUEST = Path(__file__).resolve().parent / "guest"


def measure(lab_name: str, release: str, repeat: int) -> Iterator[Figure]:
    """Yield the figures, on a host of their own."""
    take_down(lab_name)
    archived = archived_kernels(release)
    with Lab.from_topology(topology(release, (archived[0], archived[-1])), lab_name) as lab:
        host = KernelHost(lab[HOST], kernels=(archived[0], archived[-1]), release=release)
        host.prepare()
        further = archived[1:-1][: KERNELS - 2]
        if further:
            packages = [f"linux-headers-{kernel}" for kernel in further]
            host.run("apt-get", "update", "-qq")
            host.run("apt-get", "install", "-qqy", "--no-install-recommends", *packages, timeout=600)
        kernels = [archived[0], *further, archived[-1]]
        yield _side_by_side(host, kernels, min(repeat, 3))
        yield _nothing(host, kernels, repeat)


def _nothing(host: KernelHost, kernels: list[str], repeat: int) -> Figure:
    program = f"{FOLDER}/dkms_runs.py"
    host.host.put((_GUEST / "dkms_runs.py").read_bytes(), program)
    order = json.dumps({"arguments": {"name": NAME, "kernels": kernels}, "repeat": repeat})
    output = host.run("env", f"PYTHONPATH={FOLDER}", "python3", program, order, timeout=600)
    found = {name: Sample(tuple(seconds)) for name, seconds in json.loads(output).items()}
    notes = (
        f"one dkms status of one module for {len(kernels)} kernels; imports, {found['start'].median:.2f} s, not counted"
    )
    return Figure("nothing to do", found["ours"], found["theirs"], IDLE_BOUND, notes=notes)


def _side_by_side(host: KernelHost, kernels: list[str], repeat: int) -> Figure:
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    # The key is made once, by neither of them.
    host.done(**host.toy(Toy(), kernels=kernels[:1]))
    for _turn in range(repeat):
        host.start_over()
        host.sh(f"cp -a {host.put_source(Toy())} /usr/src/{NAME}-1.0")
        began = time.monotonic()
        host.dkms("add", "-m", NAME, "-v", "1.0")
        for kernel in kernels:
            host.dkms("install", "-m", NAME, "-v", "1.0", "-k", kernel)
        seconds["theirs"].append(time.monotonic() - began)
        host.start_over()
        options = host.toy(Toy(), kernels=kernels, jobs=2)
        result = host.done(**options)
        if not all(host.is_in_place(kernel, "1.0") for kernel in kernels):
            raise BenchmarkFailed("A kernel does not have what was built for it.")
        seconds["ours"].append(result.seconds)
    samples = {name: Sample(tuple(found)) for name, found in seconds.items()}
    notes = f"{len(kernels)} kernels, jobs: 2, all looked at afterwards; plain dkms one by one"
    return Figure(f"{len(kernels)} kernels", samples["ours"], samples["theirs"], BUILD_BOUND, notes=notes)
