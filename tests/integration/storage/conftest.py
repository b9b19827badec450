"""One host for each release, booted once; every test begins at one of its snapshots."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.storage.pool_host import BOOT_SECONDS, PoolHost
from tests.lab import Lab, take_down
from tests.lab.lab import lab_names

LAB = "storage-proof"
HOST = "store"
KEY = pytest.StashKey[PoolHost]()


def topology(release: str) -> dict[str, Any]:
    """One host without disks for pools, with room for many; its one disk has a WWN and belongs to nobody."""
    bystander = {"size": "64M", "bus": "scsi", "wwn": "0x5000c50000000001"}
    host = {"kind": "qemu", "release": release, "disk_slots": 12, "disks": {"bystander": bystander}}
    return {"hosts": {HOST: host}}


def _remove_leftovers() -> None:
    """Take down the labs of test runs that were killed."""
    for name in lab_names():
        match = re.fullmatch(rf"{LAB}-(\d+)", name)
        if match and not Path(f"/proc/{match[1]}").exists():
            take_down(name)


@pytest.fixture(scope="session")
def release_host(request: pytest.FixtureRequest) -> Iterator[PoolHost]:
    """The host of a release, with the snapshots ``fresh`` (as it was installed) and ``blank``."""
    _remove_leftovers()
    lab = Lab.from_topology(topology(request.param), name=f"{LAB}-{os.getpid()}")
    with contextlib.ExitStack() as stack:
        stack.push(lab)
        lab.up(BOOT_SECONDS)
        lab[HOST].wait_booted(BOOT_SECONDS)
        store = PoolHost(lab[HOST])
        store.prepare()
        lab[HOST].snapshot_save("fresh")
        # Rebuilding the initramfs takes an emulated host more than a minute. A host without initramfs-tools has none
        # to rebuild; the tests that boot, and the story, begin at the other snapshot.
        store.run("dpkg-divert", "--quiet", "--local", "--rename", "--add", "/usr/sbin/update-initramfs")
        lab[HOST].snapshot_save("blank")
        yield store


@pytest.fixture
def store(release_host: PoolHost, request: pytest.FixtureRequest) -> PoolHost:
    """The host, at ``blank``."""
    request.node.stash[KEY] = release_host
    release_host.host.snapshot_load("blank")
    return release_host


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure what the host looked like."""
    report = yield
    store = item.stash.get(KEY, None)
    if report.failed and store is not None and report.when in ("setup", "call"):
        report.sections.append(("the host", store.evidence()))
    return report
