"""One lab with a router of each release, booted once; and guests with kernels of their own, one at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.integration.kernel_benchmark.benchmark_host import BenchmarkHost
from tests.integration.kernel_benchmark.guest import Guest
from tests.integration.kernel_benchmark.places import BOOT_SECONDS, GUEST, guest_topology, topology
from tests.lab import Lab, take_down
from tests.lab.lab import lab_names
from tests.lab.recipe import RELEASES

HERE = Path(__file__).parent
LAB = "kbench-proof"
KEY = pytest.StashKey[BenchmarkHost]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All need the lab."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.lab)


def _remove_leftovers() -> None:
    for name in lab_names():
        match = re.fullmatch(r"kbench-[a-z-]+-(\d+)", name)
        if match and not Path(f"/proc/{match[1]}").exists():
            take_down(name)


@pytest.fixture(scope="session")
def routers() -> Iterator[dict[str, BenchmarkHost]]:
    """A router of each release, with what it needs to run the module."""
    _remove_leftovers()
    with Lab.from_topology(topology(), name=f"{LAB}-{os.getpid()}") as lab:
        hosts = {release: BenchmarkHost(lab[release]) for release in RELEASES}
        for host in hosts.values():
            host.install()
        yield hosts


@pytest.fixture
def router(routers: dict[str, BenchmarkHost], request: pytest.FixtureRequest) -> BenchmarkHost:
    """The router of a release, as after its start."""
    host = routers[request.param]
    request.node.stash[KEY] = host
    host.start_over()
    return host


@pytest.fixture(scope="session")
def guest(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """A host with the kernel of a release, on which the role has put the kernel module in place."""
    _remove_leftovers()
    release = request.param
    with Lab.from_topology(guest_topology(release), name=f"kbench-guest-{release}-{os.getpid()}") as lab:
        lab[GUEST].wait_booted(BOOT_SECONDS)
        guest = Guest(lab[GUEST], lab=lab, folder=tmp_path_factory.mktemp(release), release=release)
        guest.install()
        guest.complaints_before = guest.complaints()
        guest.equip()
        yield guest


@pytest.fixture
def machine(guest: Guest, request: pytest.FixtureRequest) -> Iterator[Guest]:
    """The guest, whose kernel must have nothing to complain of after the test."""
    request.node.stash[KEY] = guest
    guest.history.clear()
    guest.last = None
    yield guest
    assert guest.complaints() == guest.complaints_before
    assert guest.taints() == 0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure what the host looked like."""
    report = yield
    host = item.stash.get(KEY, None)
    if report.failed and host is not None and report.when in ("setup", "call"):
        report.sections.append(("the host", host.evidence()))
    return report
