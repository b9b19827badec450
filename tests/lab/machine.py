"""QEMU hosts: a kernel of their own, booted from their own disk by their own boot loader and initramfs."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from . import addresses, processes
from .commands import require, run
from .disks import Bays, Unit
from .errors import LabError
from .network import open_tap
from .qmp import Qmp
from .state import LabState, read_json, write_json
from .topology import UPLINK, Disk, Host, Topology, parse_disk, parse_size

# Fixed places on the root bus, so that a device keeps its PCI path whatever else the host has.
ROOT_ADDRESS = 0x2
UPLINK_ADDRESS = 0x3
FIRST_LINK_ADDRESS = 0x4
MAX_LINKS = 8
SCSI_ADDRESS = 0xC
FIRST_SLOT_ADDRESS = 0x10
FUNCTIONS = 8
# Writes survive the end of the guest and of QEMU; the power of the machine itself is not part of the lab.
CACHE = "cache.direct=off,cache.no-flush=on"
SEED_ITEM = "opt/lab/seed"
# The idle task is the one that starts the kernel: this comes before the initramfs, and before any program.
IDLE_PANIC = "Kernel panic - not syncing: Attempted to kill the idle task!"
MOST_NEW_STARTS = 2


def processor(cpuinfo: str, cpus: int) -> list[str]:
    """KVM only where the CPU has it: a /dev/kvm that opens proves nothing on machines that emulate it.

    An emulated guest gets one CPU. With more, one of them translates code that another one patches, and keeps the
    breakpoint that stood there for a moment; Linux patches its own code (static keys), and panics then ("int3").
    QEMU 8.1 mended it ("accel/tcg: Always lock pages before translation"); 7.2 has it with one CPU, too, but seldom.
    """
    if re.search(r"^flags\s*:.*\b(vmx|svm)\b", cpuinfo, re.MULTILINE) and Path("/dev/kvm").exists():
        return ["-accel", "kvm", "-cpu", "host", "-smp", str(cpus)]
    return ["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1"]


def stopped_in_its_start(console: str) -> bool:
    """Whether the last boot on a console ended before the kernel had started its first program."""
    return IDLE_PANIC in console.rpartition("Booting `")[2]


@dataclass(frozen=True)
class Wiring:
    """Where a machine is connected: SSH's port on 127.0.0.1, MACs, and tap descriptors per link."""

    ssh_port: int
    macs: Mapping[str, str]
    taps: Mapping[str, int]


def machine_argv(
    name: str, host: Host, directory: Path, bays: Bays, wiring: Wiring, uplink: bool, cpu: Sequence[str]
) -> list[str]:
    """QEMU's command line. Pure, and the same for the same machine: loadvm insists on that."""
    network = addresses.GUEST_NETWORK
    user = [
        "user",
        "id=uplink",
        f"net={network}",
        f"host={network[2]}",
        f"dns={network[3]}",
        "ipv6=off",
        f"restrict={'off' if uplink else 'on'}",
        f"hostfwd=tcp:127.0.0.1:{wiring.ssh_port}-{network[15]}:22",
    ]
    argv = ["qemu-system-x86_64", "-name", name, "-nodefaults", "-no-user-config", "-display", "none"]
    argv += ["-M", "q35,sata=off,smbus=off", *cpu, "-m", str(host.memory_mib)]
    argv += ["-S", "-daemonize", "-pidfile", str(directory / "pid")]
    argv += ["-qmp", f"unix:{directory / 'qmp'},server=on,wait=off"]
    argv += ["-chardev", f"file,id=console,path={directory / 'console.log'},append=on", "-serial", "chardev:console"]
    argv += ["-fw_cfg", f"name={SEED_ITEM},file={directory / 'seed.tar'}"]
    root = f"driver=qcow2,node-name=root,file.driver=file,file.filename={directory / 'root.qcow2'}"
    argv += ["-blockdev", f"{root},{CACHE}"]
    argv += ["-device", f"virtio-blk-pci,id=root-disk,drive=root,bootindex=0,addr={ROOT_ADDRESS:#x}"]
    argv += ["-netdev", ",".join(user), "-device", _nic("uplink", wiring.macs[UPLINK], UPLINK_ADDRESS)]
    for index, port in enumerate(host.ports):
        argv += ["-netdev", f"tap,id={port.link},fd={wiring.taps[port.link]}"]
        argv += ["-device", _nic(port.link, wiring.macs[port.link], FIRST_LINK_ADDRESS + index)]
    if _has_scsi(host):
        argv += ["-device", f"virtio-scsi-pci,id=scsi,addr={SCSI_ADDRESS:#x}"]
    for slot in range(bays.count):
        argv += ["-device", _root_port(slot)]
    for slot, unit in bays.inserted.items():
        node = ",".join(f"{key}={value}" for key, value in _flat(block_node(slot, unit, directory)))
        device = ",".join(f"{key}={value}" for key, value in disk_device(slot, unit.disk).items())
        argv += ["-blockdev", node, "-device", device.removeprefix("driver=")]
    return argv


