"""The topology file: what a lab consists of. Pure; every mistake in it is named with its place and what is allowed."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from .errors import TopologyError
from .recipe import FURTHER_SUITES, KINDS, RELEASES

UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,14}[a-z0-9])?\Z")
LINK_NAME = re.compile(r"[a-z][a-z0-9-]{0,11}\Z")
DISK_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,11}\Z")
PACKAGE_NAME = re.compile(rf"[a-z0-9][a-z0-9+.-]+(/({'|'.join(FURTHER_SUITES)}))?\Z")
UNIT_NAME = re.compile(r"[A-Za-z0-9:_.@-]+\.(service|socket|timer)\Z")
SERIAL = re.compile(r"[A-Za-z0-9._-]{1,20}\Z")  # virtio-blk carries 20 bytes (VIRTIO_BLK_ID_BYTES)
WWN = re.compile(r"0x[0-9a-f]{16}\Z")
# A host without a system of its own: a network namespace, in which programs of the machine run.
NETNS = "netns"
HOST_KINDS = (*KINDS, NETNS)
NSPAWN_KEYS = ("persistent",)
SYSTEM_KEYS = ("packages", "disabled_units", "docker", "release", "memory", "cpus")
SWITCH = "switch"
UPLINK = "uplink"
DISK_BUSES = ("virtio", "scsi")
SECTOR_SIZES = (512, 4096)
SPARE_DISK_SLOTS = 4

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_size(value: object, where: str) -> int:
    """Bytes from an integer or from text such as ``101M`` or ``4GiB``; the letters mean powers of 1024."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    match = re.fullmatch(r"(\d+)\s*(?:([KMGT])(?:iB)?)?", str(value)) if isinstance(value, str) else None
    if match is None or int(match[1]) == 0:
        raise TopologyError(f"{where}: {value!r} is not a size; write bytes, or such as 101M or 4G (powers of 1024)")
    return int(match[1]) * UNITS[match[2] or ""]


@dataclass(frozen=True)
class Disk:
    """A data disk of a QEMU host. ``wwn`` needs the scsi bus; ``iops`` throttles reads and writes together."""

    id: str
    size_bytes: int
    serial: str
    logical_block_size: int = 512
    bus: str = "virtio"
    wwn: str | None = None
    iops: int | None = None
    bytes_per_second: int | None = None


@dataclass(frozen=True)
class Port:
    """A host's place on a link: its interface carries the link's name and these addresses."""

    link: str
    addresses: tuple[Interface, ...]


@dataclass(frozen=True)
class Host:
    """A host as the topology declares it. ``memory_mib`` and ``cpus`` apply to QEMU hosts only, ``cpus`` where KVM is.

    ``persistent`` nspawn hosts keep their root until the lab goes. ``routes`` are destinations and their gateways.
    """

    name: str
    kind: str
    release: str
    memory_mib: int
    cpus: int
    packages: tuple[str, ...]
    disks: tuple[Disk, ...]
    disk_slots: int
    ports: tuple[Port, ...]
    groups: tuple[str, ...]
    variables: Mapping[str, Any]
    docker: bool
    persistent: bool = False
    disabled_units: tuple[str, ...] = ()
    routes: tuple[tuple[Network, Address], ...] = ()


@dataclass(frozen=True)
class Topology:
    """Hosts, links (name -> MTU) and whether hosts reach the package mirror."""

    hosts: tuple[Host, ...]
    links: Mapping[str, int]
    uplink: bool

    def host(self, name: str) -> Host:
        """The declared host of that name; raises TopologyError naming the known ones."""
        for host in self.hosts:
            if host.name == name:
                return host
        raise TopologyError(f"no host {name!r} in this lab; it has {', '.join(host.name for host in self.hosts)}")


