"""Which hosts there are, by release."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.lab import take_down
from tests.lab.lab import lab_names
from tests.lab.recipe import RELEASES

LAB = "kernel-proof"

#: Every release; none of it in ``make test``.
every_release = pytest.mark.parametrize("builder", RELEASES, indirect=True)
#: The newest release, in ``make test`` too.
newest_release_always = pytest.mark.parametrize(
    "builder",
    [*RELEASES[:-1], pytest.param(RELEASES[-1], marks=pytest.mark.representative)],
    indirect=True,
)
#: Every release, on a host with a kernel of its own.
every_machine = pytest.mark.parametrize("machine", RELEASES, indirect=True)
#: Every release, with a builder and a host that is built for.
every_role_host = pytest.mark.parametrize("stand", RELEASES, indirect=True)
#: Only there are the packages that a test needs.
newest_release = pytest.mark.parametrize("builder", RELEASES[-1:], indirect=True)

#: The same for packages, whose labs have several hosts.
packaging_every_release = pytest.mark.parametrize("packaging_lab", RELEASES, indirect=True)
packaging_newest_release_always = pytest.mark.parametrize(
    "packaging_lab",
    [*RELEASES[:-1], pytest.param(RELEASES[-1], marks=pytest.mark.representative)],
    indirect=True,
)
packaging_newest_release = pytest.mark.parametrize("packaging_lab", RELEASES[-1:], indirect=True)


def lab_name(release: str) -> str:
    """A name that tells whose lab it is."""
    return f"{LAB}-{release}-{os.getpid()}"


def packaging_lab_name(release: str) -> str:
    """The same for a lab in which packages are built and installed."""
    return f"kernel-pack-{release}-{os.getpid()}"


def remove_leftovers() -> None:
    """Take down the labs of test runs that were killed."""
    for name in lab_names():
        match = re.fullmatch(r"kernel-(?:proof|ask|role|load|pack)-[a-z]+-(\d+)", name)
        if match and not Path(f"/proc/{match[1]}").exists():
            take_down(name)
