"""SSH to lab hosts: keys, one ssh_config(5) for everybody, and running commands over a shared connection."""

from __future__ import annotations

import itertools
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .commands import environment, run
from .errors import CommandError, LabError
from .state import LabState, write_private

# For an emulated guest on a busy machine.
CONNECT_TIMEOUT = 120
PROBE_INTERVAL = 0.2
# Seconds that the first and the following tries may take. A forwarded port accepts before the guest listens, so the
# first ones give up soon; but an emulated guest on a busy machine is slow to greet, and each try costs it more.
PROBE_TIMEOUTS = (5, 8, 13, 20, 30, 60, 120)


@dataclass(frozen=True)
class Reach:
    """How SSH gets to a host: a port on 127.0.0.1, or a network namespace to go through."""

    host: str
    machine: str
    port: int | None
    control_path: Path


def make_key(path: Path, comment: str) -> tuple[str, str]:
    """An Ed25519 key pair at ``path``, made once; returns private and public text."""
    public = path.with_name(path.name + ".pub")
    if not public.exists():
        path.unlink(missing_ok=True)
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)])
    return path.read_text(), public.read_text()


def proxy_command(machine: str) -> str:
    """A way into a namespace without a management network. Full paths: Ansible's PATH may lack /usr/sbin."""
    path = environment()["PATH"]
    ip, nc = (shutil.which(program, path=path) or program for program in ("ip", "nc"))
    return f"{ip} netns exec {machine} {nc} 127.0.0.1 22"


def config_text(state: LabState, reaches: Sequence[Reach]) -> str:
    """ssh_config(5) for a lab. Hosts answer to their name and to their machine name, unique among labs."""
    lines = []
    for reach in reaches:
        lines += [f"Host {reach.host} {reach.machine}", f"    HostKeyAlias {reach.machine}"]
        if reach.port is not None:
            lines += ["    HostName 127.0.0.1", f"    Port {reach.port}"]
        else:
            lines.append(f"    ProxyCommand {proxy_command(reach.machine)}")
        lines += [f"    ControlPath {reach.control_path}", ""]
    lines += [
        "Host *",
        "    User root",
        f"    IdentityFile {state.private_key}",
        "    IdentitiesOnly yes",
        "    IdentityAgent none",
        f"    UserKnownHostsFile {state.known_hosts}",
        "    GlobalKnownHostsFile none",
        "    StrictHostKeyChecking yes",
        "    BatchMode yes",
        "    LogLevel ERROR",
        f"    ConnectTimeout {CONNECT_TIMEOUT}",
        "    ServerAliveInterval 10",
        "    ServerAliveCountMax 6",
        "    ControlMaster auto",
        "    ControlPersist 600",
        # The cheapest under emulation; there is nobody to hide from on this machine.
        "    KexAlgorithms curve25519-sha256",
        "    Compression no",
    ]
    return "\n".join(lines) + "\n"


def write_config(state: LabState, reaches: Sequence[Reach], host_keys: dict[str, str]) -> None:
    """Write ssh_config and known_hosts; ``host_keys`` maps machine names to public keys."""
    known = "".join(f"{machine} {' '.join(key.split()[:2])}\n" for machine, key in sorted(host_keys.items()))
    write_private(state.known_hosts, known.encode())
    write_private(state.ssh_config, config_text(state, reaches).encode())


def ssh_argv(state: LabState, host: str, *options: str) -> list[str]:
    """ssh to a host of the lab, up to the command."""
    return ["ssh", "-F", str(state.ssh_config), *options, host]


def execute(
    state: LabState, host: str, argv: Sequence[str], *, check: bool, timeout: float, stdin: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run ``argv`` on a host.

    Raises:
        CommandError: it returned non-zero and ``check`` is set, or SSH failed (255).
        LabError: it did not end within ``timeout`` seconds.
    """
    remote = shlex.join(argv)
    try:
        result = subprocess.run(
            [*ssh_argv(state, host), "--", remote],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            env=environment(),
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as expired:
        raise LabError(f"{host}: {remote} did not end within {timeout:.0f} s") from expired
    if check and result.returncode != 0:
        output = [text.decode(errors="replace") for text in (result.stdout, result.stderr)]
        raise CommandError([f"{host}:", *argv], result.returncode, output[0], output[1])
    return result


def drop_connection(state: LabState, host: str) -> None:
    """End the shared connection: after a reset or a snapshot the other end knows nothing of it."""
    if not state.ssh_config.exists():
        return
    run(ssh_argv(state, host, "-O", "exit"), check=False, timeout=10)


def wait_answer(state: LabState, host: str, timeout: float, alive: Callable[[], bool]) -> float:
    """Wait until a command runs on the host; returns the seconds it took.

    Raises:
        LabError: it did not within ``timeout`` seconds, or ``alive`` says that the host is gone.
    """
    started = time.monotonic()
    said = ""
    patience = itertools.chain(PROBE_TIMEOUTS, itertools.repeat(PROBE_TIMEOUTS[-1]))
    limit = next(patience)
    while time.monotonic() - started < timeout:
        if not alive():
            raise LabError(f"{host} ended before it answered on SSH; see its console log")
        tried = time.monotonic()
        probe = ssh_argv(state, host, "-o", f"ConnectTimeout={limit}")
        try:
            result = run([*probe, "--", "true"], check=False, timeout=3 * limit)
        except LabError as error:
            said = str(error)
        else:
            if result.returncode == 0:
                return time.monotonic() - started
            said = result.stderr.strip()
        if time.monotonic() - tried >= limit:
            limit = next(patience)
        time.sleep(PROBE_INTERVAL)
    raise LabError(f"{host} does not answer on SSH within {timeout:.0f} s; the last try said: {said or 'nothing'}")
