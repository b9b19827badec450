from __future__ import annotations

import io

import pytest

from tests.demo.screen import Screen


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_a_file_gets_neither_colours_nor_control_characters() -> None:
    stream = io.StringIO()
    screen = Screen(stream)
    screen.title("Title")
    screen.good("done")
    screen.moving("data-0 rebuilds", "[##..]", 50)
    screen.waiting(0, "mdadm works")
    assert "\x1b" not in stream.getvalue()
    assert "\r" not in stream.getvalue()


def test_a_file_gets_progress_now_and_then() -> None:
    stream = io.StringIO()
    screen = Screen(stream)
    for percent in range(101):
        screen.moving("data-0 rebuilds", "", percent)
    assert stream.getvalue().count("\n") == 5


def test_on_a_terminal_the_moving_line_is_gone_before_the_next_text() -> None:
    stream = Terminal()
    screen = Screen(stream)
    screen.moving("data-0 rebuilds", "[##..]", 50)
    screen.say("done")
    assert stream.getvalue().endswith("\r\x1b[Kdone\n")


def test_colours_can_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    Screen(stream).good("done")
    assert "\x1b[32m" not in stream.getvalue()
