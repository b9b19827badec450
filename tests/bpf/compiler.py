"""Compiles C for the kernel's BPF, with the one compiler whose output is checked in."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tests.lab import Lab, LabHost

#: Debian 12 keeps this version of the package for good, so that everybody can have it.
PACKAGE = "clang-14"
VERSION = "1:14.0.6-12"
#: v2 of the instruction set is what Linux 4.14 runs already. Nothing of the place or the time goes into the object.
OPTIONS = ("-target", "bpfel", "-mcpu=v2", "-O2", "-g0", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-nostdinc")


#: Where it compiles when this machine has another one.
TOPOLOGY = {"hosts": {"compiler": {"release": "bookworm", "packages": [PACKAGE]}}, "uplink": False}
_QUERY = ("dpkg-query", "--show", "--showformat=${Version}", PACKAGE)


class WrongCompiler(Exception):
    """The compiler is another one than the one whose output is checked in."""


def argv(source: str, target: str) -> list[str]:
    """Return the command that compiles ``source``."""
    return [PACKAGE, *OPTIONS, "-c", "-o", target, source]


def is_here() -> bool:
    """Whether this machine has the very version."""
    try:
        return subprocess.run(_QUERY, capture_output=True, text=True, check=False).stdout.strip() == VERSION
    except FileNotFoundError:
        return False


def compile_here(source: Path) -> bytes:
    """Return the ELF object of a C file. Raises CalledProcessError for what is no valid C."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "object.o"
        subprocess.run(argv(source.name, str(result)), cwd=source.parent, check=True)
        return result.read_bytes()


def compile_on(host: LabHost, source: bytes, folder: str) -> bytes:
    """Return the ELF object of C text, compiled in a folder of a lab host."""
    found = host.run(_QUERY).stdout.strip()
    if found != VERSION:
        raise WrongCompiler(f"Debian 12 has {PACKAGE} {found}, but {VERSION} is expected; see what has changed.")
    host.run(["mkdir", "-p", folder])
    host.put(source, f"{folder}/source.c")
    host.run(["env", f"--chdir={folder}", *argv("source.c", "object.o")])
    return host.get(f"{folder}/object.o")


def compile_object(source: Path) -> bytes:
    """Return the ELF object of a C file, compiled here, or else on a lab host."""
    if is_here():
        return compile_here(source)
    with Lab.from_topology(TOPOLOGY, name="bpf-compiler") as lab:
        return compile_on(lab["compiler"], source.read_bytes(), "/root/bpf")
