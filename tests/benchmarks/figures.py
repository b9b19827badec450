"""Figures and the table they are printed in. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Sample:
    """Repeated measurements of one thing, in seconds."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    @property
    def text(self) -> str:
        """Median, and smallest and largest."""
        return f"{_seconds(self.median)} ({_seconds(min(self.seconds))} to {_seconds(max(self.seconds))})"


@dataclass(frozen=True)
class Figure:
    """One line of the table. ``bound`` limits ``value``: a ratio, or seconds where there is nothing to compare with.

    ``start`` is the part of our time that goes by before the module's own code runs: Python, Ansible, imports.
    """

    name: str
    ours: Sample
    theirs: Sample | None
    bound: float
    start: Sample | None = None
    notes: str = ""

    @property
    def value(self) -> float:
        """The ratio of the medians, or our own median."""
        return self.ours.median / self.theirs.median if self.theirs else self.ours.median

    @property
    def value_without_start(self) -> float | None:
        """The ratio that our own code is answerable for."""
        if self.theirs is None or self.start is None:
            return None
        return (self.ours.median - self.start.median) / self.theirs.median

    @property
    def within(self) -> bool:
        """Whether the bound is kept."""
        return self.value <= self.bound

    def as_dict(self) -> dict[str, Any]:
        """The figure for ``--json``; times in seconds."""
        return {
            "name": self.name,
            "ours": list(self.ours.seconds),
            "start": list(self.start.seconds) if self.start else None,
            "theirs": list(self.theirs.seconds) if self.theirs else None,
            "value": self.value,
            "value_without_start": self.value_without_start,
            "unit": "ratio" if self.theirs else "seconds",
            "bound": self.bound,
            "within": self.within,
            "notes": self.notes,
        }


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.1f} ms"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} x"


COMPARED = (
    "",
    "ours: median (range)",
    "start of it",
    "by hand: median (range)",
    "ratio",
    "less start",
    "bound",
    "",
    "",
)
ALONE = ("", "ours: median (range)", "bound", "", "")


def _compared(figure: Figure, theirs: Sample) -> tuple[str, ...]:
    return (
        figure.name,
        figure.ours.text,
        _seconds(figure.start.median) if figure.start else "",
        theirs.text,
        _ratio(figure.value),
        _ratio(figure.value_without_start),
        f"{figure.bound:g} x",
        "within" if figure.within else "OVER",
        figure.notes,
    )


def _alone(figure: Figure) -> tuple[str, ...]:
    verdict = "within" if figure.within else "OVER"
    return (figure.name, figure.ours.text, _seconds(figure.bound), verdict, figure.notes)


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def table(figures: Sequence[Figure]) -> str:
    """The figures for a person: those that stand alone, then those that are compared."""
    alone = [_alone(figure) for figure in figures if figure.theirs is None]
    compared = [_compared(figure, figure.theirs) for figure in figures if figure.theirs is not None]
    return "\n\n".join(_table([head, *rows]) for head, rows in ((ALONE, alone), (COMPARED, compared)) if rows)
