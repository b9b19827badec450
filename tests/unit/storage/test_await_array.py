# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Waiting for md, on a tree of files as sysfs shows them. What md itself does is tested on lab hosts."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Sequence
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import StepFailed, StillRunning
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.applying import arrays
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.applying import await_array as subject
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.applying.await_array import (
    await_array,
    unfinished,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.applying.execution import Execution
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.sysfs import read_array
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.steps.arrays import AwaitArray, ThawArray
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.steps.reshapes import LiftSuspension

#: A whole array at rest, as Linux 6.12 shows it.
AT_REST = {
    "array_state": "clean",
    "level": "raid5",
    "raid_disks": "3",
    "degraded": "0",
    "sync_action": "idle",
    "sync_completed": "none",
    "sync_speed": "none",
    "resync_start": "none",
    "reshape_position": "none",
    "suspend_lo": "0",
    "suspend_hi": "0",
    "uuid": "f7ff0bba-9f29-4f1f-233e-0cd559880314",
}


class Kernel:
    """The part of sysfs that tells of md127 with three members, to be changed at will."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.md = root / "sys/block/md127/md"
        self.md.mkdir(parents=True)
        (root / "sys/class/block").mkdir(parents=True)
        (root / "proc").mkdir()
        self.set(**AT_REST)
        for slot, disk in enumerate("abc"):
            self.member(f"sd{disk}1", "in_sync", str(slot))

    def set(self, **attributes: str) -> None:
        for name, text in attributes.items():
            (self.md / name).write_text(text + "\n")

    def member(self, name: str, state: str, slot: str) -> None:
        folder = self.md / f"dev-{name}"
        folder.mkdir(exist_ok=True)
        (folder / "state").write_text(state + "\n")
        (folder / "slot").write_text(slot + "\n")
        device = self.root / "sys/class/block" / name
        (device / "holders/md127").mkdir(parents=True, exist_ok=True)
        (device / "uevent").write_text("PARTNAME=data-0\n")

    def process(self, pid: int, opened: str) -> None:
        (self.root / f"proc/{pid}/fd").mkdir(parents=True)
        (self.root / f"proc/{pid}/comm").write_text("mdadm\n")
        (self.root / f"proc/{pid}/fd/3").symlink_to(opened)


class Commands(Runner):
    """Notes commands, and lets the kernel react to them."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[tuple[str, ...]] = []
        self.react: Callable[[], None] = lambda: None

    def run(
        self,
        argv: Sequence[str],
        accept: Container[int] = (0,),
        data: bytes | None = None,
        timeout: float | None = None,
        tied: bool = False,
    ) -> str:
        del accept, data, timeout, tied
        self.ran.append(tuple(argv))
        self.react()
        return ""


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.setattr(subject, "BEGIN", 0.1)
    monkeypatch.setattr(subject, "_GIVEN_UP", 0.5)
    monkeypatch.setattr(subject, "_SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr(subject, "_LONGEST_PAUSE", 0.02)
    return Commands()


def wait(kernel: Kernel, commands: Commands, action: str = "recover", seconds: float = 20) -> None:
    execution = Execution(commands, Host(str(kernel.root)), time.monotonic() + seconds)
    await_array(AwaitArray("data-0", action, "test"), execution)


def later(monkeypatch: pytest.MonkeyPatch, *changes: Callable[[], None]) -> None:
    """Make one of ``changes`` at each pause."""
    left = list(changes)

    def sleep(_seconds: float) -> None:
        if left:
            left.pop(0)()

    monkeypatch.setattr(time, "sleep", sleep)


def test_an_array_at_rest_is_not_waited_for(kernel: Kernel, commands: Commands) -> None:
    wait(kernel, commands, seconds=0)
    assert commands.ran == []


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"sync_action": "recover", "sync_completed": "10 / 100"}, "its recovery runs"),
        ({"sync_action": "resync", "sync_completed": "delayed"}, "its resync runs"),
        ({"sync_action": "frozen"}, "an mdadm holds it still"),
        ({"reshape_position": "33792"}, "its reshape is not finished"),
        ({"raid_disks": "4 (3)"}, "its reshape is not finished"),
        ({"suspend_hi": "12288"}, "writes to a part of it are held back"),
        ({"array_state": "read-auto", "resync_start": "0"}, "its resync waits for the first write"),
    ],
)
def test_what_mdstat_does_not_show_is_not_over(kernel: Kernel, attributes: dict[str, str], words: str) -> None:
    kernel.set(**attributes)
    assert unfinished(read_array(Host(str(kernel.root)), "md127")) == words


