"""Shows the collection at work on lab hosts of this machine, and checks what it shows.

A storage pool grows disk by disk; Docker's published ports obey a policy; HAProxy's configuration is guarded.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import yaml

from tests.lab import Lab, LabError, LabHost, take_down
from tests.lab.recipe import RELEASES
from tests.playbook import CACHE, COLLECTIONS, ROOT, PlaybookFailed, Played, play, playbook_argv

from .guarded import GuardedDemo, GuardFailed
from .published import PolicyFailed, PublishedDemo
from .screen import DIM, INDENT, Screen
from .story import (
    BAYS,
    EXCHANGES,
    FIRST_CAPACITY_MIB,
    FIRST_SIZE,
    HOST,
    KEPT_FILE,
    KEPT_MIB,
    POOL,
    Declaration,
    Exchange,
    serial,
    topology,
)
from .watch import Watch

NAME = "demo"
POOL_CHAPTER, DOCKER_CHAPTER, CONFIG_CHAPTER = CHAPTERS = ("pool", "docker", "config")
PLAYBOOK = "baremetal.fabric.storage_grow"
MODULE = "baremetal.fabric.raid_pool"
#: Slow enough to watch, fast enough not to bore.
DISK_SPEED = "16M"
BAR_CELLS = 24


class DemoFailed(Exception):
    """The host is not as the story says."""


class Demo:
    """One run of the story."""

    def __init__(self, lab: Lab, screen: Screen) -> None:
        self.lab = lab
        self.screen = screen
        self.work = CACHE / "demo"
        self.declaration = Declaration(())
        self.capacities: list[tuple[str, int]] = []
        self.checksum = ""
        self._runs = 0

    @property
    def host(self) -> LabHost:
        """The only host."""
        return self.lab[HOST]

    @property
    def inventory(self) -> Path:
        """Where the pool is declared."""
        return self.work / "pool.yml"

    @property
    def shown_arguments(self) -> list[str]:
        """The arguments of ansible-playbook, as a person at the top of the checkout types them."""
        return [PLAYBOOK, "-i", _short(self.lab.inventory), "-i", _short(self.inventory)]

    def run(self) -> None:
        """Tell the whole story."""
        self._boot()
        self._make_pool()
        for number, exchange in enumerate(EXCHANGES, start=2):
            self._exchange(number, exchange)
        self._prove(len(EXCHANGES) + 2)

    def _boot(self) -> None:
        self.screen.say("A lab host starts: a virtual machine with four disks of 101 MiB.")
        started = time.monotonic()
        self.lab.say = lambda text: self.screen.block(text, DIM)
        self.lab.up()
        self.host.wait_booted()
        for bay in BAYS:
            self.host.disk_throttle(bay, bytes_per_second=DISK_SPEED)
        self.screen.good(f"it is up after {time.monotonic() - started:.0f} s")

    def _make_pool(self) -> None:
        self.screen.heading(f"1. A pool of four disks of {FIRST_SIZE[:-1]} MiB")
        disks = self.host.disks()
        self.declaration = Declaration(tuple(disks[bay] for bay in BAYS))
        self.screen.paragraph(
            "The inventory declares the disks and two volumes; one of them takes all the room there is."
        )
        self._play()
        self._check_capacity("4 disks of 101 MiB", FIRST_CAPACITY_MIB)
        self.host.run(["dd", "if=/dev/urandom", f"of={KEPT_FILE}", "bs=1M", f"count={KEPT_MIB}", "conv=fsync"])
        self.checksum = self._kept_checksum()
        self.screen.good(f"{KEPT_FILE} was written ({KEPT_MIB} MiB), to be compared at the end")

    def _exchange(self, number: int, exchange: Exchange) -> None:
        self.screen.heading(
            f"{number}. {exchange.bay}: a disk of {exchange.size[:-1]} MiB takes the place of a smaller one"
        )
        old = self.host.disks()[exchange.bay]
        self.host.disk_swap(exchange.bay, exchange.size, serial=serial(exchange.bay, exchange.size))
        self.host.disk_throttle(exchange.bay, bytes_per_second=DISK_SPEED)
        new = self.host.disks()[exchange.bay]
        self.declaration = self.declaration.exchanged(old, new)
        self.screen.paragraph(
            "The disk is pulled while in use, a blank one is put in, and its path goes into the inventory."
        )
        self.screen.paragraph(exchange.why)
        self._play()
        self._check_capacity(f"{exchange.bay} has {exchange.size[:-1]} MiB", exchange.capacity_mib)

    def _prove(self, number: int) -> None:
        self.screen.heading(f"{number}. Nothing is left to do, and nothing was lost")
        self.screen.paragraph("The same playbook runs once more.")
        played = self._play()
        if played.changed:
            raise DemoFailed(f"The last run had nothing to do and yet changed {played.changed} things.")
        self.screen.good("the run changed nothing (changed=0)")
        self.host.run(["sh", "-c", "echo 3 > /proc/sys/vm/drop_caches"])
        if self._kept_checksum() != self.checksum:
            raise DemoFailed(f"{KEPT_FILE} is not what was written at the beginning.")
        self.screen.good(f"{KEPT_FILE} read back from the disks is what was written at the beginning")

    def _play(self) -> Played:
        self._write_inventory()
        self.screen.say()
        self.screen.command(shlex.join(["ansible-playbook", *self.shown_arguments]))
        self._runs += 1
        watch, since = Watch(self.host), time.monotonic()

        def show_progress() -> None:
            sight = watch.look()
            if sight.work:
                first = sight.work[0]  # arrays on the same disks take turns
                self.screen.moving(first.text, _bar(first.percent), first.percent)
            else:
                self.screen.waiting(since, sight.busy_with)

        argv = playbook_argv(PLAYBOOK, [self.lab.inventory, self.inventory])
        played = play(argv, self.work / f"run-{self._runs}.log", show_progress)
        self._show(played)
        return played

    def _show(self, played: Played) -> None:
        result = played.of(MODULE)
        steps = result["plan"]
        for step in steps:
            self.screen.block(f"- {step['title']}", DIM)
        if not steps:
            self.screen.block("- nothing to do", DIM)
        self.screen.say()
        self.screen.block(result["layout"])
        self.screen.say()
        for finding in result["findings"]:
            self.screen.note(finding)
        self.screen.good(f"the run took {played.seconds:.0f} s")

    def _write_inventory(self) -> None:
        self.work.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump(self.declaration.inventory(), sort_keys=False)
        self.inventory.write_text(text, encoding="utf-8")

    def _check_capacity(self, what: str, expected_mib: int) -> None:
        argv = ["vgs", "--noheadings", "--nosuffix", "--units=b", "--options=vg_size", POOL]
        capacity = int(self.host.run(argv).stdout.strip())
        if capacity != expected_mib * 1024**2:
            raise DemoFailed(f"The volume group has {capacity / 1024**2:g} MiB; {expected_mib} MiB were expected.")
        self.capacities.append((what, expected_mib))
        self.screen.good(f"the volume group has {expected_mib} MiB, as it must")

    def _kept_checksum(self) -> str:
        return self.host.run(["sha256sum", KEPT_FILE], timeout=600).stdout.split()[0]


def _bar(percent: float) -> str:
    filled = min(BAR_CELLS, int(BAR_CELLS * percent / 100))
    return "[" + "#" * filled + "." * (BAR_CELLS - filled) + "]"


def _short(path: Path) -> str:
    """The path as seen from the checkout, where that is shorter."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _summarize(demo: Demo, screen: Screen, seconds: float) -> None:
    screen.heading("Summary")
    width = max(len(what) for what, _mib in demo.capacities)
    for what, mib in demo.capacities:
        screen.block(f"{what:<{width}}  {mib} MiB  {'#' * (mib // 12)}")
    screen.say()
    screen.block(
        f"{len(EXCHANGES)} disks were exchanged in use; every byte is there. It took {seconds / 60:.1f} minutes."
    )


