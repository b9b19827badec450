"""One lab at a time, by release, booted once; every test begins without any module in DKMS."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.kernel.archive import archived_kernels
from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.package_host import Packaging
from tests.integration.kernel.places import HOST, machine_topology, packaging_topology, topology
from tests.integration.kernel.stage import lab_name, packaging_lab_name, remove_leftovers
from tests.lab import Lab
from tests.lab.recipe import RELEASES

HERE = Path(__file__).parent
FRESH = "fresh"
_KINDS = ("builder", "machine", "stand")
KEY = pytest.StashKey[KernelHost]()


def _turn(item: pytest.Item) -> int:
    """When it is this test's turn: release by release, so that each lab is booted once."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    kinds = [kind for kind in _KINDS if kind in params]
    return _KINDS.index(kinds[0]) * len(RELEASES) + RELEASES.index(params[kinds[0]]) if kinds else -1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All need the lab."""
    ours = [index for index, item in enumerate(items) if HERE in item.path.parents]
    for index, item in zip(ours, sorted((items[index] for index in ours), key=_turn), strict=True):
        items[index] = item
        item.add_marker(pytest.mark.lab)


class _Hosts:
    """The host of the release and kind that is tested now; the one before is taken down."""

    def __init__(self) -> None:
        self._lab: Lab | None = None
        self._host: KernelHost | None = None

    def of(self, release: str) -> KernelHost:
        """A host that builds, with two kernels: the oldest and the newest that the archive has."""
        if not self._has(release, "nspawn"):
            kernels = archived_kernels(release)
            self._boot(release, topology(release, (kernels[0], kernels[-1]))).prepare()
        return self._current()

    def machine(self, release: str) -> KernelHost:
        """A host with a kernel of its own, the older one; it is as it was after its first boot."""
        if self._has(release, "qemu"):
            self._current().host.snapshot_load(FRESH)
            return self._current()
        machine = self._boot(release, machine_topology(release, archived_kernels(release)[0]))
        machine.install()
        machine.host.snapshot_save(FRESH)
        return machine

    def _has(self, release: str, kind: str) -> bool:
        return self._host is not None and (self._host.release, self._host.host.kind) == (release, kind)

    def _boot(self, release: str, hosts: dict[str, Any]) -> KernelHost:
        self.down()
        archived = archived_kernels(release)
        self._lab = Lab.from_topology(hosts, name=lab_name(release)).__enter__()
        self._lab[HOST].wait_booted()
        self._host = KernelHost(
            self._lab[HOST], kernels=(archived[0], archived[-1]), archived=archived, release=release
        )
        return self._host

    def _current(self) -> KernelHost:
        assert self._host is not None
        return self._host

    def down(self) -> None:
        """Take the lab down."""
        if self._lab is not None:
            self._lab.__exit__(None, None, None)
        self._lab = self._host = None


@pytest.fixture(scope="session")
def hosts() -> Iterator[_Hosts]:
    """All hosts."""
    remove_leftovers()
    hosts = _Hosts()
    yield hosts
    hosts.down()


@pytest.fixture
def builder(request: pytest.FixtureRequest, hosts: _Hosts) -> KernelHost:
    """A host on which nothing was ever built."""
    host = hosts.of(request.param)
    request.node.stash[KEY] = host
    host.start_over()
    return host


@pytest.fixture
def machine(request: pytest.FixtureRequest, hosts: _Hosts) -> KernelHost:
    """A host with a kernel of its own, the older one of the archive, on which nothing was ever built."""
    host = hosts.machine(request.param)
    request.node.stash[KEY] = host
    host.history.clear()
    return host


@pytest.fixture(scope="module")
def packaging_lab(request: pytest.FixtureRequest) -> Iterator[Packaging]:
    """Hosts that build packages for two kernels of a release, and one that installs them; booted once."""
    remove_leftovers()
    release = request.param
    archived = archived_kernels(release)
    kernels = (archived[0], archived[-1])
    with Lab.from_topology(packaging_topology(release, kernels), name=packaging_lab_name(release)) as lab:
        yield Packaging.of(lab, kernels, release)


@pytest.fixture
def packaging(request: pytest.FixtureRequest, packaging_lab: Packaging) -> Packaging:
    """Hosts on which nothing was ever built."""
    request.node.stash[KEY] = packaging_lab.one
    for builder in (packaging_lab.one, packaging_lab.other):
        builder.start_over()
    return packaging_lab


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure what the host looked like."""
    report = yield
    host = item.stash.get(KEY, None)
    if report.failed and host is not None and report.when in ("setup", "call"):
        report.sections.append(("the host", host.evidence()))
    return report
