"""Lays a captured host out as files, so that the observers read it as they read a real one."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Container, Sequence
from pathlib import Path

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import CommandError, Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import Pool, Wanted, WantedVolume
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.observe import observe_pool

CAPTURED = Path(__file__).parent / "captured"


class CapturedHost(Host):
    """A host whose device nodes are files; their numbers come from the capture."""

    def __init__(self, root: Path, numbers: dict[str, str]) -> None:
        super().__init__(str(root))
        self.numbers = numbers
        self.busy_nodes: set[str] = set()

    def device_number(self, path: str) -> str:
        return self.numbers.get(self.resolve(path), "")

    def busy(self, node: str) -> bool:
        return node in self.busy_nodes


class CapturedRunner(Runner):
    """Answers commands as the captured host did; knows no others."""

    def __init__(self, commands: Sequence[tuple[list[str], int, str, str]]) -> None:
        super().__init__()
        self.answers = {tuple(argv): (rc, out, err) for argv, rc, out, err in commands}
        self.ran: list[tuple[str, ...]] = []

    def run(
        self,
        argv: Sequence[str],
        accept: Container[int] = (0,),
        data: bytes | None = None,
        timeout: float | None = None,
        tied: bool = False,
    ) -> str:
        del timeout, tied
        if data is not None:
            raise AssertionError("no command that observers start reads its standard input")
        command = tuple(argv)
        self.ran.append(command)
        rc, out, err = self.answers[command]
        if rc not in accept:
            raise CommandError(command, rc, out, err)
        return out


def _write(root: Path, path: str, text: str) -> None:
    where = root / path.lstrip("/")
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_text(text)


def _write_blocks(path: Path, start: int, blocks: dict[str, str]) -> None:
    with path.open("r+b") as file:
        for offset, block in blocks.items():
            file.seek(start + int(offset))
            file.write(base64.b64decode(block))


def lay_out(name: str, root: Path) -> tuple[CapturedHost, CapturedRunner]:
    """Write the capture ``name`` below ``root``; return the host and the answers of its tools."""
    with gzip.open(CAPTURED / f"{name}.json.gz", "rt") as file:
        content = json.load(file)
    for path in content["folders"]:
        (root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
    for path, text in content["files"].items():
        _write(root, path, text)
    for path, target in content["links"].items():
        where = root / path.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, where)
    numbers = {}
    for node, device in content["devices"].items():
        numbers[node] = device["number"]
        where = root / node.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        with where.open("wb") as file:
            file.truncate(device["size"])
        _write_blocks(where, 0, device["blocks"])
    for node, device in content["devices"].items():
        # What is on a partition is on its disk as well.
        partition = (root / "sys/class/block" / node.rpartition("/")[2]).resolve()
        if (partition / "partition").exists() and f"/dev/{partition.parent.name}" in numbers:
            start = int((partition / "start").read_text()) * 512
            _write_blocks(root / "dev" / partition.parent.name, start, device["blocks"])
    for path, time in content["times"].items():
        where = root / path.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.touch()
        os.utime(where, ns=(time, time))
    return CapturedHost(root, numbers), CapturedRunner(content["commands"])


def observe(name: str, root: Path, disks: Sequence[str], volumes: tuple[WantedVolume, ...] = ()) -> Pool:
    """Return what the observer makes of the capture ``name`` with ``disks`` declared."""
    host, runner = lay_out(name, root)
    return observe_pool(Wanted("data", tuple(disks), volumes=volumes), runner, host)
