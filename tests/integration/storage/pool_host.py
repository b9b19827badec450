"""A lab host on which pools are declared: runs the module, swaps disks, watches data, tells all when a test fails."""

from __future__ import annotations

import contextlib
import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tests.integration.modules.module_host import ModuleHost
from tests.integration.modules.on_host.stand import PORT
from tests.integration.modules.payload import FOLDER
from tests.integration.modules.result import Result, Values
from tests.lab.remote import ssh_argv

MIB = 1024**2
#: An emulated host takes half a minute, on a machine that has other things to do many times that.
BOOT_SECONDS = 900.0
GIB = 1024**3
ACCOUNT = "/var/lib/fabric-proof/acknowledged"
SEEN_CUTS = "/var/lib/fabric-proof/cuts"
POOL = "data"
STAND = "fabric-stand.service"
WRITER = "fabric-writer.service"

#: Scripts whose output helps to understand a failure.
TELLING = (
    "cat /proc/mdstat",
    "cd /sys/block; grep -s . md*/md/array_state md*/md/sync_action md*/md/reshape_position md*/md/raid_disks"
    " md*/md/degraded md*/md/suspend_lo md*/md/suspend_hi md*/md/sync_completed md*/md/dev-*/state",
    "lsblk -o NAME,SIZE,TYPE,FSTYPE,SERIAL,PARTLABEL,MOUNTPOINT",
    "ps -eo pid,ppid,stat,wchan:20,args | grep -E ' D|mdadm|lv|vg|pv|mkfs|resize|on_host' | grep -v grep",
    "dmesg | tail -25",
    f"for v in /dev/{POOL}/*; do findmnt $v || e2fsck -fn $v 2>&1; done",
)


def by_id(disk: str) -> str:
    """The stable path of a virtio disk whose serial is its id in the lab."""
    return f"/dev/disk/by-id/virtio-{disk}"


def volume(name: str, size: str, filesystem: str = "ext4", mounted: bool = True, **more: Any) -> dict[str, Any]:
    """A volume as it is declared, mounted below /srv."""
    place = {"mount_point": f"/srv/{name}"} if mounted else {}
    return {"name": name, "size": size, "filesystem": filesystem, **place, **more}


@dataclass(frozen=True)
class PoolResult(Result):
    """What one run of raid_pool came to."""

    @property
    def pending(self) -> list[str]:
        """What goes on by itself, or is left for the next run."""
        return [each["what"] for each in self.values["pending"]]

    @property
    def capacity_mib(self) -> float:
        """The size of the volume group."""
        return float(self.values["pool"]["capacity"]) / MIB

    def array(self, index: int) -> Values:
        """One array of the pool."""
        name = f"{POOL}-{index}"
        found: Values = next(each for each in self.values["pool"]["arrays"] if each["name"] == name)
        return found

    @property
    def shapes(self) -> list[tuple[str, int, float]]:
        """Level, members and MiB of each array."""
        return [(each["level"], each["devices"], each["size"] / MIB) for each in self.values["pool"]["arrays"]]

    def volume(self, name: str) -> Values:
        """One volume of the pool."""
        found: Values = next(each for each in self.values["pool"]["volumes"] if each["name"] == name)
        return found


