"""One lab for each release, booted once; every test begins without any module in DKMS."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.integration.kernel.archive import archived_kernels
from tests.integration.kernel.kernel_host import KernelHost
from tests.integration.kernel.package_host import Packaging
from tests.integration.kernel.places import HOST, packaging_topology, topology
from tests.integration.kernel.stage import lab_name, packaging_lab_name, remove_leftovers
from tests.lab import Lab
from tests.lab.recipe import RELEASES

HERE = Path(__file__).parent
KEY = pytest.StashKey[KernelHost]()


def _turn(item: pytest.Item) -> int:
    """When it is this test's turn: release by release, so that each lab is booted once."""
    callspec = getattr(item, "callspec", None)
    return RELEASES.index(callspec.params["builder"]) if callspec and "builder" in callspec.params else -1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All need the lab."""
    ours = [index for index, item in enumerate(items) if HERE in item.path.parents]
    for index, item in zip(ours, sorted((items[index] for index in ours), key=_turn), strict=True):
        items[index] = item
        item.add_marker(pytest.mark.lab)


class _Hosts:
    """The host of the release that is tested now; the one before is taken down."""

    def __init__(self) -> None:
        self._lab: Lab | None = None
        self._host: KernelHost | None = None

    def of(self, release: str) -> KernelHost:
        """The host of a release, with its two kernels: the oldest and the newest that the archive has."""
        if self._host is None or self._host.release != release:
            self.down()
            archived = archived_kernels(release)
            kernels = (archived[0], archived[-1])
            self._lab = Lab.from_topology(topology(release, kernels), name=lab_name(release)).__enter__()
            self._lab[HOST].wait_booted()
            self._host = KernelHost(self._lab[HOST], kernels=kernels, archived=archived, release=release)
            self._host.prepare()
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
