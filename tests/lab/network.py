"""The lab's network: a switch in a namespace of its own, cables to the hosts, and a way out.

No lab address ever touches the machine's own network; only the uplink's end, from the shared address space, does.
"""

from __future__ import annotations

import ctypes
import fcntl
import ipaddress
import json
import os
import struct
import threading
from pathlib import Path

from . import addresses
from .commands import run
from .errors import LabError
from .state import LabState, machine_lock, read_json, write_json
from .topology import UPLINK, Host, Port, Topology

NETNS_DIRECTORY = Path("/run/netns")
CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA  # linux/if_tun.h
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000


def namespaces(lab: str) -> list[str]:
    """The namespaces that exist for a lab, found by name."""
    if not NETNS_DIRECTORY.is_dir():
        return []
    return sorted(path.name for path in NETNS_DIRECTORY.iterdir() if addresses.belongs_to(lab, path.name))


def _has_link(name: str, netns: str | None = None) -> bool:
    where = ["-n", netns] if netns else []
    return run(["ip", *where, "link", "show", "dev", name], check=False).returncode == 0


def _ensure_namespace(name: str) -> None:
    if not (NETNS_DIRECTORY / name).exists():
        run(["ip", "netns", "add", name])
    run(["ip", "-n", name, "link", "set", "lo", "up"])


def _ensure_bridge(netns: str, bridge: str, mtu: int) -> None:
    if not _has_link(bridge, netns):
        # Ageing and snooping stay as a plain switch has them; forward_delay 0 spares the 15 s of listening.
        run(["ip", "-n", netns, "link", "add", bridge, "type", "bridge", "forward_delay", "0", "mcast_snooping", "0"])
    run(["ip", "-n", netns, "link", "set", bridge, "mtu", str(mtu), "up"])


def build_switch(lab: str, topology: Topology) -> None:
    """The switch's namespace and one bridge per link."""
    switch = addresses.namespace(lab)
    _ensure_namespace(switch)
    for link, mtu in topology.links.items():
        _ensure_bridge(switch, addresses.bridge_interface(link), mtu)


def _cable(lab: str, host: str, link: str, mtu: int) -> None:
    """A veth pair: the switch's end on the bridge, the host's end named after the link."""
    switch, netns = addresses.namespace(lab), addresses.namespace(lab, host)
    port = addresses.port_interface(lab, host, link)
    if not _has_link(port, switch):
        peer = ["peer", "name", link, "netns", netns, "address", addresses.mac_address(lab, host, link)]
        run(["ip", "-n", switch, "link", "add", port, "type", "veth", *peer])
    run(["ip", "-n", switch, "link", "set", port, "master", addresses.bridge_interface(link), "mtu", str(mtu), "up"])
    run(["ip", "-n", netns, "link", "set", link, "mtu", str(mtu), "up"])


def _address(netns: str, interface: str, address: str) -> None:
    # nodad: the lab plans its addresses, so nobody has to wait two seconds to find that out.
    nodad = ["nodad"] if ":" in address else []
    run(["ip", "-n", netns, "address", "replace", address, "dev", interface, *nodad])


def connect_container(
    lab: str, host: Host, topology: Topology, uplink: ipaddress.IPv4Interface | None, gateway: str
) -> None:
    """The namespace of an nspawn or netns host with its interfaces, addresses and routes."""
    netns = addresses.namespace(lab, host.name)
    _ensure_namespace(netns)
    for port in host.ports:
        _cable(lab, host.name, port.link, topology.links[port.link])
        for address in port.addresses:
            _address(netns, port.link, str(address))
    if uplink is not None:
        _cable(lab, host.name, UPLINK, 1500)
        _address(netns, UPLINK, str(uplink))
        run(["ip", "-n", netns, "route", "replace", "default", "via", gateway, "dev", UPLINK])
    for destination, hop in host.routes:
        run(["ip", "-n", netns, "route", "replace", str(destination), "via", str(hop)])


def disconnect_container(lab: str, host: Host) -> None:
    """Remove a host's namespace with all that its system left in it: tables, bridges, tracked connections."""
    switch, netns = addresses.namespace(lab), addresses.namespace(lab, host.name)
    for link in (*(port.link for port in host.ports), UPLINK):
        port = addresses.port_interface(lab, host.name, link)
        # By hand, because the kernel removes a namespace's devices some time after its name has gone.
        if _has_link(port, switch):
            run(["ip", "-n", switch, "link", "delete", port])
    if (NETNS_DIRECTORY / netns).exists():
        run(["ip", "netns", "delete", netns])


