"""Makes the checkout importable as ``ansible_collections.baremetal.fabric``, however pytest was started."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

from tests.proof_table import ProofTable

ROOT = Path(__file__).resolve().parent.parent
LINK = ROOT / ".cache" / "collections" / "ansible_collections" / "baremetal" / "fabric"


def link_collection() -> None:
    """Point the collection tree of this checkout at the checkout itself."""
    if LINK.is_symlink() and LINK.resolve() == ROOT:
        return
    LINK.parent.mkdir(parents=True, exist_ok=True)
    # Renamed into place, because make runs several pytest processes at once.
    fresh = LINK.with_name(f"{LINK.name}.{os.getpid()}")
    fresh.symlink_to(Path(os.path.relpath(ROOT, LINK.parent)), target_is_directory=True)
    fresh.replace(LINK)
    # The import system remembers that the directory was missing when pytest started.
    importlib.invalidate_caches()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--area", default="", help="run only tests that hold an acceptance line of this area")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProofTable(config.getoption("--area")), "proof-table")


link_collection()
set_hypothesis_home_dir(ROOT / ".cache" / "hypothesis")
# How long an example takes says more of the machine, and of what else it does, than of the code.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
