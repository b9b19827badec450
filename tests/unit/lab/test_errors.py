"""A person is told what is missing and what to do."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.lab import commands
from tests.lab.cli import main
from tests.lab.errors import CommandError, LabError

PACKAGES = Path(commands.__file__).with_name("packages.txt")


def test_a_missing_tool_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "environment", lambda: {"PATH": "/nowhere"})
    with pytest.raises(LabError, match=r"mkfs\.ext4, nft not found; install with: apt-get install e2fsprogs nftables"):
        commands.require("mkfs.ext4", "nft")


def test_every_tool_comes_from_a_listed_package() -> None:
    listed = {line for line in PACKAGES.read_text().splitlines() if line and not line.startswith("#")}
    assert set(commands.PACKAGE_OF.values()) <= listed


def test_without_root_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(LabError, match="needs root"):
        commands.require_root()


def test_a_full_disk_is_noticed_before_it_is_full(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1024**2))
    with pytest.raises(LabError, match="has 1 MiB free and the lab needs 4096 MiB"):
        commands.require_space(tmp_path, 4 * 1024**3)


def test_a_failed_command_shows_what_it_printed() -> None:
    with pytest.raises(CommandError, match="ended with 3:\nout\nerr") as caught:
        commands.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert caught.value.returncode == 3


def test_a_command_that_hangs_is_ended() -> None:
    with pytest.raises(LabError, match="did not end within 0 s"):
        commands.run(["sleep", "60"], timeout=0.1)


def test_a_bound_command_dies_with_its_parent() -> None:
    script = "import subprocess, sys\nfrom tests.lab.commands import die_with_parent\n" + (
        "child = subprocess.Popen(['sleep', '60'], preexec_fn=die_with_parent())\n"
        "print(child.pid, flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < deadline, "the child outlived its parent"
        time.sleep(0.01)


def test_the_command_line_ends_with_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--name", "no-such-lab", "up", str(tmp_path / "missing.yml")]) == 1
    assert capsys.readouterr().err == f"lab: {tmp_path}/missing.yml: No such file or directory\n"
    assert main(["--name", "no-such-lab", "ssh", "store"]) == 1
    assert "no lab is named 'no-such-lab'" in capsys.readouterr().err
