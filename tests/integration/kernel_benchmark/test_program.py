"""The program that hosts get is what the source becomes, whoever compiles it and wherever."""

from __future__ import annotations

import os

import pytest

from tests.bpf.build import CARRIER, SOURCE, carrier_text, source_hash
from tests.bpf.compiler import TOPOLOGY, compile_on
from tests.bpf.elf import read_code
from tests.lab import Lab


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=7, title="Two builds of the program are the same, and are what is checked in")
def test_two_builds_are_what_is_checked_in() -> None:
    with Lab.from_topology(TOPOLOGY, name=f"kbench-compiler-{os.getpid()}") as lab:
        one, other = (
            compile_on(lab["compiler"], SOURCE.read_bytes(), folder) for folder in ("/root/one", "/srv/other")
        )
    assert one == other
    assert carrier_text(read_code(one, "xdp"), source_hash()) == CARRIER.read_text(encoding="utf-8")
