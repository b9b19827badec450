"""What modules return has names that Ansible does not take for its own."""

# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
MODULES = sorted((ROOT / "plugins" / "modules").glob("*.py"))
#: A task with one of these is taken for skipped, failed, or one with a loop, or what is returned becomes facts.
RESERVED = {
    "ansible_facts",
    "attempts",
    "exception",
    "failed",
    "failed_when_result",
    "finished",
    "invocation",
    "rc",
    "results",
    "retries",
    "skipped",
    "started",
    "unreachable",
}


def returned(module: Path) -> dict[str, Any]:
    """The documentation of what a module returns."""
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "RETURN":
            found: dict[str, Any] = yaml.safe_load(ast.literal_eval(node.value))
            return found
    raise AssertionError(f"{module.name} does not tell what it returns")


def test_there_are_modules() -> None:
    assert "kernel_module_package" in {module.stem for module in MODULES}


@pytest.mark.parametrize("module", MODULES, ids=[module.stem for module in MODULES])
def test_no_value_has_a_name_that_means_something_to_ansible(module: Path) -> None:
    assert not RESERVED & set(returned(module))
