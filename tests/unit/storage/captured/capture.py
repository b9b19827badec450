"""Capture what a host shows of its disks, for tests of the observers. Runs on the host, as root, with python3 alone.

    python3 capture.py FOLDER-WITH-ansible_collections NAME DISK...

writes NAME.json.gz: files and links of sysfs, proc and etc, the bytes at the start and end of each device and each
partition, and the answers of the tools that the observer starts. See host_capture.py for reading it.
"""

from __future__ import annotations

import base64
import gzip
import importlib
import json
import os
import stat
import sys
from collections.abc import Container, Sequence
from typing import Any

ATTRIBUTES = (
    "dev",
    "size",
    "ro",
    "start",
    "partition",
    "uevent",
    "serial",
    "wwid",
    "queue/logical_block_size",
    "dm/name",
    "device/serial",
    "device/model",
    "device/wwid",
)
FILES = ("/proc/self/mountinfo", "/proc/swaps", "/etc/fstab", "/etc/mdadm/mdadm.conf")
BLOCK = 512


class Capture:
    """What has been collected so far."""

    def __init__(self, skipped: set[str]) -> None:
        self.skipped = skipped
        self.files: dict[str, Any] = {}
        self.links: dict[str, Any] = {}
        self.folders: list[str] = []
        self.times: dict[str, Any] = {}
        self.devices: dict[str, Any] = {}
        self.commands: list[Any] = []

    def file(self, path: str) -> None:
        """Keep a file's text, if it has one."""
        try:
            with open(path, "rb") as handle:
                self.files[path] = handle.read().decode("utf-8", "replace")
        except OSError:
            pass

    def link(self, path: str) -> None:
        """Keep a link."""
        if os.path.islink(path):
            self.links[path] = os.readlink(path)

    def block_device(self, name: str) -> None:
        """Keep the attributes of /sys/class/block/NAME."""
        for folder in ("/sys/class/block/", "/sys/block/"):
            self.link(folder + name)
        directory = os.path.realpath("/sys/class/block/" + name)
        for attribute in ATTRIBUTES:
            self.file(f"{directory}/{attribute}")
        with open(f"{directory}/dev") as handle:
            number = handle.read().strip()
        self.link(f"/sys/dev/block/{number}")
        self.file(f"/run/udev/data/b{number}")
        self.folders.append(f"{directory}/holders")
        if os.path.isdir(f"{directory}/holders"):
            for holder in os.listdir(f"{directory}/holders"):
                self.link(f"{directory}/holders/{holder}")
        if os.path.isdir(f"{directory}/md"):
            self.array(f"{directory}/md")
        if name not in self.skipped:
            self.device(name, number, directory)

    def array(self, directory: str) -> None:
        """Keep the attributes of an md array."""
        for folder, folders, files in os.walk(directory):
            for name in files:
                self.file(f"{folder}/{name}")
            for name in folders:
                self.link(f"{folder}/{name}")

    def device(self, name: str, number: str, directory: str) -> None:
        """Keep the bytes that tell what a device holds."""
        node = "/dev/" + name.replace("!", "/")
        with open(f"{directory}/size") as handle:
            size = int(handle.read()) * 512
        kept = self.devices[node] = {"number": number, "size": size, "blocks": {}}
        partition = os.path.exists(f"{directory}/partition")
        wanted = [(0, 8192 if partition else 24576), (size - 17408, 17408), (size // 65536 * 65536 - 65536, 4096)]
        try:
            # Past the page cache, as the observer: md writes its superblocks past it as well.
            descriptor = os.open(node, os.O_RDONLY)
        except OSError:
            return
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        for start, length in wanted:
            if start < 0:
                continue
            try:
                data = os.pread(descriptor, length, start)
            except OSError:
                continue
            for at in range(0, len(data), BLOCK):
                piece = data[at : at + BLOCK]
                if piece.strip(b"\0"):
                    kept["blocks"][start + at] = base64.b64encode(piece).decode()
        os.close(descriptor)

    def named_nodes(self) -> None:
        """Keep the links to block devices below /dev."""
        for folder, folders, files in os.walk("/dev"):
            for name in files + folders:
                path = f"{folder}/{name}"
                try:
                    if os.path.islink(path) and stat.S_ISBLK(os.stat(path).st_mode):
                        self.links[path] = os.readlink(path)
                except OSError:
                    pass


def main() -> None:
    """Capture, and run the observer once to learn what its tools answer."""
    collections, name, disks = sys.argv[1], sys.argv[2], sys.argv[3:]
    sys.path.insert(0, collections)
    root = "ansible_collections.baremetal.fabric.plugins.module_utils."
    command = importlib.import_module(root + "_converge.command")
    model = importlib.import_module(root + "_storage.model")
    observer = importlib.import_module(root + "_storage.observing.observe")

    # The disk that the host runs from is nothing to these tests.
    with open("/proc/self/mountinfo") as mounts:
        number = next(line.split()[2] for line in mounts if line.split()[4] == "/")
    device = os.path.realpath(f"/sys/dev/block/{number}")
    capture = Capture({os.path.basename(device), os.path.basename(os.path.dirname(device))})

    class Recorder(command.Runner):  # type: ignore[name-defined, misc]
        def run(self, argv: Sequence[str], accept: Container[int] = (0,), data: bytes | None = None) -> str:
            try:
                out: str = super().run(argv, accept, data)
            except command.CommandError as error:
                capture.commands.append([list(argv), error.rc, error.stdout, error.stderr])
                raise
            capture.commands.append([list(argv), 0, out, ""])
            return out

    observer.observe_pool(model.Wanted("data", tuple(disks)), Recorder())
    for block in sorted(os.listdir("/sys/class/block")):
        capture.block_device(block)
    for path in FILES:
        capture.file(path)
    capture.named_nodes()
    for folder in ("/boot", "/etc/mdadm"):
        for entry in os.listdir(folder):
            capture.times[f"{folder}/{entry}"] = os.stat(f"{folder}/{entry}").st_mtime_ns
    content = {key: value for key, value in vars(capture).items() if key != "skipped"}
    with gzip.GzipFile(name + ".json.gz", "wb", mtime=0) as handle:
        handle.write(json.dumps(content, indent=0, sort_keys=True).encode())


if __name__ == "__main__":
    main()
