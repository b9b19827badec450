"""Shows Docker's published ports obey a policy: who gets in before, after, and while Docker rebuilds its rules."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.integration.firewall.clients import Client, Target
from tests.integration.firewall.docker_host import DockerHost, Service
from tests.integration.firewall.engines import settings
from tests.integration.firewall.places import ADDRESSES, ALLOWED, DENIED, DOCK, SERVER, topology
from tests.integration.firewall.stage import Stage, on_lab
from tests.lab import Lab
from tests.playbook import CACHE, ROOT, play, playbook_argv

from .screen import DIM, Screen

PLAYBOOK = "baremetal.fabric.docker_firewall"
MODULE = "baremetal.fabric.docker_firewall"
PORT = 8443
NETWORKS = 10
SETTING = settings("26.1", proxy=True)[0]
WEB = Service("web", ("tcp:443",), (f"{PORT}:443",))
VARIABLES = {
    "docker_firewall_default": "drop",
    "docker_firewall_policies": [
        {"name": "web", "ports": [PORT], "allow_from": [ADDRESSES[ALLOWED][4], ADDRESSES[ALLOWED][6]]}
    ],
}


class PolicyFailed(Exception):
    """Somebody got in who should not, or did not who should."""


class PublishedDemo:
    """One run of it, on a lab of its own."""

    def __init__(self, lab_name: str, screen: Screen) -> None:
        self.lab = Lab.from_topology(topology(SETTING.engine), lab_name)
        self.screen = screen
        self.dock: DockerHost
        self.inventory = CACHE / "demo" / "docker.yml"

    @property
    def stage(self) -> Stage:
        """Who plays a part, once the lab is up."""
        return on_lab(self.lab)

    @property
    def shown_arguments(self) -> list[str]:
        """The arguments of ansible-playbook, as a person at the top of the checkout types them."""
        return [PLAYBOOK, "-i", str(self.lab.inventory), "-i", _short(self.inventory)]

    def run(self) -> None:
        """Tell the whole story."""
        self._publish()
        self._declare()
        self._disturb()

    def _publish(self) -> None:
        self.screen.heading("1. A container publishes a port")
        self.lab.say = lambda text: self.screen.block(text, DIM)
        self.lab.up()
        self.dock = self.stage.dock
        self.dock.start_over(SETTING)
        self.dock.run_services(WEB)
        self.screen.command(f"docker run --publish {PORT}:443 ...")
        self._expect(ALLOWED, reached=True)
        self._expect(DENIED, reached=True)
        self.screen.paragraph("Docker lets everybody in, over IPv4 and IPv6, whatever the firewall of the host says.")

    def _declare(self) -> None:
        self.screen.heading("2. The policy names who may come in")
        self.inventory.parent.mkdir(parents=True, exist_ok=True)
        declared = {"docker": {"hosts": {DOCK: VARIABLES}}}
        self.inventory.write_text(yaml.safe_dump(declared, sort_keys=False), encoding="utf-8")
        self.screen.block(yaml.safe_dump(VARIABLES, sort_keys=False), DIM)
        self.screen.command(shlex.join(["ansible-playbook", *self.shown_arguments]))
        result = self._play("apply")
        self.screen.block(result["diff"]["after"])
        self.screen.say()
        self._expect(ALLOWED, reached=True)
        self._expect(DENIED, reached=False)
        with self.stage.server.answering(SERVER, f"tcp:{PORT}"):
            asked = self.dock.ask_from(WEB.name, [Target(ADDRESSES[SERVER][4], PORT)])
        if asked == [None]:
            raise PolicyFailed(f"The container does not reach port {PORT} of another host any more.")
        self.screen.good(f"the container itself still reaches port {PORT} of another host")
        again = self._play("again")
        if again["changed"] or again["plan"]:
            raise PolicyFailed("The second run found something to do.")
        self.screen.good("a second run changes nothing")

    def _disturb(self) -> None:
        self.screen.heading("3. The denied one tries all the time, while Docker rebuilds its rules")
        dock, started = self.dock, time.monotonic()
        with self.stage.denied.knocking(Target(ADDRESSES[DOCK][4], PORT)) as knocking:
            for number in range(NETWORKS):
                dock.docker("network", "create", f"n{number}")
            dock.restart_docker()
            dock.restart_nftables()
            dock.restart_docker()
        self.screen.paragraph(
            f"{NETWORKS} networks were made, Docker was restarted twice, and nftables.service flushed all rules once."
        )
        if knocking.successes:
            raise PolicyFailed(f"{knocking.successes} of {knocking.attempts} connections came about.")
        seconds = time.monotonic() - started
        self.screen.good(f"{knocking.attempts} attempts in {seconds:.0f} s, {knocking.successes} got in")
        self._expect(ALLOWED, reached=True)

    def _play(self, name: str) -> Mapping[str, Any]:
        argv = playbook_argv(PLAYBOOK, [self.lab.inventory, self.inventory])
        return play(argv, self.inventory.parent / f"docker-{name}.log").of(MODULE)

    def _expect(self, who: str, reached: bool) -> None:
        client: Client = self.stage.allowed if who == ALLOWED else self.stage.denied
        for family in (4, 6):
            if client.can(DOCK, PORT, family=family) is not reached:
                raise PolicyFailed(f"{who}, IPv{family}: {'does not get in' if reached else 'gets in'}.")
        self.screen.good(f"{ADDRESSES[who][4]} and {ADDRESSES[who][6]}: {'get in' if reached else 'do not get in'}")


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
