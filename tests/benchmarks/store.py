"""The host on which the module is measured: a pool with room to grow, and the very file that Ansible runs there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.lab import Lab, LabHost
from tests.playbook import CACHE, ansible_environment, play, playbook_argv

from .figures import Sample

HOST = "store"
POOL = "data"
VOLUME = {"name": "srv", "size": "100%FREE", "filesystem": "ext4", "mount_point": "/srv"}
BAYS = ("bay1", "bay2", "bay3", "bay4")
#: The disks of the article.
SMALL, LARGE = "101M", "201M"
GUEST = "/root/benchmark"
WAIT_TIMEOUT = 7200
_HERE = Path(__file__).resolve().parent / "guest"


class BenchmarkFailed(Exception):
    """What was to be measured did not do what it must."""


def serial(bay: str, size: str) -> str:
    """The serial number of the disk in a bay."""
    return f"{bay}-{size}"


def topology(release: str, large: Sequence[str]) -> dict[str, Any]:
    """One host with the pool's disks, large ones in some of the bays."""
    sizes = {bay: LARGE if bay in large else SMALL for bay in BAYS}
    disks = {bay: {"size": size, "serial": serial(bay, size)} for bay, size in sizes.items()}
    return {"hosts": {HOST: {"kind": "qemu", "release": release, "groups": ["storage"], "disks": disks}}}


class Store:
    """The host with its pool."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self._sent = ""  # the module's file as Ansible sent it
        self._sent_disks: list[str] = []

    @property
    def host(self) -> LabHost:
        """The lab host."""
        return self.lab[HOST]

    def disks(self) -> list[str]:
        """The paths of the disks that are there, by bay."""
        return [path for _disk, path in sorted(self.host.disks().items())]

    def prepare(self) -> None:
        """Make the pool with the real playbook, and keep the module's file as Ansible sent it."""
        self.host.wait_booted()
        work = CACHE / "benchmarks"
        work.mkdir(parents=True, exist_ok=True)
        self._sent_disks = self.disks()
        variables = {
            "storage_pool_name": POOL,
            "storage_pool_disks": self._sent_disks,
            "storage_pool_volumes": [VOLUME],
            "storage_pool_wait_timeout": WAIT_TIMEOUT,
            # With pipelining there would be no file to keep.
            "ansible_ssh_pipelining": False,
        }
        inventory = work / "pool.yml"
        inventory.write_text(yaml.safe_dump({"storage": {"hosts": {HOST: variables}}}), encoding="utf-8")
        argv = playbook_argv("baremetal.fabric.storage_grow", [self.lab.inventory, inventory])
        play(argv, work / "prepare.log", environment=ansible_environment(ANSIBLE_KEEP_REMOTE_FILES="1"))
        for file in sorted(_HERE.iterdir()):
            if file.is_file():
                self.host.put(file.read_bytes(), f"{GUEST}/{file.name}", 0o755)
        self._sent = self._module_as_sent("raid_pool")
        empty = work / "empty.yml"
        task = {"name": "Nothing is done", "ansible.builtin.ping": {}}
        empty.write_text(yaml.safe_dump([{"hosts": HOST, "gather_facts": False, "tasks": [task]}]), encoding="utf-8")
        argv = playbook_argv(str(empty), [self.lab.inventory, inventory])
        play(argv, work / "empty.log", environment=ansible_environment(ANSIBLE_KEEP_REMOTE_FILES="1"))
        self.host.put(self._module_as_sent("ping").encode(), f"{GUEST}/empty.py", 0o600)

    def _module_as_sent(self, name: str) -> str:
        found = self.host.run(["find", "/root/.ansible/tmp", "-name", f"AnsiballZ_{name}.py"]).stdout.split()
        if len(found) != 1:
            raise BenchmarkFailed(f"Ansible left {len(found)} files of {name} on the host; one was expected.")
        return self.host.get(found[0]).decode()

    def exchange(self, bay: str) -> None:
        """Pull the disk in a bay and put in a blank, larger one."""
        self.host.disk_swap(bay, LARGE, serial=serial(bay, LARGE))

    def put_module(self, name: str, disks: Sequence[str], wait_timeout: int = WAIT_TIMEOUT) -> None:
        """Write the module's file for :meth:`module`, with other values for two of its parameters."""
        text = self._sent
        sent = (*self._sent_disks, f'"wait_timeout": {WAIT_TIMEOUT}')
        wanted = (*disks, f'"wait_timeout": {wait_timeout}')
        for old, new in zip(sent, wanted, strict=True):
            if old not in text:
                raise BenchmarkFailed(f"The module's file does not hold {old}.")
            text = text.replace(old, new)
        self.host.put(text.encode(), f"{GUEST}/{name}.py", 0o600)

    def module(self, name: str) -> list[str]:
        """The command that Ansible runs for the module."""
        return ["/usr/bin/python3", f"{GUEST}/{name}.py"]

    def by_hand(self, *arguments: str) -> list[str]:
        """The command that does the same by hand."""
        return [f"{GUEST}/by_hand", *arguments]

    def start(self, repeat: int) -> Sample:
        """Time what the module needs before it looks at the host: it refuses to wait for less than a second."""
        self.put_module("refused", self._sent_disks, wait_timeout=0)
        runs = self.measure({"start": self.module("refused")}, repeat, accept=(1,))["start"]
        return Sample(tuple(run["seconds"] for run in runs))

    def measure(
        self,
        commands: Mapping[str, Sequence[str]],
        repeat: int,
        environment: Mapping[str, str] | None = None,
        accept: Sequence[int] = (0,),
    ) -> dict[str, list[dict[str, Any]]]:
        """Time commands on the host, in turn.

        Raises:
            BenchmarkFailed: one of them ended otherwise than with a status of ``accept``.
        """
        request = {"commands": commands, "repeat": repeat, "environment": dict(environment or {})}
        argv = ["/usr/bin/python3", f"{GUEST}/measure.py"]
        output = self.host.run(argv, stdin=json.dumps(request), timeout=3600).stdout
        found: dict[str, list[dict[str, Any]]] = json.loads(output)
        for name, runs in found.items():
            for run in runs:
                if run["rc"] not in accept:
                    raise BenchmarkFailed(f"'{name}' ended with {run['rc']}: {run['stderr'] or run['stdout']}")
        return found
