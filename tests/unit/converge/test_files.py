# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that are replaced."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.files import replace_file


def test_a_file_is_replaced_whole_and_keeps_mode_and_links(tmp_path: Path) -> None:
    real = tmp_path / "real.conf"
    real.write_text("old\n")
    real.chmod(0o640)
    link = tmp_path / "link.conf"
    link.symlink_to(real)
    inode = real.stat().st_ino
    replace_file(str(link), "new\n")
    assert link.is_symlink()
    assert real.read_text() == "new\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.stat().st_ino != inode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.conf", "real.conf"]


def test_a_new_file_can_be_read_by_everybody(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        replace_file(str(tmp_path / "new.conf"), "text\n")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.conf").stat().st_mode) == 0o644


def test_what_a_run_that_was_cut_off_left_behind_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "fstab.new").write_text("half a li")
    replace_file(str(tmp_path / "fstab"), "whole\n")
    assert (tmp_path / "fstab").read_text() == "whole\n"
    assert not (tmp_path / "fstab.new").exists()


def test_bytes_that_are_no_text_and_foreign_line_ends_survive(tmp_path: Path) -> None:
    path = tmp_path / "fstab"
    path.write_bytes(b"# caf\xe9\r\nLABEL=root / ext4\n")
    replace_file(str(path), path.read_bytes().decode("utf-8", "surrogateescape") + "more\n")
    assert path.read_bytes() == b"# caf\xe9\r\nLABEL=root / ext4\nmore\n"


def test_the_old_file_stays_when_the_new_one_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    path = tmp_path / "fstab"
    path.write_text("old\n")
    with pytest.raises(OSError, match="No space"):
        replace_file(str(path), "new\n")
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]
