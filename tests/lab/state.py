"""Where a running lab keeps its overlays, keys and sockets, and the locks around them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .errors import LabError

# A command that was killed may leave a child that holds its lock until it has become another program.
LAB_LOCK_TIMEOUT = 5.0
DEFAULT_STATE = Path("/var/lib/fabric-lab")


def state_root() -> Path:
    """``$FABRIC_LAB_STATE`` or /var/lib/fabric-lab: per machine, not per checkout, as namespaces and ports are."""
    return Path(os.environ.get("FABRIC_LAB_STATE") or DEFAULT_STATE)


def write_private(path: Path, data: bytes) -> None:
    """Replace ``path`` atomically with mode 0600."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as handle:
        handle.write(data)
    fresh.replace(path)


def write_json(path: Path, value: Any) -> None:
    """Replace ``path`` atomically with ``value`` as JSON."""
    write_private(path, json.dumps(value, indent=1).encode() + b"\n")


def read_json(path: Path, default: Any = None) -> Any:
    """The JSON in ``path``, or ``default`` when there is no such file."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return default


class LabState:
    """The directory of one lab. Everything in it is private to root and goes away with the lab."""

    def __init__(self, name: str, root: Path | None = None) -> None:
        self.name = name
        self.root = root or state_root()
        self.directory = self.root / name

    def create(self) -> None:
        """Make the directory (0700)."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.directory.mkdir(mode=0o700, exist_ok=True)

    def host_directory(self, host: str) -> Path:
        """The directory of one host's files."""
        path = self.directory / host
        path.mkdir(mode=0o700, exist_ok=True)
        return path

    @property
    def topology(self) -> Path:
        """The topology as it was given, in JSON."""
        return self.directory / "topology.json"

    @property
    def network(self) -> Path:
        """What was reserved for this lab: the uplink's subnet and forwarded ports."""
        return self.directory / "network.json"

    @property
    def private_key(self) -> Path:
        """The key that root on every host accepts."""
        return self.directory / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """The hosts' own keys, made here, so that none is taken on trust."""
        return self.directory / "known_hosts"

    @property
    def ssh_config(self) -> Path:
        """An ssh_config(5) with every host of the lab."""
        return self.directory / "ssh_config"

    @property
    def inventory(self) -> Path:
        """The inventory for Ansible."""
        return self.directory / "inventory.yml"

    def exists(self) -> bool:
        """Whether a lab of this name was ever brought up and not taken down."""
        return self.directory.is_dir()

    def remove(self) -> None:
        """Forget the lab; the root goes with the last one."""
        shutil.rmtree(self.directory, ignore_errors=True)
        with contextlib.suppress(OSError):
            self.root.rmdir()

    def others(self) -> list[LabState]:
        """The other labs of this machine."""
        if not self.root.is_dir():
            return []
        names = [path.name for path in self.root.iterdir() if path.is_dir()]
        return [LabState(name, self.root) for name in names if name != self.name]


def _lock_path(what: str) -> Path:
    directory = Path("/run/lock")
    return (directory if directory.is_dir() else Path("/tmp")) / f"fabric-lab.{what}.lock"


@contextlib.contextmanager
def machine_lock() -> Iterator[None]:
    """Held while something that all labs of this machine share is reserved or given back."""
    descriptor = _acquire(_lock_path("machine"), None)
    try:
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def lab_lock(name: str, remove: bool = False) -> Iterator[None]:
    """Held by the one command that brings a lab up or down; with ``remove`` the lock goes when all went well.

    Raises:
        LabError: another command holds it for longer than a few seconds.
    """
    path = _lock_path(f"lab-{name}")
    descriptor = _acquire(path, LAB_LOCK_TIMEOUT)
    try:
        yield
        if remove:
            path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _acquire(path: Path, timeout: float | None) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            _lock(descriptor, path, timeout)
            # Whoever held it before may have removed the file: then this lock excludes nobody.
            if path.exists() and os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int, path: Path, timeout: float | None) -> None:
    if timeout is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                said = f"another command works on this lab ({path} is locked); wait for it or end it"
                raise LabError(said) from error
            time.sleep(0.05)
