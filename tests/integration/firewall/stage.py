"""The whole scene of a test: the Docker host in a setting, and those outside."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.integration.firewall.clients import Client
from tests.integration.firewall.docker_host import DockerHost
from tests.integration.firewall.engines import Engine
from tests.integration.firewall.places import ALLOWED, DENIED, DOCK, SERVER, topology
from tests.lab import Lab, take_down
from tests.lab.lab import lab_names

LAB = "firewall-proof"


@dataclass
class Stage:
    """Who plays a part."""

    lab: Lab
    dock: DockerHost
    allowed: Client
    denied: Client
    server: Client


def on_lab(lab: Lab) -> Stage:
    """The stage on a lab that is up, or will be."""
    return Stage(lab, DockerHost(lab[DOCK]), Client(lab[ALLOWED]), Client(lab[DENIED]), Client(lab[SERVER]))


def remove_leftovers() -> None:
    """Take down the labs of test runs that were killed."""
    for name in lab_names():
        match = re.fullmatch(rf"{LAB}-(\d+)", name)
        if match and not Path(f"/proc/{match[1]}").exists():
            take_down(name)


@contextlib.contextmanager
def stages() -> Iterator[Callable[[Engine], Stage]]:
    """Hands out the stage for an engine. One lab is up at a time; it is kept as long as the engine runs on its host."""
    with contextlib.ExitStack() as stack:
        current: list[tuple[object, Stage]] = []

        def give(engine: Engine) -> Stage:
            if not current or current[0][0] != engine.image:
                current.clear()
                stack.close()
                lab = Lab.from_topology(topology(engine), name=f"{LAB}-{os.getpid()}")
                current.append((engine.image, on_lab(stack.enter_context(lab))))
            return current[0][1]

        yield give