def _nic(name: str, mac: str, address: int) -> str:
    # An empty romfile: nobody boots from the network, and the ROM is a package of its own.
    return f"virtio-net-pci,id=nic-{name},netdev={name},mac={mac},romfile=,addr={address:#x}"


def _root_port(slot: int) -> str:
    address, function = divmod(slot, FUNCTIONS)
    # No I/O window: sixteen of them exhaust the 64 KiB of I/O space, and modern virtio has no use for it.
    return (
        f"pcie-root-port,id=slot{slot},chassis={slot + 1},port={slot + 1},io-reserve=0,"
        f"addr={FIRST_SLOT_ADDRESS + address:#x}.{function:#x},multifunction=on"
    )


def _has_scsi(host: Host) -> bool:
    return any(disk.bus == "scsi" for disk in host.disks)


def block_node(slot: int, unit: Unit, directory: Path) -> dict[str, object]:
    """The block node of a slot, as blockdev-add takes it."""
    return {
        "driver": "qcow2",
        "node-name": f"node{slot}",
        "discard": "unmap",
        "cache": {"direct": False, "no-flush": True},
        "file": {"driver": "file", "filename": str(directory / unit.file)},
    }


def disk_device(slot: int, disk: Disk) -> dict[str, object]:
    """The device of a slot, as device_add takes it."""
    device: dict[str, object] = {"id": f"disk{slot}", "drive": f"node{slot}", "serial": disk.serial}
    device |= {"logical_block_size": disk.logical_block_size, "physical_block_size": max(disk.logical_block_size, 512)}
    if disk.bus == "scsi":
        device |= {"bus": "scsi.0", "channel": 0, "scsi-id": slot, "lun": 0}
        if disk.wwn:
            device["wwn"] = int(disk.wwn, 16)
        return {"driver": "scsi-hd", **device}
    return {"driver": "virtio-blk-pci", "bus": f"slot{slot}", "addr": "0x0", **device}


