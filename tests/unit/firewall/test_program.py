# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The watcher's program runs without the collection."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.service.program import MODULES, program
from tests.conftest import ROOT

UTILS = ROOT / "plugins" / "module_utils"


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


def imported(path: Path, seen: set[Path]) -> set[Path]:
    """The files of module_utils that a file imports, and so on; as Ansible finds what it sends to a host."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
        for file in (folder.with_suffix(".py"), *(folder / f"{name.name}.py" for name in node.names)):
            if file.is_file() and file not in seen:
                seen.add(file)
                imported(file, seen)
    return seen


def test_ansible_sends_every_module_that_the_program_is_made_of() -> None:
    sent = imported(ROOT / "plugins" / "modules" / "docker_firewall.py", set())
    own = {UTILS / name for name in MODULES if not name.endswith("__init__.py")}
    assert own - sent == set()


def test_the_program_has_every_module_that_it_imports() -> None:
    needed = imported(UTILS / "_firewall" / "service" / "on_host.py", set())
    assert {str(path.relative_to(UTILS)) for path in needed} - set(MODULES) == set()
