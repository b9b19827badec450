"""From parameters to sets, with every mistake told in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.parameters import wanted_config
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from tests.unit.config.declared import command, declared, file, reload

A = file("/etc/a", "1\n")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        (declared(), "at least one file"),
        (declared(A, name="../x"), "cannot name a set"),
        (declared(A, A), "/etc/a is declared twice"),
        (declared(A, state="previous"), "leave out files"),
        (declared(file("etc/a")), "no path for a file"),
        (declared(file("/etc/../a")), "no path for a file"),
        (declared(file("/etc/a/")), "no path for a file"),
        (declared(file("/etc/" + "x" * 250)), "longer than 240 bytes"),
        (declared(file("/etc/a", mode="rw-r--r--")), "octal digits in quotes"),
        (declared(file("/etc/a", mode=True)), "octal digits in quotes"),
        (declared(file("/etc/a", mode=0o644)), "octal digits in quotes"),
        (declared(file("/etc/a", mode=644)), "octal digits in quotes"),
        (declared(file("/etc/a", owner="nobody-of-this-name")), "owner 'nobody-of-this-name' of /etc/a does not exist"),
        (declared(file("/etc/a", group="nobody-of-this-name")), "group 'nobody-of-this-name' of /etc/a does not exist"),
        (declared(file("/etc/a", src="/etc/b")), "either content or src"),
        (declared({**A, "content": None}), "either content or src"),
        (declared({**A, "content": None, "src": "a"}), "file of the controller"),
        (declared({**A, "content": None, "src": "/nowhere", "remote_src": True}), "cannot be read"),
        (declared(A, reload=reload()), "reload has nothing"),
        (declared(A, reload=reload(unit="a", command=["b"])), "reload has unit and command"),
        (declared(A, reload=reload(command=["b"], restart=True)), "restart is for a unit"),
        (declared(A, keep=0), "no way back"),
        (declared(A, verify_timeout=0), "verify_timeout is 0"),
        (declared(A, verify=[{**command("x"), "unit": "y"}]), "verify"),
    ],
)
def test_mistakes_are_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal) as refusal:
        wanted_config(parameters)
    assert words in str(refusal.value)


@pytest.mark.parametrize("mode", ["0640", "640"])
def test_a_mode_is_in_octal_digits(mode: str) -> None:
    assert wanted_config(declared(file("/etc/a", mode=mode))).entries[0].mode == 0o640


def test_a_file_of_the_host_is_read_there(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"\xff\x00")
    want = wanted_config(declared({**file("/etc/a"), "content": None, "src": str(source), "remote_src": True}))
    assert list(want.contents.values()) == [b"\xff\x00"]


def test_a_unit_needs_no_suffix_and_may_go_with_bird() -> None:
    wanted = wanted_config(declared(A, reload=reload(unit="bird", bird="/run/bird/bird.ctl"))).guards.reload
    assert (wanted.unit, wanted.bird) == ("bird.service", "/run/bird/bird.ctl")