def open_tap(lab: str, host: str, port: Port, mtu: int) -> int:
    """A tap on the switch for a QEMU guest: its descriptor. The tap lives as long as somebody holds it open."""
    switch = addresses.namespace(lab)
    name = addresses.port_interface(lab, host, port.link)
    result: list[int | OSError] = []

    def inside() -> None:
        # setns(2) moves only the calling thread, and this one ends here.
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            with (NETNS_DIRECTORY / switch).open() as target:
                if libc.setns(target.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), f"cannot enter namespace {switch}")
            descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
            request = struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
            fcntl.ioctl(descriptor, TUNSETIFF, request)
            result.append(descriptor)
        except OSError as error:
            result.append(error)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    descriptor = result[0]
    if isinstance(descriptor, OSError):
        raise LabError(f"cannot open a tap for {host} on {port.link}: {descriptor}") from descriptor
    bridge = addresses.bridge_interface(port.link)
    run(["ip", "-n", switch, "link", "set", name, "master", bridge, "mtu", str(mtu), "up"])
    return descriptor


def set_cable(lab: str, host: str, link: str, up: bool) -> None:
    """Plug or unplug a host's cable at the switch."""
    port = addresses.port_interface(lab, host, link)
    run(["ip", "-n", addresses.namespace(lab), "link", "set", port, "up" if up else "down"])


def _routed_networks() -> list[str]:
    routes = json.loads(run(["ip", "-j", "-4", "route", "show", "table", "all"]).stdout or "[]")
    return [route["dst"] for route in routes if route.get("dst", "default") != "default" and "/" in route["dst"]]


def _way_out() -> str:
    routes = json.loads(run(["ip", "-j", "-4", "route", "show", "default"]).stdout or "[]")
    if not routes:
        raise LabError("this machine has no IPv4 default route, so hosts cannot have an uplink; set uplink: false")
    device: str = routes[0]["dev"]
    return device


def reserve_uplink(state: LabState) -> ipaddress.IPv4Network:
    """The lab's uplink subnet, chosen once and remembered."""
    with machine_lock():
        plan = read_json(state.network, {})
        if "uplink" not in plan:
            others = [read_json(other.network, {}).get("uplink") for other in state.others()]
            taken = _routed_networks() + [text for text in others if text]
            plan["uplink"] = str(addresses.uplink_network(state.name, taken))
            write_json(state.network, plan)
    return ipaddress.IPv4Network(plan["uplink"])


def build_uplink(state: LabState, network: ipaddress.IPv4Network) -> None:
    """A veth from the switch to the machine, masqueraded by a table of its own."""
    lab = state.name
    switch, outside = addresses.namespace(lab), addresses.uplink_interface(lab)
    bridge = addresses.bridge_interface(UPLINK)
    _ensure_bridge(switch, bridge, 1500)
    if not _has_link(outside):
        run(["ip", "link", "add", outside, "type", "veth", "peer", "name", "out", "netns", switch])
        run(["ip", "-n", switch, "link", "set", "out", "master", bridge, "up"])
    run(["ip", "address", "replace", f"{network[1]}/{network.prefixlen}", "dev", outside])
    run(["ip", "link", "set", outside, "up"])
    table = addresses.table_name(lab)
    # Created, flushed and filled in one transaction, so that a second run ends in the same rules.
    run(
        ["nft", "-f", "-"],
        stdin=f"""\
table ip {table}
delete table ip {table}
table ip {table} {{
    chain postrouting {{
        type nat hook postrouting priority srcnat
        ip saddr {network} oifname != "{outside}" masquerade
    }}
}}
""",
    )
    _allow_forwarding(state, outside)


def _forwarding(interface: str) -> Path:
    return Path("/proc/sys/net/ipv4/conf") / interface / "forwarding"


def _allow_forwarding(state: LabState, outside: str) -> None:
    """Forward between the uplink and the machine's way out, and nowhere else, remembering how it was."""
    _forwarding(outside).write_text("1")
    device = _way_out()
    memory = state.root / "forwarding.json"
    with machine_lock():
        before = _forwarding(device).read_text().strip()
        if before == "0":
            write_json(memory, {**read_json(memory, {}), device: before})
            _forwarding(device).write_text("1")


def remove_network(state: LabState) -> None:
    """Everything of the lab's network, found by name; harmless when there is nothing."""
    lab = state.name
    outside = addresses.uplink_interface(lab)
    if _has_link(outside):
        run(["ip", "link", "delete", outside], check=False)
    table = addresses.table_name(lab)
    if run(["nft", "list", "table", "ip", table], check=False).returncode == 0:
        run(["nft", "delete", "table", "ip", table])
    for name in namespaces(lab):
        run(["ip", "netns", "delete", name])
    with machine_lock():
        if any("uplink" in read_json(other.network, {}) for other in state.others()):
            return
        memory = state.root / "forwarding.json"
        for device, value in read_json(memory, {}).items():
            if _forwarding(device).exists():
                _forwarding(device).write_text(value)
        memory.unlink(missing_ok=True)
