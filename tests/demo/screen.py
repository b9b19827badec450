"""What the person at the terminal sees: plain text, colours and a moving line on a terminal only."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from typing import TextIO

WIDTH = 100
BOLD, DIM, GREEN, RED = "1", "2", "32", "31"
INDENT = "   "
#: Where lines cannot be overwritten, one is printed for so many percent.
COARSE_PERCENT = 25


class Screen:
    """Prints; keeps at most one line that is overwritten by the next."""

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._colours = self._terminal and "NO_COLOR" not in os.environ
        self._moving = False
        self._shown: dict[str, int] = {}

    def _paint(self, text: str, colour: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours and text else text

    def say(self, text: str = "", colour: str = "") -> None:
        """Print lines."""
        self._clear()
        self._stream.write((self._paint(text, colour) if colour else text) + "\n")
        self._stream.flush()

    def title(self, text: str) -> None:
        """Print the headline of everything."""
        self.say(text, BOLD)
        self.say("=" * len(text), BOLD)
        self.say()

    def heading(self, text: str) -> None:
        """Print the headline of a step."""
        self._shown.clear()
        self.say()
        self.say(text, BOLD)
        self.say()

    def paragraph(self, text: str) -> None:
        """Print prose, broken into lines."""
        self.say(textwrap.fill(" ".join(text.split()), WIDTH, initial_indent=INDENT, subsequent_indent=INDENT))

    def block(self, text: str, colour: str = "") -> None:
        """Print lines as they are, indented."""
        for line in text.rstrip("\n").splitlines():
            self.say(f"{INDENT}{line}".rstrip(), colour)

    def command(self, text: str) -> None:
        """Print a command that a person can repeat."""
        self.say(f"{INDENT}$ {text}", BOLD)

    def good(self, text: str) -> None:
        """Print something that was checked and is right."""
        self.say(f"{INDENT}{self._paint('ok', GREEN)}  {text}")

    def note(self, text: str) -> None:
        """Print something that the person should know."""
        self.say(f"{INDENT}{self._paint('--', DIM)}  {text}")

    def bad(self, text: str) -> None:
        """Print what went wrong."""
        self.say(self._paint(text, RED))

    def moving(self, what: str, gauge: str, percent: float) -> None:
        """Show progress: overwritten on a terminal, else a line now and then."""
        if self._terminal:
            self._move(f"{INDENT}... {what} {gauge} {percent:.0f} %")
            return
        step = int(percent) // COARSE_PERCENT
        if self._shown.get(what) != step:
            self._shown[what] = step
            self.say(f"{INDENT}... {what} {gauge} {percent:.0f} %")

    def waiting(self, since: float, what: str) -> None:
        """Show that something is still at work; only where the line can be overwritten."""
        if self._terminal:
            self._move(f"{INDENT}... {time.monotonic() - since:.0f} s{f', {what}' if what else ''}")

    def _move(self, text: str) -> None:
        self._stream.write("\r\x1b[K" + self._paint(text[: WIDTH - 1], DIM))
        self._stream.flush()
        self._moving = True

    def _clear(self) -> None:
        if self._moving:
            self._stream.write("\r\x1b[K")
            self._moving = False