@dataclass
class PoolHost(ModuleHost):
    """The host. Every test begins at a snapshot, so it may leave behind what it likes."""

    result: ClassVar[type[Result]] = PoolResult
    patience: ClassVar[float] = 1200.0
    programs: ClassVar[tuple[Path, ...]] = (Path(__file__).parent / "on_host",)
    telling: ClassVar[tuple[str, ...]] = TELLING

    # Modules

    def ask(self, order: str, timeout: float) -> dict[str, Any]:
        """Have the stand carry out an order, which saves an emulated host Python's imports."""
        if self.host.run(["systemctl", "is-active", "--quiet", STAND], check=False).returncode != 0:
            self.start_stand()  # the host was started anew
        argv = ssh_argv(self.host.lab.state, self.host.name, "-W", f"127.0.0.1:{PORT}")
        done = subprocess.run(argv, input=order + "\n", capture_output=True, text=True, timeout=timeout, check=False)
        assert done.stdout.strip(), f"the stand on {self.host.name} does not answer: {done.stderr}"
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def pool(self, disks: Sequence[str], check: bool = False, **options: Any) -> PoolResult:
        """Declare a pool on these disks (ids in the lab, or paths) and run the module, whatever comes of it."""
        ending = {key: options.pop(key) for key in ("cut", "orphan", "instead", "timeout") if key in options}
        paths = [disk if disk.startswith("/") else by_id(disk) for disk in disks]
        result = self.module("raid_pool", {"name": POOL, "disks": paths, **options}, check=check, **ending)
        assert isinstance(result, PoolResult)
        return result

    def grown(self, disks: Sequence[str], **options: Any) -> PoolResult:
        """Run the module; it must do its work."""
        result = self.pool(disks, **options)
        assert not result.failed, result.message
        return result

    def settled(self, disks: Sequence[str], **options: Any) -> PoolResult:
        """Run the module, and once more: the second run finds nothing to do and nothing under way."""
        first = self.grown(disks, **options)
        assert not first.pending, first.pending
        self.at_rest(disks, **options)
        return first

    def at_rest(self, disks: Sequence[str], **options: Any) -> PoolResult:
        """A run changes nothing, plans nothing, finds nothing under way."""
        again = self.grown(disks, **options)
        assert (again.changed, again.titles, again.pending) == (False, [], [])
        assert again.values["pool"]["settled"]
        return again

    def refused(self, disks: Sequence[str], **options: Any) -> str:
        """Run the module; it must refuse, in check mode and otherwise with the same words. Returns these."""
        real = self.pool(disks, **options)
        assert real.failed, f"not refused; it did: {real.titles}"
        assert not real.changed
        trial = self.pool(disks, check=True, **options)
        assert trial.failed
        assert trial.message == real.message
        return real.message

    # The host

    def prepare(self) -> None:
        """Bring what the tests need to a host that was just booted."""
        self.install()
        self.run("mkdir", "-p", "/var/lib/fabric-proof")
        self.start_stand()

    def start_stand(self) -> None:
        """Start what runs the modules, and wait until it listens."""
        self.run(
            "systemd-run",
            "--collect",
            f"--unit={STAND}",
            f"--setenv=PYTHONPATH={FOLDER}",
            "--property=KillMode=process",
            "python3",
            "-m",
            "on_host.stand",
            "raid_pool",
        )
        listening = f":{PORT:04X} 00000000:0000 0A"
        self.until(("grep", "-q", listening, "/proc/net/tcp"), 120)

    # Power

    def reset(self) -> str:
        """Press the reset button and wait until everything has started; returns ``running`` or ``degraded``."""
        self.host.reset(wait=False)
        return self.host.wait_booted(BOOT_SECONDS)

    def boot(self) -> str:
        """Switch the host on and wait until everything has started; returns ``running`` or ``degraded``."""
        self.host.power_on(wait=False)
        return self.host.wait_booted(BOOT_SECONDS)

    # Disks

    def plug(self, *disks: str, size: str = "101M", **properties: Any) -> None:
        """Insert blank disks, and wait until the host shows them."""
        for disk in disks:
            self.host.disk_add(disk, size, **properties)
        self._await_disks(disks)

    def plug_again(self, disk: str) -> None:
        """Insert a disk that was pulled, with its bytes."""
        self.host.disk_add(disk)
        self._await_disks([disk])

    def _await_disks(self, disks: Sequence[str]) -> None:
        for disk in disks:
            self.until(("test", "-b", self.host.disks()[disk]), 60)

    def pull(self, *disks: str) -> None:
        """Pull disks out of the running host."""
        for disk in disks:
            self.host.disk_remove(disk)

    def swap(self, old: str, new: str, size: str = "101M", **properties: Any) -> None:
        """Pull a disk and put a blank one into its slot."""
        self.host.disk_swap(old, size, new_name=new, **properties)
        self._await_disks([new])

    def throttle(self, *disks: str, bytes_per_second: int | None = None) -> None:
        """Make disks slow, so that md's work lasts; without a limit: fast again."""
        for disk in disks:
            self.host.disk_throttle(disk, bytes_per_second=bytes_per_second)

    def hold(self, speed_kib: int) -> None:
        """Let md resync and reshape with so many KiB/s and disk at most; new arrays begin with it too."""
        self.sh(f"echo {speed_kib} | tee /proc/sys/dev/raid/speed_limit_min /proc/sys/dev/raid/speed_limit_max")

    def release(self) -> None:
        """Let md work as fast as it can."""
        self.sh("echo 2000000 > /proc/sys/dev/raid/speed_limit_max; echo 200000 > /proc/sys/dev/raid/speed_limit_min")

    def fingerprint(self, *disks: str) -> str:
        """A hash over all bytes of disks as they lie outside of the host, which has flushed what it had to write."""
        paths = [self.host.disks()[disk] for disk in disks]
        self.run("sync", *paths)
        return " ".join(hashlib.sha256(self._file(disk).read_bytes()).hexdigest() for disk in disks)

    def _file(self, disk: str) -> Path:
        machine = self.host._machine()
        return machine.directory / machine.bays.inserted[machine.bays.slot_of(disk)].file

    # Data

    def fill(self, directory: str, mib: int, name: str = "still") -> str:
        """Write random bytes that nobody touches afterwards; returns their hash."""
        path = f"{directory}/{name}"
        self.sh(f"head -c {mib}M /dev/urandom > {path}; sync -f {path}")
        return self.hash(path)

    def hash(self, path: str) -> str:
        """The hash of a file as it is on the disks."""
        return self.sh(f"sync; echo 3 > /proc/sys/vm/drop_caches; sha256sum {path}").split()[0]

    def start_writer(self, directory: str) -> None:
        """Have records written to ``directory`` with fsync from now on."""
        self.run(
            "systemd-run",
            f"--unit={WRITER}",
            "--collect",
            f"--setenv=PYTHONPATH={FOLDER}",
            "python3",
            "-m",
            "on_host.writer",
            "write",
            directory,
            ACCOUNT,
        )
        self.until(("test", "-s", ACCOUNT), 60)

    def acknowledged(self) -> int:
        """How many records the writer was told are safe."""
        return int(self.read(ACCOUNT))

    def writer_goes_on(self, since: int) -> int:
        """Wait until more records are acknowledged than ``since``; returns how many."""
        self.until(("sh", "-c", f"[ $(cat {ACCOUNT}) -gt {since} ]"), 60)
        return self.acknowledged()

    def check_records(self, directory: str) -> int:
        """Hold what is on the disks against what was acknowledged; returns how many records that were."""
        self.run("systemctl", "kill", "--kill-whom=all", "--signal=STOP", WRITER, check=False)
        try:
            output = self.run(
                "env", f"PYTHONPATH={FOLDER}", "python3", "-m", "on_host.writer", "check", directory, ACCOUNT
            )
        finally:
            self.run("systemctl", "kill", "--kill-whom=all", "--signal=CONT", WRITER, check=False)
        found = json.loads(output)
        assert found["wrong"] == []
        assert found["acknowledged"] > 0
        return int(found["acknowledged"])

    def held(self) -> list[str]:
        """The device-mapper volumes that let nothing through."""
        return [
            line
            for line in self.run("dmsetup", "info", "-c", "--noheadings", "-o", "name,suspended").splitlines()
            if line.endswith(":Suspended")
        ]

    # Snapshots

    def at(self, tag: str, build: Callable[[PoolHost], None], start: str = "blank") -> PoolHost:
        """Go to the state that ``build`` makes from ``start``; it is made once and kept as a snapshot."""
        if tag in self.host.snapshot_list():
            self.host.snapshot_load(tag)
            self.history = [f"at {tag}"]
            return self
        self.host.snapshot_load(start)
        self.history = [f"at {start}, to make {tag}"]
        build(self)
        self.host.snapshot_save(tag)
        return self

    @contextlib.contextmanager
    def returning(self, tag: str = "here") -> Iterator[None]:
        """Undo whatever happens inside: memory and disks."""
        self.host.snapshot_save(tag)
        yield
        self.host.snapshot_load(tag)
