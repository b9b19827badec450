"""Running commands of the control machine: argv lists, LC_ALL=C, and errors that carry what was said."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .errors import CommandError, LabError

# Program -> Debian package, for an error that a person can act on. The same packages are listed in packages.txt.
PACKAGE_OF = {
    "debootstrap": "debootstrap",
    "grub-mkimage": "grub-common",
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "nc": "netcat-openbsd",
    "nft": "nftables",
    "qemu-img": "qemu-utils",
    "qemu-system-x86_64": "qemu-system-x86",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
    "sysctl": "procps",
    "systemd-nspawn": "systemd-container",
    "unshare": "util-linux",
}

SEARCH_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The caller's environment with a fixed locale and the administrator's directories in PATH."""
    path = os.environ.get("PATH", "").split(":")
    path += [directory for directory in SEARCH_PATH if directory not in path]
    return {**os.environ, "LC_ALL": "C", "PATH": ":".join(path), **(extra or {})}


def require(*programs: str) -> None:
    """Raise LabError naming the Debian packages of those ``programs`` that are not installed."""
    path = environment()["PATH"]
    missing = [program for program in programs if shutil.which(program, path=path) is None]
    if missing:
        packages = sorted({PACKAGE_OF[program] for program in missing})
        raise LabError(f"{', '.join(missing)} not found; install with: apt-get install {' '.join(packages)}")


def require_root() -> None:
    """Raise LabError unless running as root: namespaces, taps and containers need it."""
    if os.geteuid() != 0:
        raise LabError("the lab makes network namespaces and boots containers, which needs root; run it as root")


def require_space(directory: Path, needed_bytes: int) -> None:
    """Raise LabError unless the file system of ``directory`` has ``needed_bytes`` free."""
    free = shutil.disk_usage(directory).free
    if free < needed_bytes:
        raise LabError(
            f"{directory} has {free // 1024**2} MiB free and the lab needs {needed_bytes // 1024**2} MiB there; "
            "make room, or point FABRIC_CACHE (images) or FABRIC_LAB_STATE (running labs) elsewhere"
        )


def die_with_parent() -> Callable[[], None]:
    """A preexec function: the child is killed when this process ends, even by SIGKILL (prctl(2), PR_SET_PDEATHSIG)."""
    libc = ctypes.CDLL(None, use_errno=True)
    pr_set_pdeathsig = 1
    parent = os.getpid()

    def arm() -> None:
        libc.prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return arm


def run(
    argv: Sequence[str],
    *,
    check: bool = True,
    stdin: str | None = None,
    extra_environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    bound_to_parent: bool = False,
    inherited: Sequence[int] = (),
) -> subprocess.CompletedProcess[str]:
    """Run one command to its end. ``inherited`` descriptors stay open in it.

    Raises:
        CommandError: it returned non-zero and ``check`` is set.
        LabError: it did not end within ``timeout`` seconds.
    """
    try:
        result = subprocess.run(
            list(argv),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment(extra_environment),
            timeout=timeout,
            check=False,
            preexec_fn=die_with_parent() if bound_to_parent else None,
            pass_fds=inherited,
        )
    except subprocess.TimeoutExpired as expired:
        raise LabError(f"{' '.join(argv)} did not end within {timeout:.0f} s") from expired
    except FileNotFoundError as missing:
        raise LabError(f"{argv[0]} not found; install {PACKAGE_OF.get(argv[0], argv[0])}") from missing
    if check and result.returncode != 0:
        raise CommandError(list(argv), result.returncode, result.stdout, result.stderr)
    return result
