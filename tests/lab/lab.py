"""A lab of hosts, for pytest and for the command line."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from . import addresses, cgroups, network, processes, remote
from .commands import environment, require, require_root, require_space, run
from .container import Container, remove_leftovers
from .errors import LabError
from .image import Say, cache_directory, ensure_image
from .inventory import inventory_text
from .machine import MAX_LINKS, Machine, by_id, disk_of, size_of
from .recipe import Recipe, image_recipe
from .seed import GuestInterface, machine_nameservers, port_interface, seed_tar
from .state import LabState, lab_lock, machine_lock, read_json, write_json, write_private
from .station import Station
from .topology import NETNS, UPLINK, Topology, parse_topology, read_topology
from .topology import Host as HostSpec

BOOT_TIMEOUT = 600.0
LOAD_TIMEOUT = 300.0
SHUTDOWN_POLL = 1.0
END_ROUNDS = 5
KEEP_VARIABLE = "FABRIC_LAB_KEEP"


def quiet(_text: str) -> None:
    """Say nothing."""


def say_to_stderr(text: str) -> None:
    """A progress line for a person."""
    print(f"lab: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class HostStatus:
    """What ``status`` shows of a host."""

    name: str
    kind: str
    release: str
    running: bool
    reach: str
    disks: tuple[str, ...]


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
        return remote.wait_answer(self.lab.state, self.name, timeout, lambda: self.running)

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


class Lab:
    """A lab by name. ``with Lab.from_topology(...) as lab`` brings it up and takes it down."""

    def __init__(self, name: str, topology: Topology, source: Mapping[str, Any], say: Say = quiet) -> None:
        self.name = addresses.check_lab_name(name)
        self.topology = topology
        self.source = source
        self.say = say
        self.state = LabState(name)
        self._hosts: dict[str, LabHost] = {}

    @classmethod
    def from_topology(cls, source: Path | str | Mapping[str, Any], name: str, say: Say = quiet) -> Lab:
        """A lab as a topology file (or the same as data) declares it; nothing is started yet.

        Raises:
            TopologyError: what is wrong in it, and where.
        """
        data = source if isinstance(source, Mapping) else read_topology(Path(source))
        topology = parse_topology(data)
        for host in topology.hosts:
            if host.kind == "qemu" and len(host.ports) > MAX_LINKS:
                raise LabError(f"hosts.{host.name}: a QEMU host takes part in {MAX_LINKS} links at most")
        return cls(name, topology, data, say)

    @classmethod
    def running(cls, name: str, say: Say = quiet) -> Lab:
        """The lab of that name as it was brought up; raises LabError when there is none."""
        state = LabState(addresses.check_lab_name(name))
        data = read_json(state.topology)
        if data is None:
            raise LabError(f"no lab is named {name!r}; bring one up with: python3 -m tests.lab --name {name} up FILE")
        return cls(name, parse_topology(data), data, say)

    def __enter__(self) -> Lab:
        try:
            self.up()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def _leave(self) -> None:
        if os.environ.get(KEEP_VARIABLE):
            say_to_stderr(f"{KEEP_VARIABLE} is set; remove with: python3 -m tests.lab --name {self.name} down")
            return
        self.down()

    def __getitem__(self, name: str) -> LabHost:
        if name not in self._hosts:
            self._hosts[name] = LabHost(self, self.topology.host(name))
        return self._hosts[name]

    @property
    def hosts(self) -> list[LabHost]:
        """All hosts, in the topology's order."""
        return [self[spec.name] for spec in self.topology.hosts]

    @property
    def inventory(self) -> Path:
        """The inventory for Ansible."""
        return self.state.inventory

    # Up

    def up(self, timeout: float = BOOT_TIMEOUT) -> list[str]:
        """Bring everything up that is not, in parallel; returns the hosts that were started.

        Raises:
            LabError: what is missing, or which host does not answer.
        """
        require_root()
        require("ip", "ssh", "ssh-keygen", "nc")
        with lab_lock(self.name):
            self._claim()
            trees = self._images()
            uplink = self._network()
            keys = {spec.name: self._seed(spec, uplink) for spec in self.topology.hosts if spec.kind != NETNS}
            reaches = self._reaches()
            machines = {addresses.namespace(self.name, host): key for host, key in keys.items()}
            remote.write_config(self.state, reaches, machines)
            inventory = inventory_text(self.topology, reaches, self.state.ssh_config)
            write_private(self.state.inventory, inventory.encode())
            with ThreadPoolExecutor(max_workers=8) as pool:
                started = list(pool.map(lambda host: self._bring_up(host, trees, timeout), self.hosts))
        return [host.name for host, fresh in zip(self.hosts, started, strict=True) if fresh]

    def _claim(self) -> None:
        known = read_json(self.state.topology)
        if known is None:
            foreign = processes.of_lab(self.name, self.state.directory) or network.namespaces(self.name)
            if foreign:
                raise LabError(
                    f"something of a lab named {self.name!r} runs here without its state directory; remove it with: "
                    f"python3 -m tests.lab --name {self.name} down"
                )
        elif known != _plain(self.source):
            raise LabError(
                f"the lab {self.name!r} is up with another topology; take it down first, or choose another --name"
            )
        self.state.create()
        require_space(self.state.directory, 1024**3)
        write_json(self.state.topology, _plain(self.source))

    def _images(self) -> dict[str, Path]:
        """Images for all hosts, built where missing, different ones side by side."""
        recipes = {host.name: recipe_of(host) for host in self.topology.hosts if host.kind != NETNS}
        different = {recipe.key: recipe for recipe in recipes.values()}
        cache = cache_directory()
        cache.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(max_workers=2) as pool:
            built = pool.map(lambda recipe: ensure_image(recipe, cache, self.say), different.values())
            paths = dict(zip(different, built, strict=True))
        return {name: paths[recipe.key] for name, recipe in recipes.items()}

    def _needs_switch(self) -> bool:
        return bool(self.topology.links) or any(host.kind != "qemu" for host in self.topology.hosts)

    def _network(self) -> dict[str, ipaddress.IPv4Interface]:
        """Switch, cables and uplink; returns the uplink addresses of nspawn hosts."""
        planned: dict[str, ipaddress.IPv4Interface] = {}
        gateway = ""
        if self._needs_switch():
            network.build_switch(self.name, self.topology)
        if self._needs_uplink():
            require("nft")
            subnet = network.reserve_uplink(self.state)
            network.build_uplink(self.state, subnet)
            planned, gateway = self._uplinks(subnet)
        for spec in self.topology.hosts:
            if spec.kind != "qemu":
                if not self[spec.name].running:
                    network.disconnect_container(self.name, spec)
                network.connect_container(self.name, spec, self.topology, planned.get(spec.name), gateway)
        self._reserve_ports()
        return planned

    def _needs_uplink(self) -> bool:
        return self.topology.uplink and any(host.kind == "nspawn" for host in self.topology.hosts)

    def _uplinks(self, subnet: ipaddress.IPv4Network) -> tuple[dict[str, ipaddress.IPv4Interface], str]:
        """The uplink addresses of nspawn hosts, and the gateway."""
        containers = [host.name for host in self.topology.hosts if host.kind == "nspawn"]
        return {name: addresses.uplink_address(subnet, i) for i, name in enumerate(containers)}, str(subnet[1])

    def rewire(self, spec: HostSpec) -> None:
        """Give an nspawn or netns host a new namespace, cabled as before; nothing may run in the old one."""
        if spec.kind == "qemu":
            return
        planned: dict[str, ipaddress.IPv4Interface] = {}
        gateway = ""
        if self._needs_uplink():
            planned, gateway = self._uplinks(network.reserve_uplink(self.state))
        network.disconnect_container(self.name, spec)
        network.connect_container(self.name, spec, self.topology, planned.get(spec.name), gateway)

    def _reserve_ports(self) -> None:
        with machine_lock():
            plan = read_json(self.state.network, {})
            ports: dict[str, int] = plan.setdefault("ports", {})
            others = [read_json(lab.network, {}).get("ports", {}) for lab in self.state.others()]
            taken = {port for theirs in others for port in theirs.values()}
            for host in self.topology.hosts:
                if host.kind == "qemu" and host.name not in ports:
                    ports[host.name] = self._free_port(host.name, taken | set(ports.values()))
            write_json(self.state.network, plan)

    def _free_port(self, host: str, taken: set[int]) -> int:
        while True:
            port = addresses.forwarded_port(self.name, host, taken)
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    taken = taken | {port}
                    continue
            return port

    def _seed(self, spec: HostSpec, uplink: Mapping[str, object]) -> str:
        """Write the host's seed once; returns its public host key."""
        directory = self.state.host_directory(spec.name)
        host_key = remote.make_key(directory / "ssh_host_ed25519_key", spec.name)
        _private, authorized = remote.make_key(self.state.private_key, f"lab {self.name}")
        if not (directory / "seed.tar").exists():
            if spec.kind == "qemu":
                interfaces = self._guest_interfaces(spec)
                resolvers = [str(addresses.GUEST_NETWORK[3])] if self.topology.uplink else []
            else:
                interfaces = []
                resolvers = machine_nameservers() if spec.name in uplink else []
            tar = seed_tar(spec, self.topology, authorized, host_key, resolvers, interfaces)
            write_private(directory / "seed.tar", tar)
        return host_key[1]

    def _guest_interfaces(self, spec: HostSpec) -> list[GuestInterface]:
        guest = addresses.GUEST_NETWORK
        mac = addresses.mac_address(self.name, spec.name, UPLINK)
        # Without an uplink the interface still carries SSH, so it stays, but leads nowhere else.
        gateway = str(guest[2]) if self.topology.uplink else None
        found = [GuestInterface(UPLINK, mac, 1500, [f"{guest[15]}/{guest.prefixlen}"], gateway)]
        for port in spec.ports:
            mac = addresses.mac_address(self.name, spec.name, port.link)
            found.append(port_interface(port, mac, self.topology.links[port.link]))
        return found

    def _reaches(self) -> list[remote.Reach]:
        ports = read_json(self.state.network, {}).get("ports", {})
        return [
            remote.Reach(
                host=spec.name,
                machine=addresses.namespace(self.name, spec.name),
                port=ports.get(spec.name),
                control_path=self.state.host_directory(spec.name) / "ssh",
            )
            for spec in self.topology.hosts
            if spec.kind != NETNS
        ]

    def _bring_up(self, host: LabHost, trees: Mapping[str, Path], timeout: float) -> bool:
        if host.running:  # as every netns host is by now
            host.wait_ssh(timeout)
            return False
        self.start_host(host, trees[host.name])
        self.say(f"{host.name}: started ({host.kind}, {host.spec.release})")
        try:
            seconds = host.wait_ssh(timeout)
        except LabError as error:
            raise LabError(f"{error}\nthe end of its console:\n{host.console(20)}") from error
        self.say(f"{host.name}: answers after {seconds:.1f} s")
        return True

    def start_host(self, host: LabHost, image: Path | None = None) -> None:
        """Start one host's process; it does nothing when that runs."""
        body = host._body
        if isinstance(body, Station):
            return
        if image is None:
            image = ensure_image(recipe_of(host.spec), cache_directory(), self.say)
        if isinstance(body, Machine):
            body.create(image)
            body.start()
        else:
            body.start(image)

    # Down, status

    def down(self) -> None:
        """Remove the lab. Works from its name alone, whatever state a killed command left."""
        take_down(self.name, self.say)
        self._hosts.clear()

    def status(self) -> list[HostStatus]:
        """Each host, whether it runs, how it is reached, and its disks."""
        rows = []
        reaches = {reach.host: reach for reach in self._reaches()}
        for host in self.hosts:
            reach = reaches.get(host.name)
            where = f"127.0.0.1:{reach.port}" if reach and reach.port else f"netns {host.netns}"
            bays = host._body.bays if isinstance(host._body, Machine) else None
            inserted = bays.inserted.items() if bays else ()
            disks = tuple(f"{slot}:{unit.disk.id}={unit.disk.size_bytes // 1024**2}M" for slot, unit in inserted)
            release = "-" if host.kind == NETNS else host.spec.release
            rows.append(HostStatus(host.name, host.kind, release, host.running, where, disks))
        return rows

    def switch_run(self, argv: Sequence[str], check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command in the switch's namespace, such as tcpdump on a bridge ``br-LINK``."""
        return run(["ip", "netns", "exec", addresses.namespace(self.name), *argv], check=check)


def recipe_of(spec: HostSpec) -> Recipe:
    """The recipe of the image that a host boots from."""
    return image_recipe(spec.release, spec.kind, spec.packages, spec.disabled_units)


def _plain(source: Mapping[str, Any]) -> Any:
    """The topology as it comes back from JSON, for comparison."""
    return json.loads(json.dumps(source))


def take_down(name: str, say: Callable[[str], None] = quiet) -> bool:
    """End and remove all of a lab, by its state directory and by its names; False when there was nothing."""
    require_root()
    require("ip")
    state = LabState(addresses.check_lab_name(name))
    with lab_lock(name, remove=True):
        found = processes.of_lab(name, state.directory)
        there = bool(found) or state.exists() or bool(network.namespaces(name))
        _end_processes(name, state, say)
        remove_leftovers(name)
        cgroups.remove(name)
        network.remove_network(state)
        state.remove()
    if there:
        say(f"{name}: removed")
    return there


def _end_processes(name: str, state: LabState, say: Callable[[str], None]) -> None:
    """Kill what runs; again, because something that was just starting may have gone one step further meanwhile."""
    for _round in range(END_ROUNDS):
        found = processes.of_lab(name, state.directory)
        if not found:
            return
        say(f"{name}: ending {len(found)} processes")
        nspawn = [pid for pid in found if _is_nspawn(pid)]
        others = [pid for pid in found if pid not in nspawn]
        processes.end(others)
        for pid in nspawn:
            # With its container gone, nspawn leaves in order. One that has none yet would go on booting it.
            processes.end_in_order(pid, timeout=5.0 if others else 0.0)
    raise LabError(
        f"processes of the lab {name!r} come back as fast as they are ended; see: ps -ef | grep lab-{name}--"
    )


def _is_nspawn(pid: int) -> bool:
    argv = processes.command_line(pid)
    return bool(argv) and Path(argv[0]).name == "systemd-nspawn"


def lab_names() -> Iterable[str]:
    """Labs that have a state directory on this machine."""
    root = LabState("any").root
    return sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
