"""Shows, at the end of a test run, which acceptance lines were proved.

A test that holds a line of an area's acceptance list says so::

    @pytest.mark.proof(area="storage", line=1, title="The pool grows disk by disk and loses nothing")

A test may hold several lines. Several tests may hold one line, and so may the variants of a parametrized test: each has
its row. A line whose test was skipped was not proved, and fails the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

_ORDER = ("failed", "skipped", "passed")


@dataclass(frozen=True)
class Line:
    """An acceptance line as a test names it; ``variant`` tells the parametrized runs of one test apart."""

    area: str
    number: int
    title: str
    variant: str = ""


@dataclass(frozen=True)
class Row:
    line: Line
    outcome: str
    seconds: float


def read_marker(area: object, line: object, title: object) -> Line:
    """Return the line that the arguments of a marker name; its signature is the marker's."""
    if not (isinstance(area, str) and area and isinstance(line, int) and isinstance(title, str) and title):
        raise TypeError("area and title are texts and line is a number")
    return Line(area, line, title)


def render(rows: Iterable[Row]) -> list[str]:
    """Return the table, sorted by area and line, one text for each line of it."""
    ordered = sorted(rows, key=lambda row: (row.line.area, row.line.number, row.line.title, row.line.variant))
    texts = [f"{row.line.title} [{row.line.variant}]" if row.line.variant else row.line.title for row in ordered]
    area_width = max([len("area"), *(len(row.line.area) for row in ordered)])
    title_width = max([len("it must hold"), *(len(text) for text in texts)])
    lines = [f"{'area':<{area_width}}  line  {'it must hold':<{title_width}}  result   seconds"]
    for row, text in zip(ordered, texts, strict=True):
        lines.append(
            f"{row.line.area:<{area_width}}  {row.line.number:>4}  {text:<{title_width}}"
            f"  {row.outcome:<7}  {row.seconds:7.1f}"
        )
    return lines


class ProofTable:
    """The pytest plugin: collects the lines, follows their tests, prints the table.

    With an ``area`` only the tests run that hold a line of it, wherever they stand.
    """

    def __init__(self, area: str = "") -> None:
        self._area = area
        self._lines: dict[str, list[Line]] = {}
        self._outcomes: dict[str, str] = {}
        self._seconds: dict[str, float] = {}
        self._called: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        for item in items:
            callspec = getattr(item, "callspec", None)
            variant = callspec.id if callspec else ""
            for marker in item.iter_markers("proof"):
                try:
                    line = read_marker(*marker.args, **marker.kwargs)
                except TypeError as error:
                    raise pytest.UsageError(f"{item.nodeid}: @pytest.mark.proof(area, line, title): {error}") from error
                named = Line(line.area, line.number, line.title, variant)
                self._lines.setdefault(item.nodeid, []).append(named)
        if self._area:
            self._keep_area(config, items)

    def _keep_area(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        areas = {line.area for lines in self._lines.values() for line in lines}
        if self._area not in areas:
            raise pytest.UsageError(f"No acceptance line is of the area '{self._area}'; areas: {sorted(areas)}")
        self._lines = {
            nodeid: lines for nodeid, lines in self._lines.items() if any(line.area == self._area for line in lines)
        }
        others = [item for item in items if item.nodeid not in self._lines]
        items[:] = [item for item in items if item.nodeid in self._lines]
        config.hook.pytest_deselected(items=others)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.nodeid not in self._lines:
            return
        # Setting up and taking down hosts is most of the time, and both can fail.
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.when == "call":
            self._called.add(report.nodeid)
        worst = min(self._outcomes.get(report.nodeid, "passed"), report.outcome, key=_ORDER.index)
        self._outcomes[report.nodeid] = worst

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.OK and "skipped" in self._outcomes.values():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _result(self, nodeid: str) -> str:
        """Return how a test ended. One that was set up and then interrupted has proved nothing."""
        outcome = self._outcomes.get(nodeid, "passed")
        return "not run" if outcome == "passed" and nodeid not in self._called else outcome

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        rows = [
            Row(line, self._result(nodeid), self._seconds.get(nodeid, 0.0))
            for nodeid, lines in self._lines.items()
            for line in lines
        ]
        if rows:
            terminalreporter.write_sep("=", "acceptance lines")
            for text in render(rows):
                terminalreporter.write_line(text)
