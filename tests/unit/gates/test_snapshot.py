from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.gates import snapshot


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    (root / "plugins").mkdir(parents=True)
    (root / "plugins" / "one.py").write_text("1\n")
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / ".gitignore").write_text("/junk\n/cache/\n")
    (root / "junk").write_text("x")
    subprocess.run(["git", "init", "--quiet", str(root)], check=True)
    return root


def names(copy: Path) -> set[str]:
    return {str(path.relative_to(copy)) for path in copy.rglob("*") if ".git" not in path.parts and path.is_file()}


def test_copy_holds_what_git_would_and_nothing_ignored(checkout: Path, tmp_path: Path) -> None:
    copy = snapshot.refresh(checkout, tmp_path / "tree")
    assert copy == tmp_path / "tree" / "ansible_collections" / "baremetal" / "fabric"
    assert names(copy) == {".gitignore", "plugins/one.py", "run"}
    assert (copy / "run").stat().st_mode & 0o111


def test_refresh_follows_changes_and_removals(checkout: Path, tmp_path: Path) -> None:
    copy = snapshot.refresh(checkout, tmp_path / "tree")
    (copy / "left_by_a_tool").write_text("x")
    (checkout / "plugins" / "one.py").unlink()
    (checkout / "run").write_text("#!/bin/bash\n")
    (checkout / "two.py").write_text("2\n")
    snapshot.refresh(checkout, tmp_path / "tree")
    assert names(copy) == {".gitignore", "run", "two.py"}
    assert not (copy / "plugins").exists()
    assert (copy / "run").read_text() == "#!/bin/bash\n"


def test_file_may_become_a_directory_and_back(checkout: Path, tmp_path: Path) -> None:
    copy = snapshot.refresh(checkout, tmp_path / "tree")
    (checkout / "run").unlink()
    (checkout / "run").mkdir()
    (checkout / "run" / "inner").write_text("x")
    snapshot.refresh(checkout, tmp_path / "tree")
    assert (copy / "run" / "inner").read_text() == "x"
    (checkout / "run" / "inner").unlink()
    (checkout / "run").rmdir()
    (checkout / "run").write_text("y")
    snapshot.refresh(checkout, tmp_path / "tree")
    assert (copy / "run").read_text() == "y"


def test_unchanged_files_are_not_written_again(checkout: Path, tmp_path: Path) -> None:
    copy = snapshot.refresh(checkout, tmp_path / "tree")
    before = (copy / "plugins" / "one.py").stat()
    snapshot.refresh(checkout, tmp_path / "tree")
    assert (copy / "plugins" / "one.py").stat().st_ino == before.st_ino
    assert (copy / "plugins" / "one.py").stat().st_ctime_ns == before.st_ctime_ns


def test_link_stays_a_link(checkout: Path, tmp_path: Path) -> None:
    (checkout / "alias").symlink_to("run")
    copy = snapshot.refresh(checkout, tmp_path / "tree")
    assert (copy / "alias").readlink() == Path("run")


def test_copy_inside_an_ignored_directory_still_has_files_for_git(checkout: Path) -> None:
    copy = snapshot.refresh(checkout, checkout / "cache")
    assert snapshot.tracked_files(copy) == {Path(".gitignore"), Path("plugins/one.py"), Path("run")}


def test_only_declared_dependencies_are_linked(checkout: Path, tmp_path: Path) -> None:
    (checkout / "galaxy.yml").write_text('dependencies:\n  ansible.posix: ">=1.5.0"\n')
    tree = snapshot.link_dependencies(checkout, tmp_path / "dependencies")
    assert [str(path.relative_to(tree)) for path in tree.glob("*/*/*")] == ["ansible_collections/ansible/posix"]
    assert (tree / "ansible_collections" / "ansible" / "posix" / "MANIFEST.json").is_file()
