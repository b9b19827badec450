from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.gates import exceptions


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests/sanity/ignore-2.19.txt", ""),
        (".ansible-lint-ignore", ""),
        (".ansible-lint", "skip_list:\n  - yaml\n"),
        ("roles/a/tasks/main.yml", "- name: X # noqa: name[casing]\n"),
        ("plugins/modules/a.py", "x = 1  # pylint: disable=invalid-name\n"),
        ("plugins/modules/a.py", "# ruff: noqa\n"),
    ],
)
def test_what_makes_a_gate_look_away_is_found(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (line,) = exceptions.find(tmp_path)
    assert line.startswith(name)


def test_one_rule_named_in_python_is_left_to_the_review(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import x  # type: ignore[import-untyped]  # x has no stubs\n")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    assert exceptions.find(tmp_path) == []
