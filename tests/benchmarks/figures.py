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
    """One line of the table. ``bound`` limits ``value``: a ratio, or seconds where there is nothing to compare with."""

    name: str
    ours: Sample
    theirs: Sample | None
    bound: float
    notes: str = ""

    @property
    def value(self) -> float:
        """The ratio of the medians, or our own median."""
        return self.ours.median / self.theirs.median if self.theirs else self.ours.median

    @property
    def within(self) -> bool:
        """Whether the bound is kept."""
        return self.value <= self.bound

    def as_dict(self) -> dict[str, Any]:
        """The figure for ``--json``; seconds."""
        return {
            "name": self.name,
            "ours": list(self.ours.seconds),
            "theirs": list(self.theirs.seconds) if self.theirs else None,
            "value": self.value,
            "unit": "ratio" if self.theirs else "seconds",
            "bound": self.bound,
            "within": self.within,
            "notes": self.notes,
        }


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 10 else f"{value:.2f} s" if value >= 0.1 else f"{value * 1000:.1f} ms"


def table(figures: Sequence[Figure]) -> str:
    """The figures for a person."""
    head = ("", "ours: median (range)", "by hand: median (range)", "result", "bound", "", "")
    rows = [head]
    for figure in figures:
        rows.append(
            (
                figure.name,
                figure.ours.text,
                figure.theirs.text if figure.theirs else "",
                f"{figure.value:.2f} x" if figure.theirs else _seconds(figure.value),
                f"{figure.bound:g} x" if figure.theirs else _seconds(figure.bound),
                "within" if figure.within else "OVER",
                figure.notes,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)
