"""nspawn hosts: the machine's kernel, an overlay over a shared tree, a network namespace of their own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from . import addresses, cgroups, processes
from .commands import environment, require, run
from .errors import LabError
from .state import LabState
from .topology import Host

PROCESS_TIMEOUT = 10.0
RUNTIME_DIRECTORY = Path("/run/systemd/nspawn")


# Mounted where nobody else sees it, so that it goes with nspawn, however that ends. As a slave it hears of network
# namespaces that are removed; private, it would keep them alive.
WITH_OVERLAY = """\
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
shift 2
exec "$@"
"""


def container_argv(machine: str, host: Host, tree: Path, directory: Path) -> list[str]:
    """The command line that ends in systemd-nspawn; ``directory`` is the host's in the lab's state. Pure."""
    seed = directory / "seed.tar"
    argv = ["systemd-nspawn", f"--machine={addresses.machine_name(machine)}", f"--hostname={host.name}"]
    # Neither machined nor systemd need to run here; --keep-unit is what makes that work.
    argv += ["--register=no", "--keep-unit", "--link-journal=no"]
    argv += [f"--network-namespace-path=/run/netns/{machine}", "--capability=all"]
    argv += ["--resolv-conf=off", "--timezone=off", f"--load-credential=lab.seed:{seed}"]
    if host.docker:
        # runc loads a BPF program for devices and makes a session keyring (see nspawn's default filter).
        argv.append("--system-call-filter=bpf keyctl add_key")
    if not host.persistent:
        return [*argv, f"--directory={tree}", "--volatile=overlay", "--boot"]
    overlay = ["unshare", "--mount", "--propagation=slave", "sh", "-ec", WITH_OVERLAY, "overlay", str(tree)]
    return [*overlay, str(directory / "overlay"), *argv, f"--directory={directory / 'overlay/root'}", "--boot"]


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
        """Boot, with a fresh overlay unless the host is persistent; False when it runs already."""
        require("systemd-nspawn", "unshare")
        if self.pid is not None:
            return False
        if self.host.persistent:
            for part in ("upper", "work", "root"):
                (self.directory / "overlay" / part).mkdir(mode=0o755, parents=True, exist_ok=True)
        argv = container_argv(self.name, self.host, tree, self.directory)
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
                preexec_fn=cgroups.enter(self.name),
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
        """End it at once. The overlay is gone with it, unless the host is persistent."""
        inside = processes.inside_namespace(self.name)
        nspawn = self.pid
        # The container first: nspawn then leaves in order and removes what it made under /run/systemd/nspawn.
        processes.end(pid for pid in inside if pid != nspawn)
        if nspawn is not None:
            processes.end_in_order(nspawn)

    def shut_down(self, timeout: float) -> None:
        """Let the system stop its services and halt; raises LabError when it does not within ``timeout`` seconds."""
        pid = self.pid
        if pid is None:
            return
        # nspawn hands it on as --kill-signal. Not a command over SSH, which may or may not hear of its own end.
        os.kill(pid, signal.SIGTERM)
        processes.wait_end(pid, timeout)

    def wipe(self) -> None:
        """Forget what a persistent host wrote; it is off."""
        shutil.rmtree(self.directory / "overlay", ignore_errors=True)

    def console(self) -> str:
        """All that the console printed since the host was made."""
        path = self.directory / "console.log"
        return path.read_text(errors="replace") if path.exists() else ""


def remove_leftovers(lab: str) -> None:
    """What an nspawn that was killed leaves of a lab's machines under /run: directories, a mount, lock files."""
    for path in RUNTIME_DIRECTORY.glob("*/*"):
        name = addresses.namespace_of_machine(path.name.removeprefix("name-").removeprefix("inode-"))
        if not addresses.belongs_to(lab, name):
            continue
        if os.path.ismount(path):
            run(["umount", str(path)])
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
