# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The watcher's program runs without the collection."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.program import program


def test_the_same_sources_give_the_same_bytes() -> None:
    assert program() == program()


def test_it_runs_alone_and_says_once_that_docker_is_silent(tmp_path: Path) -> None:
    path = tmp_path / "watch.pyz"
    path.write_bytes(program())
    socket = tmp_path / "docker.sock"
    argv = [sys.executable, "-I", "-S", str(path), "watch", str(socket)]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, cwd=tmp_path, text=True) as watcher:
        assert watcher.stderr is not None
        line = watcher.stderr.readline()
        watcher.terminate()
    assert line.startswith(f"Docker does not answer on {socket}: ")
