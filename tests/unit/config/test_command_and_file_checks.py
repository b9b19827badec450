# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Commands that end well, and files that are there."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.check import CheckFailed, Moment
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.command import CommandCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.file import FIRST_MIB, FileCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner


def moment(seconds: float = 10) -> Moment:
    return Moment(Runner(), seconds)


def test_a_command_that_ends_with_0_passes() -> None:
    CommandCheck(("true",)).probe(moment())


def test_a_command_that_fails_is_quoted() -> None:
    with pytest.raises(CheckFailed, match="exit status 3: the peer is down"):
        CommandCheck(("sh", "-c", "echo the peer is down >&2; exit 3")).probe(moment())


def test_a_command_that_is_not_there_is_told() -> None:
    with pytest.raises(CheckFailed, match="No such file or directory"):
        CommandCheck(("/nowhere/at-all",)).probe(moment())


def test_a_command_that_does_not_end_is_killed() -> None:
    began = time.monotonic()
    with pytest.raises(CheckFailed, match="exit status 124"):
        CommandCheck(("sleep", "30")).probe(moment(0.3))
    assert time.monotonic() - began < 10


def test_a_file_that_is_there_passes(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("MASTER\n")
    FileCheck(str(path)).probe(moment())
    FileCheck(str(path), "MASTER").probe(moment())
    with pytest.raises(CheckFailed, match="it does not have the text 'BACKUP'"):
        FileCheck(str(path), "BACKUP").probe(moment())


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match="it does not exist"):
        FileCheck(str(tmp_path / "state")).probe(moment())


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match="it cannot be read: Is a directory"):
        FileCheck(str(tmp_path)).probe(moment())
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckFailed, match="no regular file"):
        FileCheck(str(tmp_path / "pipe")).probe(moment())


def test_the_first_mib_of_a_file_is_searched(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"." * (FIRST_MIB - 3) + b"end" + b"late")
    FileCheck(str(path), "end").probe(moment())
    with pytest.raises(CheckFailed, match="does not have the text"):
        FileCheck(str(path), "late").probe(moment())
