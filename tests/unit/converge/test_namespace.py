# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Namespaces of one's own: what is done in them is seen inside, and gone after."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.namespace import (
    bind,
    mount,
    throw_away_mounts,
    throw_away_network,
)

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="makes namespaces")


def mounted() -> str:
    return Path("/proc/self/mountinfo").read_text()


def test_mounts_are_seen_by_commands_inside_and_vanish(tmp_path: Path) -> None:
    before, folder = mounted(), os.getcwd()
    with throw_away_mounts():
        mount("tmpfs", str(tmp_path), "size=64k")
        (tmp_path / "inside").write_text("x")
        assert subprocess.run(["ls", str(tmp_path)], capture_output=True, text=True, check=True).stdout == "inside\n"
        other = tmp_path / "other"
        other.mkdir()
        bind("/proc", str(other))
        assert (other / "self").exists()
        assert str(tmp_path) not in Path("/proc/1/mountinfo").read_text()
    assert list(tmp_path.iterdir()) == []
    assert (mounted(), os.getcwd()) == (before, folder)


def test_mounts_vanish_also_when_one_fails(tmp_path: Path) -> None:
    before = mounted()
    with throw_away_mounts():
        mount("tmpfs", str(tmp_path))
        with pytest.raises(OSError, match="mount"):
            mount("no-such-kind", str(tmp_path))
    assert mounted() == before


def test_a_network_is_empty_and_left_again() -> None:
    before = os.readlink("/proc/self/ns/net")
    with throw_away_network():
        listed = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
        assert [line.split()[0] for line in listed.splitlines()] == ["lo"]
    assert os.readlink("/proc/self/ns/net") == before
