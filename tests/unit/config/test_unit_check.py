# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What systemd says of units; as recorded of systemd 252 and 257, which say the same."""

from __future__ import annotations

from collections.abc import Container, Sequence

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.check import CheckFailed, Moment
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.unit import UnitCheck, main_pid
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import CommandError, Runner

RUNNING = "MainPID=77\nResult=success\nActiveState=active\nSubState=running\n"
EXITED = "MainPID=0\nResult=success\nActiveState=active\nSubState=exited\n"
FAILED = "MainPID=0\nResult=exit-code\nActiveState=failed\nSubState=failed\n"
RESTARTING = "MainPID=0\nResult=success\nActiveState=activating\nSubState=auto-restart\n"
ABSENT = "MainPID=0\nResult=success\nActiveState=inactive\nSubState=dead\n"
SOCKET = "Result=success\nActiveState=active\nSubState=listening\n"


class Systemd(Runner):
    """Answers with one text, or not."""

    def __init__(self, answer: str | CommandError) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[tuple[tuple[str, ...], float | None]] = []

    def run(
        self,
        argv: Sequence[str],
        accept: Container[int] = (0,),
        data: bytes | None = None,
        timeout: float | None = None,
        tied: bool = False,
    ) -> str:
        if isinstance(self.answer, CommandError):
            raise self.answer
        self.asked.append((tuple(argv), timeout))
        assert not tied
        return self.answer if 0 in accept and data is None else ""


@pytest.mark.parametrize("answer", [RUNNING, EXITED, SOCKET])
def test_what_is_active_passes(answer: str) -> None:
    systemd = Systemd(answer)
    UnitCheck("haproxy.service").probe(Moment(systemd, 5))
    properties = "--property=ActiveState,SubState,MainPID,Result"
    assert systemd.asked == [(("systemctl", "show", properties, "--", "haproxy.service"), 5)]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (FAILED, "it is failed (failed) with the result 'exit-code'"),
        (RESTARTING, "it is activating (auto-restart)"),
        (ABSENT, "it is inactive (dead)"),
        ("", "it is unknown (unknown)"),
    ],
)
def test_what_is_not_active_is_told(answer: str, words: str) -> None:
    with pytest.raises(CheckFailed) as failed:
        UnitCheck("haproxy.service").probe(Moment(Systemd(answer), 5))
    assert str(failed.value) == words


def test_the_main_process_is_the_one_that_it_was() -> None:
    UnitCheck("haproxy.service").probe(Moment(Systemd(RUNNING), 5, main_pids={"haproxy.service": 77, "bird": 3}))


def test_a_service_that_was_started_again_is_told() -> None:
    with pytest.raises(CheckFailed, match="it died and was started again: its main process was 76 and is 77"):
        UnitCheck("haproxy.service").probe(Moment(Systemd(RUNNING), 5, main_pids={"haproxy.service": 76}))


def test_a_service_that_lost_its_main_process_is_told() -> None:
    with pytest.raises(CheckFailed, match="its main process 76 has ended"):
        UnitCheck("haproxy.service").probe(Moment(Systemd(EXITED), 5, main_pids={"haproxy.service": 76}))


def test_a_systemd_that_does_not_answer_is_told() -> None:
    late = CommandError(("systemctl", "show"), 124, "", "(killed after 5 s)")
    with pytest.raises(CheckFailed, match=r"systemd does not tell how it is: .*killed after 5 s"):
        UnitCheck("haproxy.service").probe(Moment(Systemd(late), 5))


def test_main_processes_are_asked_for() -> None:
    assert main_pid("haproxy.service", Systemd(RUNNING)) == 77
    assert main_pid("one.service", Systemd(EXITED)) == 0
    assert main_pid("ssh.socket", Systemd(SOCKET)) == 0
