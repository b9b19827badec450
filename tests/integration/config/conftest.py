"""One lab for each release, booted once; every test begins with newly installed daemons."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.integration.config.config_host import ConfigHost
from tests.integration.config.places import EDGE, topology
from tests.integration.config.stage import Stage, lab_name, on_lab, remove_leftovers
from tests.lab import Lab
from tests.lab.recipe import RELEASES

HERE = Path(__file__).parent
KEY = pytest.StashKey[Stage]()


def _turn(item: pytest.Item) -> int:
    """When it is this test's turn: release by release, so that each lab is booted once."""
    callspec = getattr(item, "callspec", None)
    return RELEASES.index(callspec.params["release_stage"]) if callspec else -1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All need the lab."""
    ours = [index for index, item in enumerate(items) if HERE in item.path.parents]
    for index, item in zip(ours, sorted((items[index] for index in ours), key=_turn), strict=True):
        items[index] = item
        item.add_marker(pytest.mark.lab)


@pytest.fixture(scope="session")
def release_stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """Everybody, on hosts of a release."""
    remove_leftovers()
    with Lab.from_topology(topology(request.param), name=lab_name(request.param)) as lab:
        lab[EDGE].wait_booted()
        stage = on_lab(lab)
        stage.prepare()
        yield stage


@pytest.fixture
def stage(release_stage: Stage, request: pytest.FixtureRequest) -> Stage:
    """Everybody, with newly installed daemons on the edge."""
    request.node.stash[KEY] = release_stage
    release_stage.edge.start_over()
    return release_stage


@pytest.fixture
def edge(stage: Stage) -> ConfigHost:
    """The host, with newly installed daemons."""
    return stage.edge


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure what the host looked like."""
    report = yield
    stage = item.stash.get(KEY, None)
    if report.failed and stage is not None and report.when in ("setup", "call"):
        report.sections.append(("the host", stage.edge.evidence()))
    return report
