# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Steps that are carried out with a DKMS that answers as it was told to."""

from __future__ import annotations

import json
import tarfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import CommandError, Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import SetAside, StepFailed
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel import places
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.applying.apply import Work
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.applying.sources import put_source
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.applying.workshop import Workshop
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.observing import Given
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.steps import (
    Build,
    Install,
    Load,
    PutSource,
    Remove,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.model import Conf, Host, Kernel, Part, Signing
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.observing import tree
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.observing.sources import (
    Entry,
    digest_of,
    read_archive,
    read_directory,
)

KERNEL, OTHER = "6.1.0-47-amd64", "6.1.0-57-amd64"
X86 = "x86_64"
Answer = Callable[[tuple[str, ...]], str]


class Machine(Runner):
    """Answers each command; remembers them."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], *_more: Any, **_options: Any) -> str:
        self.asked.append(tuple(argv))
        return self.answer(tuple(argv))


def failing(*words: str, rc: int = 1, stderr: str = "it does not work") -> Answer:
    def answer(argv: tuple[str, ...]) -> str:
        if argv[: len(words)] == words:
            raise CommandError(argv, rc, "", stderr)
        return ""

    return answer


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("TREE", "SOURCES", "MODULES", "STATE"):
        folder = tmp_path / name.lower()
        folder.mkdir()
        monkeypatch.setattr(places, name, str(folder))
    (tmp_path / "sources/toy-1.0").mkdir()
    (tmp_path / "tree/toy/1.0").mkdir(parents=True)
    (tmp_path / "tree/toy/1.0/source").symlink_to(tmp_path / "sources/toy-1.0")
    return tmp_path


def work(answer: Answer, jobs: int = 1) -> tuple[Work, Machine]:
    machine = Machine(answer)
    return Work(Given({}), machine, jobs), machine


HOST = Host(
    "toy", kernels={each: Kernel(each, confs={"1.0": Conf("toy", "1.0", (Part("toy"),))}) for each in (KERNEL, OTHER)}
)


def build(kernel: str, headers: bool = True) -> Build:
    return Build("toy", "1.0", kernel, X86, (), headers, "")


def load(again: bool = True, former: str = "0.9") -> Load:
    return Load("toy", "toy", KERNEL, X86, "ABC", (("answer", "7"),), again, former, "")


# Loading


def test_a_module_that_is_in_use_stays_loaded_and_nothing_is_put_back() -> None:
    here, machine = work(failing("modprobe", "-r", stderr="modprobe: FATAL: Module toy is in use."))
    with pytest.raises(StepFailed, match=r"in use.*stays"):
        here.carry_out(load(), [], HOST)
    assert machine.asked == [("modprobe", "-r", "toy")]


def test_the_former_version_is_installed_and_loaded_when_the_new_one_cannot_be() -> None:
    here, machine = work(failing("modprobe", "toy", "answer=7"))
    with pytest.raises(StepFailed, match=r"0\.9 is installed and loaded again"):
        here.carry_out(load(), [], HOST)
    back = (places.DKMS, "install", "--force", "-m", "toy", "-v", "0.9", "-k", KERNEL, "-a", X86)
    assert machine.asked[2:] == [back, ("modprobe", "toy")]
    # When nothing was loaded before, it is installed only.
    here, machine = work(failing("modprobe", "toy", "answer=7"))
    with pytest.raises(StepFailed, match=r"0\.9 is installed again"):
        here.carry_out(load(again=False), [], HOST)
    assert machine.asked[1:] == [back]


def test_without_a_former_version_it_is_told_what_is_loaded_now() -> None:
    with pytest.raises(StepFailed, match="No module is loaded now"):
        work(failing("modprobe", "toy"))[0].carry_out(load(former=""), [], HOST)
    with pytest.raises(StepFailed, match="What is installed stays"):
        work(failing("modprobe", "toy"))[0].carry_out(load(again=False, former=""), [], HOST)
    with pytest.raises(StepFailed, match="could not be put back either"):
        work(failing("modprobe", "toy"))[0].carry_out(load(), [], HOST)


# Builds


def make(argv: tuple[str, ...], content: bytes = b"made") -> str:
    """What DKMS does in a tree of its own."""
    if "build" not in argv:
        return ""
    shop = Path(argv[argv.index("--dkmstree") + 1])
    folder = shop / "toy/1.0" / argv[argv.index("-k") + 1] / X86 / "module"
    folder.mkdir(parents=True)
    (folder / "toy.ko").write_bytes(content)
    return ""


def test_what_was_built_takes_its_place_whole_and_the_workshop_is_gone(folders: Path) -> None:
    there = folders / f"tree/toy/1.0/{KERNEL}/{X86}/module"
    there.mkdir(parents=True)
    (there / "toy.ko").write_bytes(b"former")
    here, _machine = work(make)
    here.carry_out(build(KERNEL), [build(KERNEL)], HOST)
    assert (there / "toy.ko").read_bytes() == b"made"
    assert list((folders / "state/build").iterdir()) == []
    assert tree.leftovers("toy") == []


def test_a_build_that_fails_touches_nothing_and_its_kernel_is_given_up(folders: Path) -> None:
    def answer(argv: tuple[str, ...]) -> str:
        shop = Path(argv[argv.index("--dkmstree") + 1])
        (shop / "toy/1.0/build/make.log").write_text(f"{shop}/toy/1.0/build/toy.c:6:2: error: no such thing\n")
        raise CommandError(argv, 10, "", "Error! Bad return status")

    here, machine = work(answer)
    with pytest.raises(SetAside, match=r"does not build \(exit status 10\): toy\.c:6:2: error: no such thing\."):
        here.carry_out(build(KERNEL), [build(KERNEL)], HOST)
    with pytest.raises(SetAside, match=r"^$"):
        here.carry_out(Install("toy", "1.0", KERNEL, X86, "", (), ""), [], HOST)
    with pytest.raises(SetAside, match=r"^$"):
        here.carry_out(Remove("toy", "0.9", False, ""), [], HOST)
    assert len(machine.asked) == 1
    assert not (folders / "tree/toy/1.0" / KERNEL).exists()
    assert "no such thing" in Path(places.log("toy", "1.0", KERNEL)).read_text()


def test_a_kernel_that_dkms_leaves_out_is_no_failure() -> None:
    here, _machine = work(failing(places.DKMS, "build", rc=77, stderr="includes a BUILD_EXCLUSIVE directive"))
    with pytest.raises(SetAside, match=r"^$"):
        here.carry_out(build(KERNEL), [build(KERNEL)], HOST)
    assert "BUILD_EXCLUSIVE" in here.skipped[KERNEL]


def test_without_headers_nothing_is_started() -> None:
    here, machine = work(make)
    with pytest.raises(SetAside, match=f"linux-headers-{KERNEL}"):
        here.carry_out(build(KERNEL, headers=False), [build(KERNEL, headers=False)], HOST)
    assert machine.asked == []


@pytest.mark.parametrize("signed", [True, False])
def test_kernels_are_built_side_by_side_once_there_is_a_key(monkeypatch: pytest.MonkeyPatch, signed: bool) -> None:
    monkeypatch.setattr(
        "ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.applying.workshop.signing_of",
        lambda _framework: Signing(present=signed),
    )
    meeting = threading.Barrier(2)

    def answer(argv: tuple[str, ...]) -> str:
        if signed:
            meeting.wait(10)
        return make(argv)

    machine = Machine(answer)
    shop = Workshop(machine, 2)
    assert shop.outcome(build(KERNEL), [build(OTHER)]).failure == ""
    if not signed:
        assert len(machine.asked) == 1, "two would each make a key"
    assert shop.outcome(build(OTHER), []).failure == ""
    shop.close()


def test_what_was_not_copied_is_found_out_and_the_former_version_is_put_back(folders: Path) -> None:
    make((places.DKMS, "build", "-k", KERNEL, "--dkmstree", str(folders / "tree2")))
    (folders / f"tree2/toy/1.0/{KERNEL}").rename(folders / f"tree/toy/1.0/{KERNEL}")
    here, machine = work(lambda _argv: "")
    with pytest.raises(SetAside, match=r"does not find toy\. 0\.9 is installed again"):
        here.carry_out(Install("toy", "1.0", KERNEL, X86, "0.9", (), ""), [], HOST)
    assert [argv[0] for argv in machine.asked] == [places.DKMS, "modinfo", places.DKMS]


# Sources


def test_a_source_is_replaced_whole_and_what_was_built_of_the_former_is_stale(folders: Path) -> None:
    (folders / f"tree/toy/1.0/{KERNEL}/{X86}/module").mkdir(parents=True)
    files = {"dkms.conf": Entry(b"x"), "sub/run": Entry(b"y", executable=True), "link": Entry(link="sub/run")}
    put_source(PutSource("toy", "1.0", digest_of(files), True, ""), files)
    place = places.source("toy", "1.0")
    assert digest_of(read_directory(place)) == digest_of(files)
    build_ = tree.build_of("toy", "1.0", KERNEL, X86)
    assert build_ is not None
    assert build_.stale
    here, _machine = work(make)
    here.carry_out(build(KERNEL), [build(KERNEL)], HOST)
    again = tree.build_of("toy", "1.0", KERNEL, X86)
    assert again is not None
    assert not again.stale
    assert json.loads(Path(places.record("toy", "1.0")).read_text())["stale"] == []


def test_an_archive_is_the_same_source_as_its_directory(folders: Path) -> None:
    folder = folders / "given/toy-1.0"
    folder.mkdir(parents=True)
    (folder / "dkms.conf").write_text("PACKAGE_NAME=toy\n")
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text("x")
    with tarfile.open(folders / "toy.tar.gz", "w:gz") as archive:
        archive.add(folder, "wrapped/toy-1.0")
    assert digest_of(read_archive(str(folders / "toy.tar.gz"))) == digest_of(read_directory(str(folder)))