def _flat(node: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for key, value in node.items():
        if isinstance(value, Mapping):
            pairs += _flat(value, f"{prefix}{key}.")
        else:
            text = ("on" if value else "off") if isinstance(value, bool) else str(value)
            pairs.append((prefix + key, text))
    return pairs


class Machine:
    """One QEMU host: process, disks, snapshots. What is known of it is read back from the state directory."""

    def __init__(self, state: LabState, host: Host, topology: Topology) -> None:
        self.state = state
        self.host = host
        self.topology = topology
        self.directory = state.host_directory(host.name)
        self.name = addresses.namespace(state.name, host.name)
        self._new_starts = 0

    # What is there

    @property
    def pid(self) -> int | None:
        """The process, or None when the machine is off."""
        return processes.of_host(self.state.name, self.host.name)

    @property
    def bays(self) -> Bays:
        """The disks as they are inserted now."""
        return Bays.from_json(read_json(self.directory / "bays.json"))

    @bays.setter
    def bays(self, bays: Bays) -> None:
        write_json(self.directory / "bays.json", bays.to_json())

    def ssh_port(self) -> int:
        """SSH's port on 127.0.0.1."""
        port: int = read_json(self.state.network)["ports"][self.host.name]
        return port

    def _qmp(self) -> Qmp:
        if self.pid is None:
            raise LabError(f"{self.host.name} is off; power it on first")
        return Qmp(self.directory / "qmp")

    # Making and starting

    def create(self, base_image: Path) -> None:
        """Overlay and disks, once; a machine that has them is left alone."""
        require("qemu-img", "qemu-system-x86_64")
        if (self.directory / "bays.json").exists():
            return
        backing = ["-b", str(base_image), "-F", "raw"]
        run(["qemu-img", "create", "-q", "-f", "qcow2", *backing, str(self.directory / "root.qcow2")])
        bays = Bays(count=self.host.disk_slots, inserted={})
        for disk in self.host.disks:
            bays = bays.insert(self._new_unit(disk))
        self.bays = bays

    def _new_unit(self, disk: Disk) -> Unit:
        number = len(list(self.directory.glob("disk-*.qcow2"))) + 1
        file = f"disk-{number:03d}-{disk.id}.qcow2"
        run(["qemu-img", "create", "-q", "-f", "qcow2", str(self.directory / file), str(disk.size_bytes)])
        return Unit(disk=disk, file=file)

    def start(self) -> bool:
        """Power on; False when it runs already."""
        if self.pid is not None:
            return False
        self._launch()
        with self._qmp() as qmp:
            self._apply_limits(qmp)
            qmp.execute("cont")
        return True

    def _launch(self) -> None:
        """Start the process with its CPUs stopped."""
        for stale in ("qmp", "pid"):
            (self.directory / stale).unlink(missing_ok=True)
        lab, links = self.state.name, self.topology.links
        taps: dict[str, int] = {}
        try:
            for port in self.host.ports:
                taps[port.link] = open_tap(lab, self.host.name, port, links[port.link])
            macs = {port.link: addresses.mac_address(lab, self.host.name, port.link) for port in self.host.ports}
            macs[UPLINK] = addresses.mac_address(lab, self.host.name, UPLINK)
            wiring = Wiring(self.ssh_port(), macs, taps)
            cpu = processor(Path("/proc/cpuinfo").read_text(), self.host.cpus)
            argv = machine_argv(self.name, self.host, self.directory, self.bays, wiring, self.topology.uplink, cpu)
            run(argv, inherited=tuple(taps.values()), timeout=60)
        finally:
            for descriptor in taps.values():
                os.close(descriptor)

    # Power

    def power_off(self) -> None:
        """Pull the plug. Completed writes stay."""
        pid = self.pid
        if pid is None:
            return
        # QMP's quit lets QEMU write its qcow2 metadata; a killed QEMU may leave clusters marked as leaked.
        with contextlib.suppress(LabError), self._qmp() as qmp:
            qmp.execute("quit", timeout=10)
        self.wait_off(30)

    def wait_off(self, timeout: float) -> None:
        """Wait until the process is gone."""
        if (pid := self.pid) is not None:
            processes.wait_end(pid, timeout)

    def reset(self) -> None:
        """The reset button. Completed writes stay."""
        with self._qmp() as qmp:
            qmp.execute("system_reset")

    def start_again(self) -> bool:
        """Start again when an emulated kernel fell over its own start, which is the emulator's fault and no host's.

        About one boot in some hundreds ends so, where the kernel patches its code. Returns whether it was so.

        Raises:
            LabError: it happened more than twice, or on a CPU that is not emulated.
        """
        console = self.console()
        if not stopped_in_its_start(console):
            return False
        if "tcg" not in processor(Path("/proc/cpuinfo").read_text(), 1)[1] or self._new_starts >= MOST_NEW_STARTS:
            raise LabError(f"{self.host.name}: the kernel panicked before it had started anything; see its console log")
        self._new_starts += 1
        with (self.directory / "console.log").open("a") as log:
            log.write("\n(the lab) Booting `again', after a panic of the emulated kernel\n")
        self.reset()
        return True

    # Disks

    def disk_add(self, disk: Disk | str, slot: int | None = None) -> None:
        """Insert a new blank disk, or (by id) the one that was pulled; also while the machine is off."""
        before = self.bays
        unit = before.shelved(disk) if isinstance(disk, str) else self._new_unit(disk)
        if unit.disk.bus == "scsi" and not _has_scsi(self.host):
            raise LabError(f"{self.host.name} has no SCSI controller; declare one disk with bus: scsi in the topology")
        after = before.insert(unit, slot)
        if self.pid is not None:
            with self._qmp() as qmp:
                position = after.slot_of(unit.disk.id)
                qmp.execute("blockdev-add", block_node(position, unit, self.directory))
                try:
                    qmp.execute("device_add", disk_device(position, unit.disk))
                except LabError:
                    qmp.execute("blockdev-del", {"node-name": f"node{position}"})
                    raise
                self._limit(qmp, position, unit.disk)
        self.bays = after

    def disk_remove(self, name: str, timeout: float = 60.0) -> None:
        """Pull a disk; it goes to the shelf with its bytes.

        Raises:
            LabError: the guest did not let go of it within ``timeout`` seconds.
        """
        before = self.bays
        after = before.remove(name)
        if self.pid is not None:
            slot = before.slot_of(name)
            with self._qmp() as qmp:
                qmp.execute("device_del", {"id": f"disk{slot}"})
                qmp.wait_event("DEVICE_DELETED", timeout, device=f"disk{slot}")
                qmp.execute("blockdev-del", {"node-name": f"node{slot}"})
        self.bays = after

    def disk_swap(self, name: str, disk: Disk) -> None:
        """Pull a disk and put a new one into the same slot."""
        slot = self.bays.slot_of(name)
        self.disk_remove(name)
        self.disk_add(disk, slot)

    def disk_resize(self, name: str, size_bytes: int) -> None:
        """Grow a disk, as a storage array would under a running host."""
        before = self.bays
        slot = before.slot_of(name)
        unit = before.inserted[slot]
        if size_bytes < unit.disk.size_bytes:
            raise LabError(f"disk {name} has {unit.disk.size_bytes} bytes; disks only grow")
        if self.pid is None:
            run(["qemu-img", "resize", "-q", str(self.directory / unit.file), str(size_bytes)])
        else:
            with self._qmp() as qmp:
                qmp.execute("block_resize", {"node-name": f"node{slot}", "size": size_bytes})
        self.bays = before.change(name, replace(unit.disk, size_bytes=size_bytes))

    def disk_throttle(self, name: str, iops: int | None, bytes_per_second: int | None) -> None:
        """Limit a disk's reads and writes together; None lifts a limit."""
        before = self.bays
        slot = before.slot_of(name)
        disk = replace(before.inserted[slot].disk, iops=iops, bytes_per_second=bytes_per_second)
        if self.pid is not None:
            with self._qmp() as qmp:
                self._limit(qmp, slot, disk, always=True)
        self.bays = before.change(name, disk)

    def _apply_limits(self, qmp: Qmp) -> None:
        for slot, unit in self.bays.inserted.items():
            self._limit(qmp, slot, unit.disk)

    def _limit(self, qmp: Qmp, slot: int, disk: Disk, always: bool = False) -> None:
        if not (disk.iops or disk.bytes_per_second or always):
            return
        # The backend belongs to the virtio device behind the PCI proxy; a SCSI disk is its own.
        inner = "/virtio-backend" if disk.bus == "virtio" else ""
        none = {"bps_rd": 0, "bps_wr": 0, "iops_rd": 0, "iops_wr": 0}
        limits = {**none, "iops": disk.iops or 0, "bps": disk.bytes_per_second or 0}
        backend = f"/machine/peripheral/disk{slot}{inner}"
        qmp.execute("block_set_io_throttle", {"id": backend, **limits})

    # Snapshots

    def _snapshots(self) -> dict[str, dict[str, object]]:
        found: dict[str, dict[str, object]] = read_json(self.directory / "snapshots.json", {})
        return found

    def snapshot_list(self) -> list[str]:
        """The tags that can be loaded."""
        return list(self._snapshots())

    def snapshot_save(self, tag: str) -> None:
        """Memory, devices and every disk, also those on the shelf, under ``tag``; an older one of that tag goes."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", tag):
            raise LabError(f"snapshot tag {tag!r} will not do: letters, digits, dots, dashes, underscores")
        bays = self.bays
        with self._qmp() as qmp:
            if tag in self._snapshots():
                qmp.run_job("snapshot-delete", "delete", 60, {"tag": tag, "devices": self._nodes(bays)})
            qmp.run_job("snapshot-save", "save", 120, {"tag": tag, "vmstate": "root", "devices": self._nodes(bays)})
        for unit in bays.shelf:
            path = str(self.directory / unit.file)
            run(["qemu-img", "snapshot", "-d", tag, path], check=False)
            run(["qemu-img", "snapshot", "-c", tag, path])
        write_json(self.directory / "snapshots.json", {**self._snapshots(), tag: bays.to_json()})

    def snapshot_load(self, tag: str) -> None:
        """Back to ``tag``, with the disks that were inserted then.

        Devices must be the same at load as they were at save, so with other disks in the slots the process is
        started anew with the recorded ones; that takes about half a second more.
        """
        known = self._snapshots()
        if tag not in known:
            raise LabError(f"{self.host.name} has no snapshot {tag!r}; it has: {', '.join(known) or 'none'}")
        then = Bays.from_json(known[tag])
        if self.pid is not None and self.bays.inserted != then.inserted:
            self.power_off()
        if self.pid is None:
            self.bays = then
            self._launch()
        with self._qmp() as qmp:
            qmp.run_job("snapshot-load", "load", 120, {"tag": tag, "vmstate": "root", "devices": self._nodes(then)})
            self._apply_limits(qmp)
            qmp.execute("cont")
        for unit in then.shelf:
            run(["qemu-img", "snapshot", "-a", tag, str(self.directory / unit.file)])
        self.bays = then

    @staticmethod
    def _nodes(bays: Bays) -> list[str]:
        return ["root", *(f"node{slot}" for slot in bays.inserted)]

    def console(self) -> str:
        """All that the serial console printed since the host was made."""
        path = self.directory / "console.log"
        return path.read_text(errors="replace") if path.exists() else ""


def disk_of(name: str, size: int | str, **properties: object) -> Disk:
    """A disk from the words of the topology schema: ``disk_of("d5", "201M", serial="S5", logical_block_size=4096)``."""
    given = {key: value for key, value in properties.items() if value is not None}
    return parse_disk(name, {"size": size, **given}, f"disk {name}")


def by_id(disk: Disk) -> str:
    """The name that udev gives a disk in /dev/disk/by-id."""
    if disk.bus == "virtio":
        return f"virtio-{disk.serial}"
    # udev prefers the NAA identifier to the serial (60-persistent-storage.rules, scsi_id).
    return f"wwn-{disk.wwn}" if disk.wwn else f"scsi-0QEMU_QEMU_HARDDISK_{disk.serial}"


def size_of(size: int | str) -> int:
    """Bytes from ``101M`` or a number."""
    return parse_size(size, "size")