def test_an_empty_suspended_range_that_mdadm_has_left_is_none(kernel: Kernel) -> None:
    kernel.set(suspend_lo="9223372036854775807", suspend_hi="0")
    assert not unfinished(read_array(Host(str(kernel.root)), "md127"))


@pytest.mark.parametrize(
    ("state", "slot", "degraded", "words"),
    [
        ("spare", "2", "1", "/dev/sdc1 is not filled"),
        ("spare,replacement", "2", "0", "/dev/sdc1 is not filled"),
        ("spare", "none", "1", "a spare is not taken up"),
        ("spare", "none", "0", ""),
        ("faulty", "none", "1", ""),
    ],
)
def test_members_that_md_has_still_to_fill_are_waited_for(
    kernel: Kernel, state: str, slot: str, degraded: str, words: str
) -> None:
    kernel.member("sdc1", state, slot)
    kernel.set(degraded=degraded)
    assert unfinished(read_array(Host(str(kernel.root)), "md127")) == words


def test_a_rebuild_is_waited_for_to_its_end(
    kernel: Kernel, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.member("sdc1", "spare", "2")
    kernel.set(degraded="1", sync_action="recover", sync_completed="10 / 100")

    def end() -> None:
        kernel.member("sdc1", "in_sync", "2")
        kernel.set(degraded="0", sync_action="idle", sync_completed="none")

    later(monkeypatch, lambda: kernel.set(sync_completed="90 / 100"), end)
    wait(kernel, commands)
    assert commands.ran == []


def test_a_wait_that_takes_too_long_tells_how_far_and_how_long(kernel: Kernel, commands: Commands) -> None:
    kernel.set(sync_action="reshape", sync_completed="2000000 / 8000000", sync_speed="1000", raid_disks="4 (3)")
    with pytest.raises(StillRunning, match=r"its reshape runs, 25 % done, about 50 min to go\. md goes on by itself"):
        wait(kernel, commands, "reshape", seconds=0.1)


def test_an_array_that_waits_its_turn_says_so(kernel: Kernel, commands: Commands) -> None:
    kernel.set(sync_action="resync", sync_completed="delayed")
    with pytest.raises(StillRunning, match="it waits for another array on the same disks"):
        wait(kernel, commands, "resync", seconds=0.1)


def test_a_member_that_fails_during_a_rebuild_is_named(
    kernel: Kernel, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.member("sdc1", "spare", "2")
    kernel.set(degraded="1", sync_action="recover")

    def fail() -> None:
        kernel.member("sdc1", "faulty", "none")
        kernel.set(sync_action="idle")

    later(monkeypatch, fail)
    with pytest.raises(StepFailed, match=r"/dev/sdc1 failed during the recovery .* lacks 1 of 3 members"):
        wait(kernel, commands)


def test_a_member_that_is_pulled_during_a_rebuild_is_missed(
    kernel: Kernel, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.member("sdc1", "spare", "2")
    kernel.set(degraded="1", sync_action="recover")

    def pull() -> None:
        for name in ("state", "slot"):
            (kernel.md / "dev-sdc1" / name).unlink()
        (kernel.md / "dev-sdc1").rmdir()
        kernel.set(sync_action="idle")

    later(monkeypatch, pull)
    with pytest.raises(StepFailed, match="A member failed during the recovery"):
        wait(kernel, commands)


def test_an_array_that_was_degraded_all_along_is_not_blamed_on_the_resync(
    kernel: Kernel, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.member("sdc1", "faulty", "none")
    kernel.set(degraded="1", sync_action="resync")
    later(monkeypatch, lambda: kernel.set(sync_action="idle"))
    wait(kernel, commands, "resync")


def test_md_marks_a_replaced_member_as_failed_and_that_is_success(
    kernel: Kernel, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.member("sdc1", "in_sync,want_replacement", "2")
    kernel.member("sdd1", "spare,replacement", "2")
    kernel.set(sync_action="recover")

    def end() -> None:
        kernel.member("sdc1", "faulty", "none")
        kernel.member("sdd1", "in_sync", "2")
        kernel.set(sync_action="idle")

    later(monkeypatch, end)
    wait(kernel, commands)


@pytest.mark.parametrize("state", ["broken", "inactive", "clear"])
def test_an_array_that_stops_is_an_error_at_once(kernel: Kernel, commands: Commands, state: str) -> None:
    kernel.set(sync_action="recover", array_state=state)
    with pytest.raises(StepFailed, match=f"Array data-0 stopped during its recovery .{state}."):
        wait(kernel, commands)


def test_an_array_that_is_gone_is_an_error(kernel: Kernel, commands: Commands) -> None:
    (kernel.md / "array_state").unlink()
    with pytest.raises(StepFailed, match="Array data-0 does not run any more"):
        wait(kernel, commands)


def test_a_reshape_that_waits_for_the_first_write_is_woken(kernel: Kernel, commands: Commands) -> None:
    kernel.set(array_state="read-auto", reshape_position="33792", raid_disks="4 (3)")
    commands.react = lambda: kernel.set(array_state="clean", reshape_position="none", raid_disks="4")
    wait(kernel, commands, "reshape")
    assert commands.ran == [("mdadm", "--readwrite", "/dev/md127")]


def test_a_reshape_whose_mdadm_was_killed_is_taken_up(kernel: Kernel, commands: Commands) -> None:
    kernel.set(sync_action="reshape", raid_disks="4 (3)", suspend_hi="12288", reshape_position="0")
    (kernel.root / "run/systemd/system").mkdir(parents=True)
    commands.react = lambda: kernel.set(
        sync_action="idle", raid_disks="4", suspend_hi="0", suspend_lo="0", reshape_position="none"
    )
    wait(kernel, commands, "reshape")
    assert commands.ran == [("systemctl", "restart", "mdadm-grow-continue@md127.service")]


def test_writes_that_are_held_back_for_a_reshape_that_has_ended_go_on(kernel: Kernel, commands: Commands) -> None:
    kernel.set(suspend_lo="4096", suspend_hi="12288")
    wait(kernel, commands, "reshape")
    assert commands.ran == []
    assert [(kernel.md / name).read_text() for name in ("suspend_lo", "suspend_hi")] == ["0", "0"]


def test_a_suspension_is_lifted_at_once_by_its_own_step(kernel: Kernel, commands: Commands) -> None:
    kernel.set(suspend_hi="12288")
    execution = Execution(commands, Host(str(kernel.root)), time.monotonic())
    arrays.lift_suspension(LiftSuspension("data-0", "/dev/md127", "test"), execution)
    assert (kernel.md / "suspend_hi").read_text() == "0"


def test_a_reshape_that_an_mdadm_looks_after_is_left_to_it(kernel: Kernel, commands: Commands) -> None:
    kernel.set(sync_action="reshape", raid_disks="4 (3)", suspend_hi="12288")
    kernel.process(42, "/dev/md127")
    with pytest.raises(StillRunning):
        wait(kernel, commands, "reshape", seconds=0.4)
    assert commands.ran == []


def test_an_array_that_a_dead_mdadm_left_frozen_is_thawed(
    kernel: Kernel, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.set(sync_action="frozen")
    started = time.monotonic()
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    wait(kernel, commands)
    assert (kernel.md / "sync_action").read_text() == "idle"
    assert time.monotonic() - started > 0.1


def test_an_array_that_nobody_works_on_is_not_waited_for_until_the_deadline(kernel: Kernel, commands: Commands) -> None:
    kernel.member("sdc1", "spare", "none")
    kernel.set(degraded="1")
    started = time.monotonic()
    with pytest.raises(StepFailed, match=r"stopped working on array data-0 .*: a spare is not taken up"):
        wait(kernel, commands)
    assert time.monotonic() - started < 10


def test_thawing_makes_the_kernel_idle_and_gives_it_the_time_to_take_up_a_spare(
    kernel: Kernel, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel.member("sdd1", "spare", "none")
    kernel.set(sync_action="frozen", degraded="1")
    seen = []

    def take_up() -> None:
        seen.append((kernel.md / "sync_action").read_text())
        kernel.set(sync_action="recover")

    later(monkeypatch, take_up)
    execution = Execution(commands, Host(str(kernel.root)), time.monotonic())
    arrays.thaw(ThawArray("data-0", "/dev/md127", "test"), execution)
    assert seen == ["idle"]
    assert commands.ran == []


def test_a_rebuild_that_ends_while_the_kernel_is_read_is_no_failure(
    kernel: Kernel, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The member was read when it was being filled, `degraded` when it was.
    kernel.member("sdc1", "spare", "2")
    kernel.set(degraded="0", sync_action="recover")

    def end() -> None:
        kernel.member("sdc1", "in_sync", "2")
        kernel.set(sync_action="idle")

    later(monkeypatch, end)
    wait(kernel, commands)
