"""One lab at a time, for the engine that a test asks for; every test begins with a newly installed Docker host."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from tests.integration.firewall.engines import REPRESENTATIVE, SETTINGS, Engine, Setting
from tests.integration.firewall.stage import Stage, remove_leftovers, stages

HERE = Path(__file__).parent
KEY = pytest.StashKey[Stage]()


def _setting_of(item: pytest.Item) -> Setting | None:
    callspec = getattr(item, "callspec", None)
    setting = callspec.params.get("setting") if callspec else None
    return setting if isinstance(setting, Setting) else None


def _turn(item: pytest.Item) -> int:
    """When it is this test's turn: engine by engine, so that each host is booted once."""
    setting = _setting_of(item)
    return SETTINGS.index(setting) if setting else -1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All need the lab; every setting but one is slow, because it is one of many."""
    ours = [index for index, item in enumerate(items) if HERE in item.path.parents]
    for index, item in zip(ours, sorted((items[index] for index in ours), key=_turn), strict=True):
        items[index] = item
        item.add_marker(pytest.mark.lab)
        setting = _setting_of(item)
        if setting and setting.id != REPRESENTATIVE:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def give_stage() -> Iterator[Callable[[Engine], Stage]]:
    """Hands out the stage for an engine."""
    remove_leftovers()
    with stages() as give:
        yield give


@pytest.fixture
def setting(request: pytest.FixtureRequest) -> Setting:
    """The engine and its setting."""
    chosen: Setting = request.param
    return chosen


@pytest.fixture
def stage(setting: Setting, give_stage: Callable[[Engine], Stage], request: pytest.FixtureRequest) -> Stage:
    """Everybody, with dockerd in this setting and nothing else on its host."""
    given = give_stage(setting.engine)
    request.node.stash[KEY] = given
    given.dock.start_over(setting)
    return given


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure what the host looked like."""
    report = yield
    given = item.stash.get(KEY, None)
    if report.failed and given is not None and report.when in ("setup", "call"):
        report.sections.append(("the host", given.dock.evidence()))
    return report
