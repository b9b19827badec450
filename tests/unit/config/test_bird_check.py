# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When BIRD runs as it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.bird import BirdCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.check import CheckFailed, Moment
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from tests.unit.config.replay import BIRD_VERSIONS, bird, replayed

GREETING = "0001 BIRD ready.\n"

every_version = pytest.mark.parametrize("version", BIRD_VERSIONS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bird.ctl"


@every_version
def test_without_protocols_an_answer_is_enough(version: str, path: Path) -> None:
    with replayed(path, [bird(version, "status")[1]], GREETING) as daemon:
        BirdCheck(daemon.path).probe(Moment(Runner(), 5))
        assert daemon.heard == ["show status"]


@pytest.mark.parametrize("version", ["2.17.6", "3.1.8"])
def test_protocols_that_are_up_pass(version: str, path: Path) -> None:
    with replayed(path, [bird(version, "status")[1], bird(version, "protocols")[1]], GREETING) as daemon:
        BirdCheck(daemon.path, ("up", "kernel1")).probe(Moment(Runner(), 5))


@every_version
def test_each_protocol_that_is_not_up_is_named(version: str, path: Path) -> None:
    with (
        replayed(path, [bird(version, "status")[1], bird(version, "protocols")[1]], GREETING) as daemon,
        pytest.raises(CheckFailed) as failed,
    ):
        BirdCheck(daemon.path, ("silent", "kernel1", "resting", "absent")).probe(Moment(Runner(), 5))
    silent, resting, absent = str(failed.value).split("; ")
    assert silent.startswith("protocol 'silent' is in the state 'start' since ")
    assert " Active Socket: " in silent
    assert resting.startswith("protocol 'resting' is in the state 'down' since ")
    assert absent == "there is no protocol 'absent'"


@every_version
def test_a_reconfiguration_under_way_is_not_yet_right(version: str, path: Path) -> None:
    with (
        replayed(path, [bird(version, "shrink")[2]], GREETING) as daemon,
        pytest.raises(CheckFailed, match="BIRD says 'Reconfiguration in progress'"),
    ):
        BirdCheck(daemon.path).probe(Moment(Runner(), 5))


def test_a_shutdown_is_told(path: Path) -> None:
    with (
        replayed(path, [bird("2.17.6", "down")[2]], GREETING) as daemon,
        pytest.raises(CheckFailed, match="BIRD says 'Shutdown in progress'"),
    ):
        BirdCheck(daemon.path).probe(Moment(Runner(), 5))


def test_what_does_not_answer_fails(path: Path) -> None:
    check = BirdCheck(str(path), ("up",))
    assert check.title == f"bird {path} with up"
    with pytest.raises(CheckFailed, match="does not exist; BIRD may not run"):
        check.probe(Moment(Runner(), 5))
