# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The program that builds a module for kernels that come later, and where it is put."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel import places
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.hook import program
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.picture import draw
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.planning import plan_module
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.steps import KernelStep, WriteFile
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.loading import is_ours
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.model import (
    Conf,
    Host,
    Kernel,
    Part,
    Tree,
    Wanted,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.observing import tree

WANT = Wanted("toy", hook=True)
PLACES = ("/etc/kernel/postinst.d/baremetal-fabric-toy", "/etc/kernel/header_postinst.d/baremetal-fabric-toy")
_CONF = Conf("toy", "1.0", (Part("toy"),))
SERVED = Host("toy", "1.0", trees={"1.0": Tree("/usr/src/toy-1.0")}, sources=frozenset(["1.0"]))


def steps_to(host: Host, want: Wanted) -> list[KernelStep]:
    """The plan for a host whose one kernel is not for the module, so that only the hook is left to do."""
    conf = {"1.0": replace(_CONF, excluded="BUILD_EXCLUSIVE_KERNEL is ^7")}
    kernel = Kernel("6.1.0-47-amd64", confs=conf)
    there = replace(host, kernels={kernel.release: kernel}, installed=frozenset([kernel.release]))
    return [step for step in plan_module(there, want) if isinstance(step, KernelStep)]


def test_a_shell_has_nothing_to_say_against_the_program(tmp_path: Path) -> None:
    path = tmp_path / "hook"
    path.write_text(program("x-toy_1.0+b"))
    done = subprocess.run(["shellcheck", str(path)], capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0


def test_a_kernel_that_is_not_there_is_no_reason_to_fail(tmp_path: Path) -> None:
    path = tmp_path / "hook"
    path.write_text(program("a-module-that-nobody-has"))
    for arguments in ([], ["6.1.0-0-none"]):
        done = subprocess.run(["sh", str(path), *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["toy", "acpi_call", "r8125.old", "a+b"])
def test_run_parts_takes_its_name_and_runs_it_before_that_of_dkms(name: str) -> None:
    for path in places.hooks(name):
        file = path.rsplit("/", 1)[1]
        assert re.fullmatch(r"[a-zA-Z0-9_-]+", file)
        assert file < "dkms"
    assert places.hooks("a.b") != places.hooks("a_b")


def test_it_is_put_where_kernels_and_headers_look_for_it() -> None:
    steps = steps_to(SERVED, WANT)
    assert [step.title for step in steps] == [f"Write {path}" for path in PLACES]
    assert all(isinstance(step, WriteFile) and step.executable for step in steps)
    ended = SERVED
    for step in steps:
        ended = step.after(ended)
    assert ended.files == {path: program("toy") for path in PLACES}
    assert steps_to(ended, WANT) == []
    assert steps_to(ended, replace(WANT, hook=None)) == []
    assert [step.title for step in steps_to(ended, replace(WANT, hook=False))] == [f"Remove {path}" for path in PLACES]
    gone = [step.title for step in plan_module(ended, Wanted("toy", state="absent"))]
    assert [f"Remove {path}" for path in sorted(PLACES)] == gone[-2:]
    assert all(path in draw(ended) for path in PLACES)


def test_one_that_is_old_or_cannot_be_run_is_replaced_and_that_of_somebody_else_is_not() -> None:
    here = dict.fromkeys(PLACES, program("toy"))
    old = {**here, PLACES[0]: program("toy") + "# old\n"}
    assert [step.title for step in steps_to(replace(SERVED, files=old), WANT)] == [f"Write {PLACES[0]}"]
    with pytest.raises(Refusal, match="was written by somebody else"):
        steps_to(replace(SERVED, files={**here, PLACES[1]: "#!/bin/sh\nexit 0\n"}), WANT)


def test_a_program_that_cannot_be_run_does_not_look_like_one(tmp_path: Path) -> None:
    path = tmp_path / "hook"
    path.write_text(program("toy"))
    path.chmod(0o644)
    text = tree.program_of(str(path)) or ""
    assert is_ours(text)
    assert text + "\n" != program("toy")
    path.chmod(0o755)
    assert tree.program_of(str(path)) == program("toy").rstrip("\n")
    assert tree.program_of(str(tmp_path / "none")) is None