def read_topology(path: Path) -> dict[str, Any]:
    """The YAML mapping in ``path``; raises TopologyError when it is not one."""
    try:
        data = yaml.safe_load(path.read_text())
    except OSError as error:
        raise TopologyError(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise TopologyError(f"{path} is not YAML: {error}") from error
    return _mapping(data, str(path))


def parse_topology(data: Mapping[str, Any]) -> Topology:
    """Validate a topology.

    Raises:
        TopologyError: names the place, what stands there, and what is allowed.
    """
    _known_keys(data, {"hosts", "links", "uplink", "defaults"}, "topology")
    defaults = _mapping(data.get("defaults", {}), "defaults")
    hosts_data = _mapping(data.get("hosts"), "hosts")
    if not hosts_data:
        raise TopologyError("hosts: empty; declare at least one host, such as hosts: {alpha: {kind: nspawn}}")
    links, ports = _links(_mapping(data.get("links", {}), "links"), set(hosts_data))
    hosts = tuple(
        _host(name, _defaulted(_mapping(value, f"hosts.{name}"), defaults), tuple(ports.get(name, ())))
        for name, value in hosts_data.items()
    )
    return Topology(hosts=hosts, links=links, uplink=_boolean(data.get("uplink", True), "uplink"))


def parse_disk(name: str, data: Mapping[str, Any], where: str) -> Disk:
    """Validate one disk; its serial is its id unless given."""
    _matches(DISK_NAME, name, where, "a disk id has up to 12 lower-case letters, digits and dashes")
    _known_keys(data, {"size", "serial", "logical_block_size", "bus", "wwn", "iops", "bytes_per_second"}, where)
    if "size" not in data:
        raise TopologyError(f"{where}: size is missing, such as size: 101M")
    size = parse_size(data["size"], f"{where}.size")
    block = data.get("logical_block_size", 512)
    if block not in SECTOR_SIZES:
        raise TopologyError(f"{where}.logical_block_size: {block!r} is not one of 512, 4096")
    if size % block:
        raise TopologyError(f"{where}.size: {size} bytes is not a multiple of the {block}-byte sector")
    serial = str(data.get("serial", name))
    _matches(SERIAL, serial, f"{where}.serial", "a serial has up to 20 letters, digits, dots, dashes or underscores")
    bus = data.get("bus", "scsi" if data.get("wwn") else "virtio")
    if bus not in DISK_BUSES:
        raise TopologyError(f"{where}.bus: {bus!r} is not one of {', '.join(DISK_BUSES)}")
    wwn = data.get("wwn")
    if wwn is not None:
        wwn = f"{wwn:#018x}" if isinstance(wwn, int) else str(wwn)
        _matches(WWN, wwn, f"{where}.wwn", "a WWN is 0x and 16 hexadecimal digits")
        if bus != "scsi":
            raise TopologyError(f"{where}.wwn: only a disk with bus: scsi has a WWN")
    return Disk(
        id=name,
        size_bytes=size,
        serial=serial,
        logical_block_size=block,
        bus=bus,
        wwn=wwn,
        iops=_count(data.get("iops"), f"{where}.iops"),
        bytes_per_second=_optional_size(data.get("bytes_per_second"), f"{where}.bytes_per_second"),
    )


def _defaulted(data: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A host's keys with the defaults that its kind can have."""
    if data.get("kind", defaults.get("kind")) == NETNS:
        defaults = {key: value for key, value in defaults.items() if key not in SYSTEM_KEYS + NSPAWN_KEYS}
    return {**defaults, **data}


def _host(name: str, data: Mapping[str, Any], ports: tuple[Port, ...]) -> Host:
    where = f"hosts.{name}"
    _matches(HOST_NAME, name, where, "a host name has up to 16 lower-case letters, digits and inner dashes")
    if name == SWITCH:
        raise TopologyError(f"{where}: this name belongs to the lab's switch; choose another")
    known = {"kind", "disks", "disk_slots", "groups", "variables", "routes", *SYSTEM_KEYS, *NSPAWN_KEYS}
    _known_keys(data, known, where)
    kind = data.get("kind", "nspawn")
    if kind not in HOST_KINDS:
        raise TopologyError(f"{where}.kind: {kind!r} is not one of {', '.join(HOST_KINDS)}")
    _suits_kind(data, kind, where)
    release = data.get("release", "trixie")
    if release not in RELEASES:
        raise TopologyError(f"{where}.release: {release!r} is not one of {', '.join(RELEASES)}")
    packages = _words(data.get("packages", []), f"{where}.packages")
    for package in packages:
        _matches(PACKAGE_NAME, package, f"{where}.packages", "this is not the name of a Debian package")
    units = _words(data.get("disabled_units", []), f"{where}.disabled_units")
    for unit in units:
        _matches(UNIT_NAME, unit, f"{where}.disabled_units", "this is not the name of a service, socket or timer")
    disks_data = _mapping(data.get("disks", {}), f"{where}.disks")
    disks = tuple(
        parse_disk(str(key), _mapping(value, f"{where}.disks.{key}"), f"{where}.disks.{key}")
        for key, value in disks_data.items()
    )
    _unique([disk.serial for disk in disks], f"{where}.disks", "serial")
    slots = data.get("disk_slots", len(disks) + SPARE_DISK_SLOTS)
    if not isinstance(slots, int) or not len(disks) <= slots <= 30:
        raise TopologyError(f"{where}.disk_slots: {slots!r} is not between the number of disks ({len(disks)}) and 30")
    return Host(
        name=name,
        kind=kind,
        release=release,
        memory_mib=parse_size(data.get("memory", "1G"), f"{where}.memory") // 1024**2,
        cpus=_count(data.get("cpus", 2), f"{where}.cpus") or 2,
        packages=packages,
        disks=disks,
        disk_slots=slots,
        ports=ports,
        groups=_words(data.get("groups", []), f"{where}.groups"),
        variables=_mapping(data.get("variables", {}), f"{where}.variables"),
        docker=_boolean(data.get("docker", False), f"{where}.docker"),
        persistent=_boolean(data.get("persistent", False), f"{where}.persistent"),
        disabled_units=units,
        routes=_routes(_mapping(data.get("routes", {}), f"{where}.routes"), f"{where}.routes"),
    )


def _suits_kind(data: Mapping[str, Any], kind: str, where: str) -> None:
    """Refuse keys that say nothing about a host of this kind."""
    if data.get("disks") and kind != "qemu":
        raise TopologyError(f"{where}.disks: {kind} hosts share the machine's kernel and have no disks; use kind: qemu")
    if data.get("routes") and kind == "qemu":
        raise TopologyError(f"{where}.routes: a qemu host configures its network itself; set routes in it")
    if kind != "nspawn":
        for key in NSPAWN_KEYS:
            if key in data:
                raise TopologyError(f"{where}.{key}: a {kind} host cannot have it; use kind: nspawn")
    if kind == NETNS:
        for key in SYSTEM_KEYS:
            if key in data:
                raise TopologyError(f"{where}.{key}: a netns host has no system of its own; use kind: nspawn")


def _routes(data: Mapping[str, Any], where: str) -> tuple[tuple[Network, Address], ...]:
    found = []
    for destination, gateway in data.items():
        network = _network(destination, where)
        try:
            address = ipaddress.ip_address(str(gateway))
        except ValueError as error:
            raise TopologyError(
                f"{where}: {error}; write destination: gateway, such as 0.0.0.0/0: 192.0.2.1"
            ) from error
        if address.version != network.version:
            raise TopologyError(f"{where}: {gateway} is no gateway to {destination}, which is of the other family")
        found.append((network, address))
    return tuple(found)


def _links(data: Mapping[str, Any], hosts: set[str]) -> tuple[dict[str, int], dict[str, list[Port]]]:
    mtus: dict[str, int] = {}
    ports: dict[str, list[Port]] = {}
    for name, value in data.items():
        where = f"links.{name}"
        _matches(LINK_NAME, name, where, "a link name has up to 12 lower-case letters, digits and dashes")
        if name == UPLINK:
            raise TopologyError(f"{where}: this name belongs to the way out; choose another")
        link = _mapping({"hosts": value} if isinstance(value, list) else value, where)
        _known_keys(link, {"hosts", "subnets", "mtu"}, where)
        subnets = [_network(text, f"{where}.subnets") for text in _words(link.get("subnets", []), f"{where}.subnets")]
        members = link.get("hosts")
        if isinstance(members, list):
            members = dict.fromkeys(members)
        members = _mapping(members, f"{where}.hosts")
        if len(members) < 1:
            raise TopologyError(f"{where}.hosts: empty; name the hosts on this link")
        mtus[name] = _count(link.get("mtu", 1500), f"{where}.mtu") or 1500
        taken: dict[str, str] = {}
        for position, (host, addresses) in enumerate(members.items(), start=1):
            if host not in hosts:
                raise TopologyError(f"{where}.hosts: no host {host!r}; declared are {', '.join(sorted(hosts))}")
            port = Port(name, _addresses(addresses, subnets, position, f"{where}.hosts.{host}"))
            for address in port.addresses:
                other = taken.setdefault(str(address.ip), host)
                if other != host:
                    raise TopologyError(f"{where}: {address.ip} belongs to both {other} and {host}")
            ports.setdefault(host, []).append(port)
    return mtus, ports


def _addresses(value: object, subnets: list[Network], position: int, where: str) -> tuple[Interface, ...]:
    if value is None:
        if any(position >= subnet.num_addresses for subnet in subnets):
            raise TopologyError(f"{where}: the link's subnet has no address left for it")
        return tuple(ipaddress.ip_interface(f"{subnet[position]}/{subnet.prefixlen}") for subnet in subnets)
    found = []
    for text in _words(value, where):
        try:
            if "/" not in text:
                raise ValueError(f"{text!r} has no prefix length")
            found.append(ipaddress.ip_interface(text))
        except ValueError as error:
            raise TopologyError(f"{where}: {error}; write address/prefix, such as 192.0.2.1/24") from error
    return tuple(found)


def _network(text: str, where: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise TopologyError(f"{where}: {error}; write such as 192.0.2.0/24 or 2001:db8:1::/64") from error


def _mapping(value: object, where: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TopologyError(f"{where}: a mapping is expected, found {type(value).__name__} {value!r}")
    return {str(key): item for key, item in value.items()}


def _words(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise TopologyError(f"{where}: a list of words is expected, found {value!r}")
    return tuple(value)


def _boolean(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise TopologyError(f"{where}: true or false is expected, found {value!r}")
    return value


def _count(value: object, where: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TopologyError(f"{where}: a whole number from 1 is expected, found {value!r}")
    return value


def _optional_size(value: object, where: str) -> int | None:
    return None if value is None else parse_size(value, where)


def _matches(pattern: re.Pattern[str], text: str, where: str, rule: str) -> None:
    if not pattern.match(text):
        raise TopologyError(f"{where}: {text!r} will not do: {rule}")


def _unique(values: list[str], where: str, what: str) -> None:
    for value in values:
        if values.count(value) > 1:
            raise TopologyError(f"{where}: two disks have the {what} {value!r}")


def _known_keys(data: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(data) - known)
    if unknown:
        raise TopologyError(f"{where}: {', '.join(unknown)} not known; allowed are {', '.join(sorted(known))}")
