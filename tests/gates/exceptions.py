"""Finds the files and comments with which a gate could be told to look away, and fails when there are any.

A Python comment that names the one rule it is about and the reason stays possible: reviews can judge that.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from . import snapshot
from .part import ROOT

_IGNORE_FILES = re.compile(r"tests/sanity/ignore-.*\.txt|\.ansible-lint-ignore|\.config/ansible-lint-ignore\.txt")
_YAML_COMMENT = re.compile(r"#\s*(noqa|yamllint\s+disable)\b")
_LINT_SETTING = re.compile(r"^(skip_list|warn_list|exclude_paths|mock_modules|mock_roles)\s*:")
_PYTHON_COMMENT = re.compile(r"#\s*(pylint:\s*disable|fmt:\s*(off|skip)|ruff:\s*noqa|mypy:\s*ignore)")


def find(checkout: Path) -> list[str]:
    """Return a line for each exception in the checkout: where it is, and what it is."""
    found = []
    for name in sorted(snapshot.tracked_files(checkout)):
        if _IGNORE_FILES.fullmatch(str(name)):
            found.append(f"{name}: lists exceptions")
            continue
        pattern = _pattern_for(name)
        path = checkout / name
        # This file and its tests spell out what they look for.
        if pattern is None or name.stem in ("exceptions", "test_exceptions") or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := pattern.search(line):
                found.append(f"{name}:{number}: {match.group()}")
    return found


def _pattern_for(name: Path) -> re.Pattern[str] | None:
    if name.name == ".ansible-lint":
        return _LINT_SETTING
    return {".py": _PYTHON_COMMENT, ".yml": _YAML_COMMENT, ".yaml": _YAML_COMMENT}.get(name.suffix)


if __name__ == "__main__":
    exceptions = find(ROOT)
    print("\n".join(exceptions))
    sys.exit(bool(exceptions))
