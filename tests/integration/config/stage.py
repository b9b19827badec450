"""The whole scene of a test, one for each release."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.config.config_host import ConfigHost
from tests.integration.config.daemons import ROUTER_CONF, Daemon
from tests.integration.config.places import CLIENT, CONTROLLER, EDGE, LOOPBACK, ROUTER
from tests.lab import Lab, LabHost, take_down
from tests.lab.lab import lab_names
from tests.lab.recipe import RELEASES

LAB = "config-proof"

#: Every release; none of it in ``make test``.
every_release = pytest.mark.parametrize("release_stage", RELEASES, indirect=True, scope="session")
#: Every release; the newest in ``make test`` too.
every_release_newest_always = pytest.mark.parametrize(
    "release_stage",
    [*RELEASES[:-1], pytest.param(RELEASES[-1], marks=pytest.mark.representative)],
    indirect=True,
    scope="session",
)


def every_release_of(daemons: Sequence[Daemon], always: Sequence[Daemon] = ()) -> pytest.MarkDecorator:
    """Every release, with each daemon; the newest with those that ``make test`` runs always."""
    params = [
        pytest.param(
            release,
            daemon,
            id=f"{release}-{daemon.name}",
            marks=[pytest.mark.representative] if release == RELEASES[-1] and daemon in always else [],
        )
        for release in RELEASES
        for daemon in daemons
    ]
    return pytest.mark.parametrize(("release_stage", "daemon"), params, indirect=["release_stage"], scope="session")


@dataclass
class Stage:
    """Who plays a part."""

    lab: Lab
    edge: ConfigHost
    router: LabHost
    client: LabHost
    controller: LabHost

    def prepare(self) -> None:
        """Bring what the tests need to hosts that were just booted."""
        self.edge.prepare()
        self.edge.run("ip", "address", "add", f"{LOOPBACK}/32", "dev", "lo")
        self.router.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"])
        self.router.put(ROUTER_CONF.encode(), "/etc/bird/bird.conf")
        self.router.run(["systemctl", "start", "bird.service"])


def on_lab(lab: Lab) -> Stage:
    """The stage on a lab that is up."""
    return Stage(lab, ConfigHost(lab[EDGE]), lab[ROUTER], lab[CLIENT], lab[CONTROLLER])


def lab_name(release: str) -> str:
    """A name that tells whose lab it is."""
    return f"{LAB}-{release}-{os.getpid()}"


def remove_leftovers() -> None:
    """Take down the labs of test runs that were killed."""
    for name in lab_names():
        match = re.fullmatch(rf"{LAB}-[a-z]+-(\d+)", name)
        if match and not Path(f"/proc/{match[1]}").exists():
            take_down(name)
