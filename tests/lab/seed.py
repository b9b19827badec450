"""What a host is given at its first start: name, keys, network. One tar, unpacked over its root by lab-seed."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .topology import Host, Port, Topology

NETWORK_DIRECTORY = "etc/systemd/network"


@dataclass(frozen=True)
class GuestInterface:
    """An interface of a QEMU guest, configured by systemd-networkd inside it."""

    name: str
    mac: str
    mtu: int
    addresses: Sequence[str]
    gateway: str | None = None


def nameservers(resolver: str) -> list[str]:
    """The nameserver lines of a resolv.conf that another network namespace can use: those not on loopback."""
    found = [line.split()[1] for line in resolver.splitlines() if line.startswith("nameserver ")]
    return [server for server in found if not server.startswith("127.") and server != "::1"]


def machine_nameservers() -> list[str]:
    """The machine's own resolvers, also behind systemd-resolved's stub."""
    for path in (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf")):
        if path.is_file() and (found := nameservers(path.read_text())):
            return found
    return []


def hosts_file(own_name: str, topology: Topology) -> str:
    """/etc/hosts with every addressed host of the lab under its first address per family."""
    lines = ["127.0.0.1 localhost", "::1 localhost ip6-localhost ip6-loopback"]
    named = False
    for host in topology.hosts:
        first = {address.version: address.ip for port in reversed(host.ports) for address in reversed(port.addresses)}
        lines += [f"{first[version]} {host.name}" for version in sorted(first)]
        named = named or (host.name == own_name and bool(first))
    if not named:
        lines.insert(1, f"127.0.1.1 {own_name}")
    return "\n".join(lines) + "\n"


def interface_files(interfaces: Sequence[GuestInterface]) -> dict[str, str]:
    """systemd.link(5) and systemd.network(5) files that name and address a guest's interfaces."""
    files = {}
    for interface in interfaces:
        stem = f"{NETWORK_DIRECTORY}/10-{interface.name}"
        files[f"{stem}.link"] = (
            f"[Match]\nMACAddress={interface.mac}\n\n[Link]\nName={interface.name}\nMTUBytes={interface.mtu}\n"
        )
        network = ["[Match]", f"MACAddress={interface.mac}", "Type=ether", "", "[Network]", "IPv6AcceptRA=no"]
        network += ["LinkLocalAddressing=ipv6", "ConfigureWithoutCarrier=yes"]
        if interface.gateway:
            network.append(f"Gateway={interface.gateway}")
        for address in interface.addresses:
            network += ["", "[Address]", f"Address={address}", "DuplicateAddressDetection=none"]
        files[f"{stem}.network"] = "\n".join(network) + "\n"
    return files


def port_interface(port: Port, mac: str, mtu: int) -> GuestInterface:
    """The guest's side of a port on a link."""
    return GuestInterface(port.link, mac, mtu, [str(address) for address in port.addresses])


def seed_tar(
    host: Host,
    topology: Topology,
    authorized_key: str,
    host_key: tuple[str, str],
    resolvers: Sequence[str],
    interfaces: Sequence[GuestInterface] = (),
) -> bytes:
    """The tar for one host; the same inputs give the same bytes.

    Args:
        authorized_key: the public key that root accepts.
        host_key: private and public host key, in OpenSSH's formats.
        resolvers: nameserver addresses for /etc/resolv.conf.
        interfaces: for QEMU guests, which configure themselves; containers are configured from outside.
    """
    private, public = host_key
    files: dict[str, tuple[str, int]] = {
        "etc/hostname": (f"{host.name}\n", 0o644),
        "etc/hosts": (hosts_file(host.name, topology), 0o644),
        "etc/resolv.conf": ("".join(f"nameserver {server}\n" for server in resolvers), 0o644),
        "etc/ssh/ssh_host_ed25519_key": (private, 0o600),
        "etc/ssh/ssh_host_ed25519_key.pub": (public, 0o644),
        "root/.ssh/authorized_keys": (authorized_key, 0o600),
    }
    files |= {path: (text, 0o644) for path, text in interface_files(interfaces).items()}
    return _tar({"root/.ssh": 0o700}, files)


def _tar(directories: Mapping[str, int], files: Mapping[str, tuple[str, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, mode in directories.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            archive.addfile(entry)
        for path, (text, mode) in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            data = text.encode()
            entry.size, entry.mode = len(data), mode
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
