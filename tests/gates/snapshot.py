"""Keeps a copy of the checkout under the path that the tools for collections insist on.

They want to stand in ``ansible_collections/<namespace>/<name>``, to see no more files than Git does, and to write where
they like.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import yaml

COLLECTION = Path("ansible_collections", "baremetal", "fabric")


def tracked_files(checkout: Path) -> set[Path]:
    """Return the files that Git tracks or would offer to add, relative to the checkout."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=checkout,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    names = {Path(os.fsdecode(name)) for name in listing.split(b"\0") if name}
    # Git still lists what was deleted from the working tree only.
    return {name for name in names if os.path.lexists(checkout / name)}


def refresh(checkout: Path, tree: Path) -> Path:
    """Bring the copy below ``tree`` up to date and return its path.

    Files that did not change are left alone, with their times, for the caches of the tools.
    """
    copy = tree / COLLECTION
    wanted = tracked_files(checkout)
    # Without a repository of its own, the copy is an ignored part of this one, and the tools find no files in it.
    subprocess.run(["git", "init", "--quiet", "--template=", str(copy)], check=True)
    for present in _files_below(copy):
        if present not in wanted:
            (copy / present).unlink()
    for name in wanted:
        _copy_if_changed(checkout / name, copy / name)
    _drop_empty_directories(copy)
    return copy


def link_dependencies(checkout: Path, tree: Path) -> Path:
    """Link the collections that galaxy.yml declares, and no others, into ``tree`` and return it.

    Tools that see only these find what is used and not declared, and do not read a hundred collections that are not.
    """
    metadata = yaml.safe_load((checkout / "galaxy.yml").read_text(encoding="utf-8"))
    installed = Path(sysconfig.get_path("purelib"), "ansible_collections")
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for dependency in metadata["dependencies"]:
        namespace, name = dependency.split(".")
        link = tree / "ansible_collections" / namespace / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(installed / namespace / name)
    return tree


def collections_environment(*trees: Path) -> dict[str, str]:
    """Return the settings that make Ansible see the collections in these trees, and none that pip installed."""
    return {
        "ANSIBLE_COLLECTIONS_PATH": os.pathsep.join(map(str, trees)),
        "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": "false",
    }


def _files_below(directory: Path) -> list[Path]:
    found = []
    for parent, directories, files in os.walk(directory):
        if ".git" in directories:
            directories.remove(".git")
        links = [name for name in directories if Path(parent, name).is_symlink()]
        found += [Path(parent, name).relative_to(directory) for name in files + links]
    return found


def _copy_if_changed(source: Path, target: Path) -> None:
    if not source.is_symlink() and target.is_file() and not target.is_symlink():
        old, new = target.stat(), source.stat()
        if (old.st_size, old.st_mtime_ns, old.st_mode) == (new.st_size, new.st_mtime_ns, new.st_mode):
            return
    # A directory may stand where a file is to come, and a file where a directory is.
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target, follow_symlinks=False)


def _drop_empty_directories(directory: Path) -> None:
    for parent in sorted(directory.rglob("*/"), reverse=True):
        if ".git" not in parent.parts and not parent.is_symlink() and parent.is_dir() and not os.listdir(parent):
            parent.rmdir()
