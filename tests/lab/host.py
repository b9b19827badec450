"""One host of a lab: commands, power, disks, snapshots, whatever kind it is of."""

from __future__ import annotations

import contextlib
import shlex
import subprocess
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import addresses, network, remote
from .commands import environment, run
from .container import Container
from .errors import LabError
from .machine import Machine, by_id, disk_of, size_of
from .station import Station
from .topology import NETNS
from .topology import Host as HostSpec

if TYPE_CHECKING:
    from .lab import Lab

BOOT_TIMEOUT = 600.0
LOAD_TIMEOUT = 300.0
SHUTDOWN_POLL = 1.0


class LabHost:
    """One host. What it cannot do because of its kind raises a LabError that says so.

    Disks and snapshots are for QEMU hosts. A netns host runs commands, and has neither files nor a system of its own.
    """

    def __init__(self, lab: Lab, spec: HostSpec) -> None:
        self.lab = lab
        self.spec = spec
        self.name = spec.name
        self.kind = spec.kind
        self._body: Machine | Container | Station
        if spec.kind == "qemu":
            self._body = Machine(lab.state, spec, lab.topology)
        elif spec.kind == NETNS:
            self._body = Station(lab.state, spec)
        else:
            self._body = Container(lab.state, spec)

    # Commands

    def run(
        self, argv: Sequence[str], *, check: bool = True, timeout: float = 300.0, stdin: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as root; its words reach it as they are.

        Raises:
            CommandError: it returned non-zero (with what it printed) and ``check`` is set.
            LabError: it did not end within ``timeout`` seconds; it may still run on the host.
        """
        if isinstance(self._body, Station):
            return run(self._body.argv(argv), check=check, timeout=timeout, stdin=stdin)
        data = None if stdin is None else stdin.encode()
        result = remote.execute(self.lab.state, self.name, argv, check=check, timeout=timeout, stdin=data)
        return subprocess.CompletedProcess(
            list(argv),
            result.returncode,
            result.stdout.decode(errors="replace"),
            result.stderr.decode(errors="replace"),
        )

    def put(self, data: bytes, path: str, mode: int = 0o644) -> None:
        """Write a file, making the directories above it."""
        self._system("its files are the machine's")
        argv = ["install", "-D", "-m", f"{mode:o}", "/dev/stdin", path]
        remote.execute(self.lab.state, self.name, argv, check=True, timeout=300, stdin=data)

    def get(self, path: str) -> bytes:
        """Read a file."""
        self._system("its files are the machine's")
        return remote.execute(self.lab.state, self.name, ["cat", path], check=True, timeout=300).stdout

    def popen(self, argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a command and leave it running; ended locally it goes on on the host, unless that is a netns host."""
        if isinstance(self._body, Station):
            return subprocess.Popen(self._body.argv(argv), env=environment(), **options)
        return subprocess.Popen([*remote.ssh_argv(self.lab.state, self.name), "--", shlex.join(argv)], **options)

    def wait_ssh(self, timeout: float = BOOT_TIMEOUT) -> float:
        """Wait until commands run; returns the seconds waited."""
        if isinstance(self._body, Station):
            return 0.0

        def alive() -> bool:
            if isinstance(self._body, Machine) and self._body.start_again():
                self.lab.say(f"{self.name}: the emulated kernel panicked in its start; started again")
            return self.running

        return remote.wait_answer(self.lab.state, self.name, timeout, alive)

    def wait_booted(self, timeout: float = BOOT_TIMEOUT) -> str:
        """Wait until systemd has started everything; returns ``running`` or ``degraded``."""
        self._system("it does not boot")
        self.wait_ssh(timeout)
        return self.run(["systemctl", "is-system-running", "--wait"], check=False, timeout=timeout).stdout.strip()

    def _system(self, reason: str) -> None:
        if isinstance(self._body, Station):
            raise LabError(f"{self.name} is a netns host, so {reason}; use kind: nspawn")

    # Power

    @property
    def running(self) -> bool:
        """Whether the host's process is there."""
        return self._body.running if isinstance(self._body, Station) else self._body.pid is not None

    def power_off(self, clean: bool = False, timeout: float = 120.0) -> None:
        """Pull the plug, or with ``clean`` let the system shut down.

        Completed writes stay on the disks of a QEMU host, and all files on a persistent nspawn host, whose files are
        the machine's to write back. What the kernel held for an nspawn host (tables, bridges) goes at the next start.
        """
        if clean and self.running and isinstance(self._body, Machine):
            self.run(["systemctl", "poweroff"], check=False, timeout=timeout)
            self._body.wait_off(timeout)
        elif clean and isinstance(self._body, Container):
            self._body.shut_down(timeout)
        self._body.power_off()
        self._forget_connection()

    def power_on(self, timeout: float = BOOT_TIMEOUT, wait: bool = True) -> None:
        """Start from the same disks (an nspawn host that is not persistent: from a fresh overlay) and wait for SSH."""
        if not self.running or isinstance(self._body, Station):
            self.lab.rewire(self.spec)
        self.lab.start_host(self)
        if wait:
            self.wait_ssh(timeout)

    def reset(self, timeout: float = BOOT_TIMEOUT, wait: bool = True) -> None:
        """The reset button: power off and on without a moment for the system to shut down."""
        if not isinstance(self._body, Machine):
            self.power_off()
            self.power_on(timeout, wait)
            return
        self._body.reset()
        self._forget_connection()
        if wait:
            self.wait_ssh(timeout)

    def reboot(self, timeout: float = BOOT_TIMEOUT) -> None:
        """Shut down in order and boot again."""
        if not isinstance(self._body, Machine):
            self.power_off(clean=True, timeout=timeout)
            self.power_on(timeout)
            return
        before = self.run(["cat", "/proc/sys/kernel/random/boot_id"]).stdout
        self.run(["systemctl", "reboot"], check=False)
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self._forget_connection()
            with contextlib.suppress(LabError):
                self.wait_ssh(60)
                if self.run(["cat", "/proc/sys/kernel/random/boot_id"], timeout=60).stdout != before:
                    return
                time.sleep(SHUTDOWN_POLL)
        raise LabError(f"{self.name} did not come back from a reboot within {timeout:.0f} s")

    def reinstall(self, timeout: float = BOOT_TIMEOUT) -> None:
        """Boot an nspawn host as at first, without a trace of what was done to it."""
        if not isinstance(self._body, Container):
            raise LabError(f"{self.name} is of kind {self.kind}: only nspawn hosts can start over; use a snapshot")
        self.power_off()
        self._body.wipe()
        self.power_on(timeout)

    def _forget_connection(self) -> None:
        if isinstance(self._body, Station):
            return
        remote.drop_connection(self.lab.state, self.name)

    # Disks

    def _machine(self) -> Machine:
        if not isinstance(self._body, Machine):
            raise LabError(f"{self.name} is of kind {self.kind}: it has no disks and no snapshots; use kind: qemu")
        return self._body

    def disk_add(self, name: str, size: int | str | None = None, **properties: Any) -> None:
        """Insert a new blank disk (``serial``, ``logical_block_size``, ``bus``, ``wwn``, ``iops``), also while off.

        Without a size: insert again the disk of that id that was pulled, with its bytes.
        """
        self._machine().disk_add(name if size is None else disk_of(name, size, **properties))

    def disk_remove(self, name: str) -> None:
        """Pull a disk, running or not."""
        self._machine().disk_remove(name)

    def disk_swap(self, name: str, size: int | str, new_name: str | None = None, **properties: Any) -> None:
        """Pull a disk and insert a blank one in the same slot; give it another serial, as a real one has."""
        self._machine().disk_swap(name, disk_of(new_name or name, size, **properties))

    def disk_resize(self, name: str, size: int | str) -> None:
        """Grow a disk under the running host."""
        self._machine().disk_resize(name, size_of(size))

    def disk_throttle(self, name: str, iops: int | None = None, bytes_per_second: int | str | None = None) -> None:
        """Slow a disk down, so that a resync or a reshape lasts; without limits: full speed again."""
        rate = None if bytes_per_second is None else size_of(bytes_per_second)
        self._machine().disk_throttle(name, iops, rate)

    def disks(self) -> dict[str, str]:
        """Inserted disks: id -> the stable path it has in the guest."""
        found = {}
        for unit in self._machine().bays.inserted.values():
            found[unit.disk.id] = f"/dev/disk/by-id/{by_id(unit.disk)}"
        return found

    # Snapshots

    def snapshot_save(self, tag: str) -> None:
        """Memory and disks under ``tag``."""
        self._machine().snapshot_save(tag)

    def snapshot_load(self, tag: str) -> None:
        """Back to ``tag``, disks as they were inserted then; the host answers at once."""
        machine = self._machine()
        self._forget_connection()
        machine.snapshot_load(tag)
        self.wait_ssh(LOAD_TIMEOUT)

    def snapshot_list(self) -> list[str]:
        """Known tags."""
        return self._machine().snapshot_list()

    # Looking in

    def console(self, lines: int = 50) -> str:
        """The end of the console's log."""
        self._system("it has no console")
        return "" if isinstance(self._body, Station) else "\n".join(self._body.console().splitlines()[-lines:])

    def set_cable(self, link: str, up: bool) -> None:
        """Plug or unplug the host's cable of a link, at the switch."""
        network.set_cable(self.lab.name, self.name, link, up)

    @property
    def netns(self) -> str:
        """The network namespace of an nspawn or netns host."""
        return addresses.namespace(self.lab.name, self.name)
