"""The static gates. None of them skips or ignores anything."""

from __future__ import annotations

import fcntl
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from . import sanity, snapshot
from .part import CACHE, ROOT, Part

TREE = CACHE / "tree"

# The importer and antsibull's tools print what is wrong and exit with 0.
_LOGGED_TROUBLE = re.compile(r"^(WARNING|ERROR|CRITICAL)\b", re.MULTILINE)

_NOTHING_TESTED = re.compile(r"All targets skipped")


def hold_lock(path: Path) -> int:
    """Wait until no other lint uses the copy of the checkout; the lock lasts as long as this process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def gates() -> list[Sequence[Part]]:
    """Return the gates, those that take longest first; the ones that depend on each other form one sequence."""
    hold_lock(CACHE / "lint.lock")
    copy = snapshot.refresh(ROOT, TREE)
    home = sanity.prepare_home(CACHE / "sanity")
    sees_copy = snapshot.collections_environment(TREE, snapshot.link_dependencies(ROOT, CACHE / "dependencies"))
    return [
        [
            Part(
                "ansible-lint",
                ["ansible-lint", "--profile", "production", "--offline", "--strict", "--nocolor"],
                copy,
                sees_copy,
            )
        ],
        [
            Part(
                "sanity",
                ["ansible-test", "sanity", "--local", "--python", sanity.python_version(), "--color", "no"],
                copy,
                {"HOME": str(home)},
                _NOTHING_TESTED,
            )
        ],
        _galaxy(copy, sees_copy),
        [Part("antsibull-docs", ["antsibull-docs", "lint-collection-docs", *_STRICT_DOCS, "."], copy, sees_copy)],
        # With a cache that others write to at the same time, mypy was seen to miss a module that exists.
        [Part("mypy", [sys.executable, "-m", "mypy", "--cache-dir", str(CACHE / "mypy-gate")])],
        [
            Part(
                "mypy-3.8",
                [sys.executable, "-m", "mypy", "--config-file", "tests/py38.ini", *_host_side()],
                env=_OLD_MYPY,
            )
        ],
        [Part("yamllint", ["yamllint", "--strict", "."], copy)],
        [Part("antsibull-changelog", ["antsibull-changelog", "lint"], copy)],
        [Part("shellcheck", ["shellcheck", *_shell_scripts(copy)], copy)],
        [Part("exceptions", [sys.executable, "-m", "tests.gates.exceptions"])],
        [Part("ruff", ["ruff", "check"])],
        [Part("ruff-format", ["ruff", "format", "--check", "--diff"])],
    ]


_STRICT_DOCS = (
    "--plugin-docs",
    "--no-skip-rstcheck",
    "--validate-collection-refs=all",
    "--disallow-unknown-collection-refs",
    "--check-extra-docs-refs",
)

_OLD_MYPY = {"PYTHONPATH": str(Path(sys.prefix) / "py38")}


def _host_side() -> list[str]:
    """Return the directories whose code runs on hosts, by the name that Ansible imports them by."""
    plugins = Path(".cache", "collections", snapshot.COLLECTION, "plugins")
    directories = [plugins / name for name in ("modules", "module_utils")]
    return [str(directory) for directory in directories if any((ROOT / directory).glob("**/*.py"))]


def _galaxy(copy: Path, env: dict[str, str]) -> list[Part]:
    metadata = yaml.safe_load((copy / "galaxy.yml").read_text(encoding="utf-8"))
    work = CACHE / "galaxy"
    work.mkdir(parents=True, exist_ok=True)
    artifact = f"{metadata['namespace']}-{metadata['name']}-{metadata['version']}.tar.gz"
    build = ["ansible-galaxy", "collection", "build", "--force", "--output-path", str(work)]
    importer_env = {
        # ansible-lint and the sanity tests are gates of their own, on more than what is shipped.
        "GALAXY_IMPORTER_RUN_ANSIBLE_TEST": "false",
        "GALAXY_IMPORTER_CHECK_REQUIRED_TAGS": "true",
        "GALAXY_IMPORTER_ANSIBLE_LOCAL_TMP": str(work / "tmp"),
    }
    importer = [sys.executable, "-m", "galaxy_importer.main", artifact]
    return [
        Part("galaxy-build", build, copy, env, _LOGGED_TROUBLE),
        Part("galaxy-importer", importer, work, importer_env, _LOGGED_TROUBLE),
    ]


def _shell_scripts(copy: Path) -> list[str]:
    """Return the files that a shell runs, by their first line: scripts here carry no suffix."""
    found = []
    for name in sorted(snapshot.tracked_files(copy)):
        path = copy / name
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                first = file.readline(80)
            if re.match(rb"#!\s*\S*(/|env )(ba|da)?sh\b", first):
                found.append(str(name))
    return found
