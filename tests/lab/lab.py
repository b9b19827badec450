"""A lab of hosts, for pytest and for the command line."""

from __future__ import annotations

import ipaddress
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from . import addresses, cgroups, network, processes, remote
from .commands import require, require_root, require_space, run
from .container import remove_leftovers
from .errors import LabError
from .host import BOOT_TIMEOUT, LabHost
from .image import Say, cache_directory, ensure_image
from .inventory import inventory_text
from .machine import MAX_LINKS, Machine
from .recipe import Recipe, image_recipe
from .seed import GuestInterface, machine_nameservers, port_interface, seed_tar
from .state import LabState, lab_lock, machine_lock, read_json, write_json, write_private
from .station import Station
from .topology import NETNS, UPLINK, Topology, parse_topology, read_topology
from .topology import Host as HostSpec

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
