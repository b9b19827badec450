"""nspawn hosts: the machine's kernel, a throw-away overlay over a shared tree, a network namespace of their own."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from . import addresses, processes
from .commands import environment, require, run
from .errors import LabError
from .state import LabState
from .topology import Host

PROCESS_TIMEOUT = 10.0
RUNTIME_DIRECTORY = Path("/run/systemd/nspawn")


def container_argv(machine: str, host: Host, tree: Path, seed: Path) -> list[str]:
    """systemd-nspawn's command line. Pure."""
    argv = ["systemd-nspawn", f"--machine={machine}", f"--hostname={host.name}", f"--directory={tree}"]
    # Neither machined nor systemd need to run here; --keep-unit is what makes that work.
    argv += ["--volatile=overlay", "--register=no", "--keep-unit", "--link-journal=no"]
    argv += [f"--network-namespace-path=/run/netns/{machine}", "--capability=all"]
    argv += ["--resolv-conf=off", "--timezone=off", f"--load-credential=lab.seed:{seed}"]
    if host.docker:
        # runc loads a BPF program for devices and makes a session keyring (see nspawn's default filter).
        argv.append("--system-call-filter=bpf keyctl add_key")
    return [*argv, "--boot"]


def container_environment() -> dict[str, str]:
    """What nspawn reads from its environment (docs/ENVIRONMENT.md of systemd)."""
    # API_VFS: otherwise /proc/sys/net is read-only, and neither routing daemons nor Docker can set forwarding.
    # UNIFIED: systemd 256 and later refuse to boot on the cgroup v1 or hybrid hierarchy that the machine may have, and
    # runc can make no v1 groups here, because they are mounted read-only.
    return {"SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network", "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}


class Container:
    """One nspawn host's process."""

    def __init__(self, state: LabState, host: Host) -> None:
        self.state = state
        self.host = host
        self.directory = state.host_directory(host.name)
        self.name = addresses.namespace(state.name, host.name)

    @property
    def pid(self) -> int | None:
        """The nspawn process, or None when the host is off."""
        return processes.of_host(self.state.name, self.host.name)

    def start(self, tree: Path) -> bool:
        """Boot with a fresh overlay; False when it runs already."""
        require("systemd-nspawn")
        if self.pid is not None:
            return False
        argv = container_argv(self.name, self.host, tree, self.directory / "seed.tar")
        log = os.open(self.directory / "console.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            # A session of its own and init as parent: it outlives this command, and Ctrl-C is not meant for it.
            subprocess.run(
                ["setsid", "--fork", *argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment(container_environment()),
                check=True,
            )
        finally:
            os.close(log)
        self._wait_process()
        return True

    def _wait_process(self) -> None:
        """Wait for the step from the fork to nspawn itself."""
        deadline = time.monotonic() + PROCESS_TIMEOUT
        while self.pid is None:
            if time.monotonic() > deadline:
                raise LabError(f"{self.host.name}: systemd-nspawn does not run:\n{self.console()[-2000:]}")
            time.sleep(0.02)

    def power_off(self) -> None:
        """End it at once. The overlay is gone with it."""
        inside = processes.inside_namespace(self.name)
        nspawn = self.pid
        # The container first: nspawn then leaves in order and removes what it made under /run/systemd/nspawn.
        processes.end(pid for pid in inside if pid != nspawn)
        if nspawn is not None:
            processes.end_in_order(nspawn)

    def console(self) -> str:
        """All that the console printed since the host was made."""
        path = self.directory / "console.log"
        return path.read_text(errors="replace") if path.exists() else ""


def remove_leftovers(lab: str) -> None:
    """What an nspawn that was killed leaves of a lab's machines under /run: directories, a mount, lock files."""
    for path in RUNTIME_DIRECTORY.glob("*/*"):
        name = path.name.removeprefix("name-").removeprefix("inode-")
        if not addresses.belongs_to(lab, name):
            continue
        if os.path.ismount(path):
            run(["umount", str(path)])
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
