# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Commands: what they are given, what is made of their answers."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import (
    TIMED_OUT,
    CommandError,
    MissingTool,
    Runner,
    require,
)


def test_arguments_reach_the_program_as_they_are() -> None:
    words = ["a b", "$HOME", "*", 'quo"te', "", "é"]
    out = Runner().run([sys.executable, "-c", "import sys; print(ascii(sys.argv[1:]))", *words])
    assert out.strip() == ascii(words)


def test_programs_speak_english_and_are_found_in_sbin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("KEPT", "yes")
    environment = dict(line.split("=", 1) for line in Runner().run(["/usr/bin/env"]).splitlines())
    assert environment["LC_ALL"] == "C"
    assert environment["LANGUAGE"] == "C"
    assert "/usr/sbin" in environment["PATH"].split(":")
    assert environment["LVM_SUPPRESS_FD_WARNINGS"] == "1"
    assert environment["KEPT"] == "yes"


def test_standard_input_is_empty_so_that_no_question_waits_for_an_answer() -> None:
    assert Runner().run(["cat"]) == ""


def test_standard_input_can_be_given() -> None:
    assert Runner().run(["cat"], data=b"words\n") == "words\n"


def test_an_error_quotes_the_command_its_status_and_its_words() -> None:
    with pytest.raises(CommandError) as caught:
        Runner().run(["sh", "-c", "echo out; echo the disk is on fire >&2; exit 3"])
    assert caught.value.rc == 3
    assert caught.value.stdout == "out\n"
    assert "exit status 3: the disk is on fire" in str(caught.value)


def test_an_error_without_words_on_stderr_quotes_stdout_or_says_so() -> None:
    with pytest.raises(CommandError, match="exit status 1: only here"):
        Runner().run(["sh", "-c", "echo only here; exit 1"])
    with pytest.raises(CommandError, match="it printed nothing"):
        Runner().run(["false"])


def test_an_expected_status_is_no_error() -> None:
    assert Runner().run(["sh", "-c", "echo fine; exit 1"], accept=(0, 1)) == "fine\n"


def test_a_program_that_is_not_there_is_a_command_error() -> None:
    with pytest.raises(CommandError, match=r"no-such-program.*No such file"):
        Runner().run(["no-such-program"])


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert Runner().run(["printf", r"a\377b"]) == "a\ufffdb"


def test_started_processes_are_counted() -> None:
    runner = Runner()
    runner.run(["true"])
    runner.run(["true"])
    assert runner.started == 2


def test_only_the_descriptors_that_were_named_are_inherited(tmp_path: Path) -> None:
    named = os.open(tmp_path / "named", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
    other = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)
    try:
        out = Runner(inherit=(named,)).run(["readlink", "-q", f"/proc/self/fd/{named}"])
        assert out.strip() == str(tmp_path / "named")
        with pytest.raises(CommandError):
            Runner(inherit=(named,)).run(["readlink", f"/proc/self/fd/{other}"])
    finally:
        os.close(named)
        os.close(other)


def test_a_missing_tool_names_its_package() -> None:
    require({"sh": "dash"})
    with pytest.raises(MissingTool, match="'no-such-program' was not found; install the package 'gdisk'"):
        require({"sh": "dash", "no-such-program": "gdisk"})


def test_a_command_that_does_not_end_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    script = f"sleep 60 & echo $! > {started}; echo asked >&2; wait"
    with pytest.raises(CommandError, match=r"(?s)exit status 124: asked.*killed after 1 s") as caught:
        Runner().run(["sh", "-c", script], timeout=1.0)
    assert caught.value.rc == TIMED_OUT
    child = Path(f"/proc/{started.read_text().strip()}/stat")
    assert not child.exists() or child.read_text().split()[2] == "Z"


def test_a_killed_command_is_not_waited_for_by_who_has_left_its_session() -> None:
    begun = time.monotonic()
    with pytest.raises(CommandError, match="killed after"):
        Runner().run(["sh", "-c", "setsid sleep 20 & wait"], timeout=0.5)
    assert time.monotonic() - begun < 10


def test_a_command_that_ends_in_time_is_as_without_a_limit() -> None:
    assert Runner().run(["echo", "done"], timeout=10.0) == "done\n"


def test_a_tied_command_ends_with_the_process_that_started_it_and_inherits_nothing(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        script = f"ls /proc/self/fd > {started}.fds; echo $$ > {started}; exec sleep 60"
        Runner(inherit=(writer,)).run(["sh", "-c", script], tied=True)
        os._exit(0)
    os.close(writer)
    while not started.exists() or not started.read_text().strip():
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert os.read(reader, 1) == b""
    os.close(reader)
    process = Path(f"/proc/{started.read_text().strip()}/stat")
    deadline = time.monotonic() + 10
    while process.exists() and process.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "it goes on"
        time.sleep(0.02)
    assert str(writer) not in Path(f"{started}.fds").read_text().split()
