"""What is at a path, and what is taken away from beside it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.applying.exchange import take_back
from ansible_collections.baremetal.fabric.plugins.module_utils._config.model import Entry, Exchange
from ansible_collections.baremetal.fabric.plugins.module_utils._config.observing.observe import read_live


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    live, content = read_live(str(path))
    assert content == b"content"
    assert live.obstacle == ""


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for name, kind in (("directory", "a directory"), ("fifo", "a FIFO")):
        live, content = read_live(str(tmp_path / name))
        assert (live.obstacle, content) == (kind, None)


def test_nothing_is_taken_away_where_nothing_was_staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(path: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    monkeypatch.setattr(os, "unlink", read_only)
    live = tmp_path / "file"
    live.write_bytes(b"old")
    entry = Entry(str(live), "digest", 0, 0, 0o644)
    take_back(Exchange(str(live), str(live), existed=True, entry=entry))
    assert live.read_bytes() == b"old"
