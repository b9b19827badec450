"""A set seen at its live paths before it is there."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.applying.view import as_if
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import StepFailed
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.namespace import mount, throw_away_mounts

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="mounts")


def listed(folder: Path) -> list[str]:
    """What a command sees."""
    found = subprocess.run(["find", ".", "-type", "f"], cwd=folder, capture_output=True, text=True, check=True)
    return sorted(found.stdout.split())


@pytest.fixture
def live(tmp_path: Path) -> Path:
    folder = tmp_path / "with a space, a comma: and a colon"
    (folder / "deep").mkdir(parents=True)
    (folder / "a").write_text("old\n")
    (folder / "deep" / "b").write_text("b\n")
    (folder / "other").write_text("not in the set\n")
    return folder


def test_files_that_are_written_made_and_removed_are_seen_with_all_others_and_leave_no_trace(live: Path) -> None:
    before = Path("/proc/self/mountinfo").read_text()
    with as_if([str(live), str(live / "deep"), str(live / "new" / "er")]):
        (live / "a").write_text("new\n")
        (live / "deep" / "b").unlink()
        (live / "new" / "er").mkdir(parents=True)
        (live / "new" / "er" / "c").write_text("c\n")
        assert listed(live) == ["./a", "./new/er/c", "./other"]
        assert subprocess.run(["cat", "a"], cwd=live, capture_output=True, text=True, check=True).stdout == "new\n"
    assert listed(live) == ["./a", "./deep/b", "./other"]
    assert (live / "a").read_text() == "old\n"
    assert Path("/proc/self/mountinfo").read_text() == before


def test_owner_and_mode_of_a_directory_are_seen_as_they_are(live: Path) -> None:
    os.chown(live, 1, 2)
    live.chmod(0o2750)
    with as_if([str(live)]):
        status = live.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (1, 2, 0o2750)


def test_what_is_mounted_below_a_directory_is_still_seen(live: Path) -> None:
    with throw_away_mounts():
        mount("tmpfs", str(live / "deep"))
        (live / "deep" / "mounted").write_text("x\n")
        with as_if([str(live)]):
            assert listed(live) == ["./a", "./deep/mounted", "./other"]


def test_no_directory_that_is_in_the_way_of_the_overlays_is_hidden() -> None:
    with as_if(["/mnt"]):
        Path("/mnt/inside").write_text("x")
        assert Path("/mnt/inside").exists()
    assert not Path("/mnt/inside").exists()


def test_files_directly_in_the_root_directory_are_refused() -> None:
    with pytest.raises(StepFailed, match="make its directory first"), as_if(["/"]):
        pass
