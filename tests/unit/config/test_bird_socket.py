# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is made of BIRD's replies, over a real socket."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.daemons.bird import (
    Activity,
    BirdRefused,
    ask,
    await_settled,
    check_configuration,
    configure,
    confirm,
    protocols,
    reconfigure,
    status,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._config.daemons.control_socket import NoAnswer
from tests.unit.config.replay import BIRD_VERSIONS, bird, replayed, replayed_bird

every_version = pytest.mark.parametrize("version", BIRD_VERSIONS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bird.ctl"


@every_version
def test_commands_are_said_after_the_greeting(version: str, path: Path) -> None:
    with replayed_bird(path, (version, "protocols")) as daemon:
        assert "silent" in {each.name for each in protocols(daemon.path, 5)}
        assert daemon.heard == ["show protocols"]


@every_version
def test_a_good_configuration_passes_the_check(version: str, path: Path) -> None:
    with replayed_bird(path, (version, "check good")) as daemon:
        check_configuration(daemon.path, 5)
        assert daemon.heard == ["configure check"]


@every_version
def test_a_mistake_is_told_with_its_place(version: str, path: Path) -> None:
    with replayed_bird(path, (version, "check bad"), (version, "timeout bad"), (version, "bad include")) as daemon:
        with pytest.raises(BirdRefused, match=r"'configure check' with: /etc/bird/bird.conf:8:10 syntax error"):
            check_configuration(daemon.path, 5)
        with pytest.raises(BirdRefused, match=r"/etc/bird/bird.conf:8:10 syntax error") as refused:
            configure(daemon.path, 30, 5)
        assert refused.value.code == 8002
        with pytest.raises(BirdRefused, match=r"/etc/bird/sub.conf:3:"):
            check_configuration(daemon.path, 5)


@every_version
def test_a_configuration_that_cannot_be_read_is_refused(version: str, path: Path) -> None:
    with replayed_bird(path, (version, "file missing"), (version, "include missing")) as daemon:
        with pytest.raises(BirdRefused, match="No such file or directory") as refused:
            check_configuration(daemon.path, 5)
        assert refused.value.code == 8002
        with pytest.raises(BirdRefused, match=r"/etc/bird/bird.conf:8:.*Unable to open included file"):
            check_configuration(daemon.path, 5)


@every_version
def test_a_configuration_that_is_done_in_progress_or_queued_was_taken(version: str, path: Path) -> None:
    replies = [bird(version, "timeout expire")[1], bird(version, "timeout")[1], bird(version, "shrink")[4]]
    with replayed(path, replies, greeting="0001 BIRD ready.\n") as daemon:
        configure(daemon.path, 2, 5)
        configure(daemon.path, 3, 5)
        configure(daemon.path, 60, 5)
        assert daemon.heard == ["configure timeout 2", "configure timeout 3", "configure timeout 60"]


@every_version
def test_a_configuration_can_be_asked_for_without_a_time_limit(version: str, path: Path) -> None:
    with replayed_bird(path, (version, "configure")) as daemon:
        reconfigure(daemon.path, 5)
        assert daemon.heard == ["configure"]


@every_version
def test_a_confirmation_tells_whether_something_waited_for_it(version: str, path: Path) -> None:
    replies = [*bird(version, "timeout")[2:], bird(version, "confirm after expiry")[1]]
    with replayed(path, replies, greeting="0001 BIRD ready.\n") as daemon:
        assert confirm(daemon.path, 5)
        assert not confirm(daemon.path, 5)
        assert not confirm(daemon.path, 5)
        assert daemon.heard == ["configure confirm"] * 3


@pytest.mark.parametrize("version", ["2.0.12", "2.17.6"])
def test_what_shuts_down_takes_no_configuration(version: str, path: Path) -> None:
    with (
        replayed(path, [bird(version, "down")[3]], greeting="0001 BIRD ready.\n") as daemon,
        pytest.raises(BirdRefused, match="Reconfiguration ignored, shutting down") as refused,
    ):
        configure(daemon.path, 30, 5)
    assert refused.value.code == 6


@every_version
def test_a_reconfiguration_under_way_is_waited_for(version: str, path: Path) -> None:
    under_way, done = bird(version, "shrink")[2], bird(version, "status")[1]
    with replayed(path, [under_way, under_way, done], greeting="0001 BIRD ready.\n") as daemon:
        assert await_settled(daemon.path, 5).activity is Activity.RUNNING
        assert daemon.heard == ["show status"] * 3


def test_a_reconfiguration_that_does_not_end_is_not_waited_for_without_end(path: Path) -> None:
    with (
        replayed(path, [bird("2.17.6", "shrink")[2]], greeting="0001 BIRD ready.\n") as daemon,
        pytest.raises(BirdRefused, match=r"Reconfiguration in progress, which did not end within 0.3 s"),
    ):
        await_settled(daemon.path, 0.3)


def test_a_command_that_it_does_not_know_is_an_error(path: Path) -> None:
    with (
        replayed_bird(path, ("2.0.12", "nonsense")) as daemon,
        pytest.raises(BirdRefused, match="syntax error, unexpected CF_SYM_UNDEFINED"),
    ):
        status(daemon.path, 5)


def test_a_missing_socket_is_told(path: Path) -> None:
    with pytest.raises(NoAnswer, match=r"bird.ctl does not exist; BIRD may not run"):
        status(str(path), 5)


def test_a_socket_that_nobody_listens_at_is_told(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with pytest.raises(NoAnswer, match="nobody listens at BIRD's socket"):
        status(str(path), 5)


def test_silence_ends_when_the_time_is_up(path: Path) -> None:
    began = time.monotonic()
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(path))
        mute.listen()
        with pytest.raises(NoAnswer, match=r"does not answer over .*bird.ctl within 0.3 s"):
            status(str(path), 0.3)
    assert time.monotonic() - began < 3


def test_an_answer_that_breaks_off_is_told(path: Path) -> None:
    with (
        replayed(path, ["1000-BIRD 2.0.12\n"], greeting="0001 BIRD ready.\n", closes=True) as daemon,
        pytest.raises(NoAnswer, match="closed the connection"),
    ):
        status(daemon.path, 5)


def test_somebody_else_at_the_socket_is_told(path: Path) -> None:
    with (
        replayed(path, ["what?\n0000 \n"], greeting="0001 BIRD ready.\n") as daemon,
        pytest.raises(BirdRefused, match="no reply of BIRD: what"),
    ):
        ask(daemon.path, "show status", 5)
