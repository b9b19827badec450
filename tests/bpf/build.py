"""Writes the program that times route lookups into the module that carries it to hosts.

It is a Python module, because that is all that Ansible sends along with a module.
"""

from __future__ import annotations

import base64
import hashlib
import textwrap
from pathlib import Path

from tests.bpf.compiler import PACKAGE, VERSION, compile_object
from tests.bpf.elf import Code, read_code

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "bpf" / "route_lookup.c"
CARRIER = ROOT / "plugins" / "module_utils" / "_kernel" / "benchmark" / "route_lookup_program.py"

_TEMPLATE = '''\
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v2.0-or-later (see https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt)
# SPDX-License-Identifier: GPL-2.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The program that times route lookups. Made by `make bpf` from bpf/route_lookup.c; do not edit."""

from __future__ import annotations

COMPILER = "{package} {version}"
SOURCE_SHA256 = "{source}"

#: Bytes of the variable that it shares with user space.
MEMORY_SIZE = {memory_size}
#: Indexes of the instructions that refer to it.
REFERENCES = {references}
#: Instructions, eight bytes each, in base64.
INSTRUCTIONS = """
{instructions}
"""
'''


def source_hash(source: Path = SOURCE) -> str:
    """Return the SHA-256 of the source, by which the checked-in program is known to be its own."""
    return hashlib.sha256(source.read_bytes()).hexdigest()


def carrier_text(code: Code, source: str) -> str:
    """Return the text of the Python module for a program."""
    return _TEMPLATE.format(
        package=PACKAGE,
        version=VERSION,
        source=source,
        memory_size=code.memory_size,
        references=f"({', '.join(map(str, code.references))},)" if len(code.references) == 1 else str(code.references),
        instructions="\n".join(textwrap.wrap(base64.b64encode(code.instructions).decode(), 100)),
    )


def build(source: Path = SOURCE) -> str:
    """Compile the program, and return the text of the Python module that carries it."""
    return carrier_text(read_code(compile_object(source), "xdp"), source_hash(source))