def _say_how_to_go_on(screen: Screen, demo: Demo) -> None:
    python = _short(Path(sys.executable))
    lab = f"{python} -m tests.lab --name {demo.lab.name}"
    playbook = shlex.join([_short(Path(sys.executable).parent / "ansible-playbook"), *demo.shown_arguments])
    rows = {
        "Look around": f"{lab} ssh {HOST}",
        "Exchange a disk yourself": f"{lab} disk swap {HOST} bay1 401M --serial mine",
        "Write its path into the inventory": _short(demo.inventory),
        "Run the playbook": f"ANSIBLE_COLLECTIONS_PATH={_short(COLLECTIONS)} {playbook}",
        "What Ansible said": f"{_short(demo.work)}/run-*.log",
        "Remove the lab": f"{lab} down",
    }
    screen.say()
    for what, how in rows.items():
        screen.say(f"{INDENT}{what}:")
        screen.say(f"{INDENT}  {how}")


def _say_how_to_go_on_with(screen: Screen, chapter: str, name: str) -> None:
    lab = f"{_short(Path(sys.executable))} -m tests.lab --name {name}"
    rows = {
        DOCKER_CHAPTER: {
            "Look at the policy": f"{lab} ssh dock nft list table inet docker_firewall",
            "Remove Docker's lab": f"{lab} down",
        },
        CONFIG_CHAPTER: {
            "Look at the sets that are kept": f"{lab} ssh edge find /var/lib/baremetal.fabric/config",
            "Remove HAProxy's lab": f"{lab} down",
        },
    }[chapter]
    screen.say()
    for what, how in rows.items():
        screen.say(f"{INDENT}{what}:")
        screen.say(f"{INDENT}  {how}")


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description=__doc__)
    parser.add_argument("--remove", action="store_true", help="remove the lab at the end, also when something failed")
    parser.add_argument("--name", default=NAME, help="the lab's name; a lab of that name is removed first")
    parser.add_argument("--release", choices=RELEASES, default="trixie", help="the Debian release of the hosts")
    parser.add_argument("--only", choices=CHAPTERS, help="show one of them; all by default")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration; returns the exit status."""
    arguments = _arguments(argv)
    screen = Screen()

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    status = 1
    demo: Demo | None = None
    shown = [arguments.only] if arguments.only else CHAPTERS
    names = {
        POOL_CHAPTER: arguments.name,
        DOCKER_CHAPTER: f"{arguments.name}-docker",
        CONFIG_CHAPTER: f"{arguments.name}-config",
    }
    try:
        if sum(take_down(name) for name in names.values()):
            screen.say("The lab of an earlier demonstration was removed.")
        if DOCKER_CHAPTER in shown:
            screen.title("Docker's published ports obey a policy")
            PublishedDemo(names[DOCKER_CHAPTER], screen).run()
            screen.say()
        if CONFIG_CHAPTER in shown:
            screen.title("The configuration of a running daemon is guarded")
            GuardedDemo(names[CONFIG_CHAPTER], arguments.release, screen).run()
            screen.say()
        if POOL_CHAPTER in shown:
            started = time.monotonic()
            screen.title("A storage pool grows disk by disk")
            demo = Demo(Lab.from_topology(topology(arguments.release), arguments.name), screen)
            demo.run()
            _summarize(demo, screen, time.monotonic() - started)
        status = 0
    except (DemoFailed, PolicyFailed, GuardFailed, PlaybookFailed, LabError) as error:
        screen.say()
        screen.bad(f"The demonstration failed: {error}")
    except KeyboardInterrupt:
        screen.say()
        screen.bad("Interrupted.")
        status = 130
    if arguments.remove:
        for name in names.values():
            take_down(name)
        screen.say()
        screen.say("The labs were removed.")
        return status
    for chapter in (DOCKER_CHAPTER, CONFIG_CHAPTER):
        if chapter in shown:
            _say_how_to_go_on_with(screen, chapter, names[chapter])
    if demo is not None:
        _say_how_to_go_on(screen, demo)
    return status


if __name__ == "__main__":
    sys.exit(main())
