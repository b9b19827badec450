"""Names, MACs, subnets and ports of a lab. Pure: everything follows from the lab's name and what is already taken."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections.abc import Collection

from .errors import LabError, TopologyError
from .topology import SWITCH

LAB_NAME = re.compile(r"[a-z0-9]([a-z0-9_-]{0,26}[a-z0-9])?\Z")
NAMESPACE_PREFIX = "lab-"

# Shared address space (RFC 6598): no lab topology and no article uses it, so uplinks never collide with what is tested.
UPLINK_POOL = ipaddress.IPv4Network("100.64.0.0/16")
GUEST_NETWORK = ipaddress.IPv4Network("100.65.0.0/24")
PORT_RANGE = range(22000, 30000)


def check_lab_name(name: str) -> str:
    """The name itself; raises TopologyError when it cannot become part of namespace and file names."""
    if not LAB_NAME.match(name) or "--" in name:
        raise TopologyError(
            f"lab name {name!r} will not do: up to 28 lower-case letters, digits, inner underscores and single dashes"
        )
    return name


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\0".join(parts).encode()).digest()


def namespace(lab: str, host: str = SWITCH) -> str:
    """The network namespace (and container, and QEMU process) of a host: ``lab-LAB--HOST``.

    The double dash keeps lab ``a`` from matching what belongs to lab ``a-b``.
    """
    return f"{NAMESPACE_PREFIX}{lab}--{host}"


def machine_name(namespace: str) -> str:
    """The container's name for systemd, which takes no underscore (hostname_is_valid); lab names have no dot."""
    return namespace.replace("_", ".")


def namespace_of_machine(name: str) -> str:
    """The namespace of a container by its name for systemd."""
    return name.replace(".", "_")


def belongs_to(lab: str, name: str) -> bool:
    """Whether a namespace or machine name is of this lab."""
    return name.startswith(f"{NAMESPACE_PREFIX}{lab}--")


def uplink_interface(lab: str) -> str:
    """The veth end in the machine's own namespace; 15 bytes at most (IFNAMSIZ)."""
    return f"lab{_digest('uplink', lab).hex()[:10]}"


def port_interface(lab: str, host: str, link: str) -> str:
    """The switch's end of a host's cable."""
    return f"p{_digest('port', lab, host, link).hex()[:12]}"


def bridge_interface(link: str) -> str:
    """The bridge of a link inside the switch's namespace."""
    return f"br-{link}"


def table_name(lab: str) -> str:
    """The nftables table that masquerades for the lab."""
    return f"lab_{lab.replace('-', '_')}_{_digest('table', lab).hex()[:6]}"


def mac_address(lab: str, host: str, link: str) -> str:
    """A locally administered address in QEMU's range, the same at every start."""
    tail = _digest("mac", lab, host, link)[:3]
    return "52:54:" + ":".join(f"{byte:02x}" for byte in _digest("mac-lab", lab)[:1] + tail)


def uplink_network(lab: str, taken: Collection[str]) -> ipaddress.IPv4Network:
    """A /24 for the lab's way out that no route of the machine (``taken``, CIDR texts) overlaps.

    Raises:
        LabError: every candidate overlaps.
    """
    candidates: list[ipaddress.IPv4Network] = list(UPLINK_POOL.subnets(new_prefix=24))
    used = [ipaddress.IPv4Network(text, strict=False) for text in taken]
    start = int.from_bytes(_digest("network", lab)[:4], "big") % len(candidates)
    for candidate in candidates[start:] + candidates[:start]:
        if not any(candidate.overlaps(network) for network in used):
            return candidate
    raise LabError(f"no /24 of {UPLINK_POOL} is free on this machine for the lab's uplink")


def forwarded_port(lab: str, host: str, taken: Collection[int]) -> int:
    """A port on 127.0.0.1 for SSH to a QEMU host, outside of ``taken``."""
    start = int.from_bytes(_digest("ssh", lab, host)[:4], "big") % len(PORT_RANGE)
    for offset in range(len(PORT_RANGE)):
        port = PORT_RANGE[(start + offset) % len(PORT_RANGE)]
        if port not in taken:
            return port
    raise LabError(f"no port between {PORT_RANGE.start} and {PORT_RANGE.stop} is free on 127.0.0.1")


def uplink_address(network: ipaddress.IPv4Network, position: int) -> ipaddress.IPv4Interface:
    """The uplink address of the host at ``position`` (from 0); .1 is the machine."""
    if position + 2 >= network.num_addresses - 1:
        raise LabError(f"{network} has no uplink address for host number {position + 1}")
    return ipaddress.IPv4Interface(f"{network[position + 2]}/{network.prefixlen}")
