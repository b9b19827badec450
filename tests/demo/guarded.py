"""Shows HAProxy's configuration changed while clients ask all the time: well, with a mistake, and with a bad idea."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.integration.config.asking import asking
from tests.integration.config.daemons import HAPROXY, NGINX, SITE_PORT
from tests.integration.config.places import EDGE, SITE, topology
from tests.integration.config.stage import Stage, on_lab
from tests.lab import Lab
from tests.playbook import CACHE, ROOT, play, playbook_argv

from .screen import DIM, Screen

MODULE = "baremetal.fabric.guarded_config"
#: What becomes of HAProxy's set, one change after the other: which set, what people see, and whether it stands.
CHANGES = (
    ("new", "a good change", True),
    ("invalid", "a change with a mistake: 'bnid' instead of 'bind'", False),
    ("failing", "a change that HAProxy takes, and that answers every health check with 503", False),
)


class GuardFailed(Exception):
    """A client noticed, or a set is in place that should not be."""


class GuardedDemo:
    """One run of it, on a lab of its own."""

    def __init__(self, lab_name: str, release: str, screen: Screen) -> None:
        self.lab = Lab.from_topology(topology(release), lab_name)
        self.screen = screen
        self.work = CACHE / "demo"

    @property
    def stage(self) -> Stage:
        """Who plays a part, once the lab is up."""
        return on_lab(self.lab)

    def run(self) -> None:
        """Tell the whole story."""
        self.screen.heading("1. HAProxy and nginx run")
        self.lab.say = lambda text: self.screen.block(text, DIM)
        self.lab.up()
        self.stage.prepare()
        self.stage.edge.start_over()
        for daemon in (NGINX, HAPROXY):
            self._play(daemon.name, daemon.set("old"))
        self.screen.block(yaml.safe_dump(self._told(HAPROXY.set("old")), sort_keys=False, width=100), DIM)
        self.screen.good("both are as declared, and verified")
        self.screen.heading("2. Three changes, while clients ask all the time")
        with asking(self.stage.client, SITE, SITE_PORT) as found:
            for which, says, stands in CHANGES:
                self._change(which, says, stands)
            self._back()
        if found.failures:
            raise GuardFailed(f"{found.failures} of {found.attempts} requests failed: {found.told}")
        self.screen.say()
        self.screen.good(f"{found.attempts} requests were answered meanwhile, {found.failures} failed")

    def _change(self, which: str, says: str, stands: bool) -> None:
        self.screen.say()
        self.screen.paragraph(f"{says[0].upper()}{says[1:]}.")
        result = self._play(f"haproxy-{which}", HAPROXY.set(which))
        if bool(result.get("failed")) is stands:
            raise GuardFailed(f"{says}: {result.get('msg', 'it stands')}")
        if stands:
            for step in result["plan"]:
                self.screen.block(step["title"], DIM)
            self.screen.good("it stands")
        else:
            self.screen.block(result["msg"], DIM)
            self.screen.good(f"it does not stand; HAProxy serves the set '{self._serves('new')}'")

    def _back(self) -> None:
        self.screen.say()
        self.screen.paragraph("And back to the set before the current one.")
        self.screen.command(f"ansible {EDGE} -m {MODULE} -a 'name=haproxy state=previous'")
        self._play("haproxy-previous", {"name": "haproxy", "state": "previous"})
        self.screen.good(f"HAProxy serves the set '{self._serves('old')}', verified as it was then")

    def _serves(self, expected: str) -> str:
        found = self.stage.edge.serves(HAPROXY)
        if found != expected:
            raise GuardFailed(f"HAProxy serves the set '{found}' instead of '{expected}'.")
        return found

    def _play(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        file = self.work / f"guarded-{name}.yml"
        file.parent.mkdir(parents=True, exist_ok=True)
        task = {"name": "The daemon runs as declared", MODULE: dict(arguments), "ignore_errors": True}
        book = [{"hosts": EDGE, "gather_facts": False, "tasks": [task]}]
        file.write_text(yaml.safe_dump(book, sort_keys=False), encoding="utf-8")
        shown = ["ansible-playbook", _short(file), "-i", _short(self.lab.inventory)]
        self.screen.command(shlex.join(shown))
        return play(playbook_argv(str(file), [self.lab.inventory]), file.with_suffix(".log")).of(MODULE)

    def _told(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        files = [{**each, "content": "..."} for each in arguments["files"]]
        return {MODULE: {**arguments, "files": files}}


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
