"""The story that the demonstration tells: which disk is exchanged when, and what the pool must hold then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

POOL = "data"
HOST = "store"
BAYS = ("bay1", "bay2", "bay3", "bay4")
FIRST_SIZE = "101M"
#: The file that must survive everything stands on the volume that grows.
KEPT_FILE = "/srv/pieces/kept"
KEPT_MIB = 48
VOLUMES: tuple[dict[str, str], ...] = (
    {"name": "bits", "size": "100MiB", "filesystem": "ext4", "mount_point": "/srv/bits"},
    {"name": "pieces", "size": "100%FREE", "filesystem": "ext4", "mount_point": "/srv/pieces"},
)


@dataclass(frozen=True)
class Exchange:
    """A disk is pulled and a larger one put into its bay; then the volume group must have this many MiB."""

    bay: str
    size: str
    capacity_mib: int
    why: str


FIRST_CAPACITY_MIB = 288
EXCHANGES = (
    Exchange(
        "bay1",
        "201M",
        288,
        "Redundancy comes first: the new disk takes over what the old one held. Its other half has no partner yet.",
    ),
    Exchange(
        "bay2",
        "201M",
        384,
        "Two disks have room now. A second slice begins as a mirror and joins the volume group.",
    ),
    Exchange("bay3", "201M", 484, "A third disk has room: the mirror becomes raid5 over three disks."),
    Exchange(
        "bay4",
        "301M",
        580,
        "The second slice spans all four disks. The last 100 MiB of the largest disk wait for a partner.",
    ),
)


def serial(bay: str, size: str) -> str:
    """The serial number of the disk in a bay, by which the guest knows it."""
    return f"{bay}-{size}"


def topology(release: str) -> dict[str, Any]:
    """The lab: one host with four small disks."""
    disks = {bay: {"size": FIRST_SIZE, "serial": serial(bay, FIRST_SIZE)} for bay in BAYS}
    return {"hosts": {HOST: {"kind": "qemu", "release": release, "groups": ["storage"], "disks": disks}}}


@dataclass(frozen=True)
class Declaration:
    """What the inventory says about the pool."""

    disks: tuple[str, ...]

    def exchanged(self, old: str, new: str) -> Declaration:
        """The declaration with one path in place of another."""
        return replace(self, disks=tuple(new if disk == old else disk for disk in self.disks))

    def inventory(self) -> dict[str, Any]:
        """The inventory as data, to stand beside the lab's own."""
        variables = {
            "storage_pool_name": POOL,
            "storage_pool_disks": list(self.disks),
            "storage_pool_volumes": [dict(volume) for volume in VOLUMES],
        }
        return {"storage": {"hosts": {HOST: variables}}}
