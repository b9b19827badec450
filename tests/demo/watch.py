"""How far md is, read from outside while a playbook runs."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from tests.lab import LabError, LabHost

#: One shell command, because each costs a connection: sysfs, and the names that the arrays go by.
LOOK = """\
grep -s . /sys/block/md*/md/sync_action /sys/block/md*/md/sync_completed
find /dev/md -type l -printf '%f %l\\n' 2>/dev/null
true
"""
_ATTRIBUTE = re.compile(r"/sys/block/(?P<node>md\w+)/md/(?P<name>\w+):(?P<value>.*)")
_NAME = re.compile(r"(?P<name>\S+) \.\./(?P<node>md\w+)")
_WORDS = {"recover": "rebuilds", "resync": "is made redundant", "reshape": "is reshaped", "check": "is checked"}
EVERY_SECONDS = 1.0


@dataclass(frozen=True)
class Work:
    """What md does in one array."""

    array: str
    action: str
    percent: float

    @property
    def text(self) -> str:
        """In words."""
        return f"{self.array} {_WORDS.get(self.action, self.action)}"


def parse(output: str) -> list[Work]:
    """Return the work under way from what :data:`LOOK` printed."""
    arrays: dict[str, dict[str, str]] = {}
    names: dict[str, str] = {}
    for line in output.splitlines():
        if match := _ATTRIBUTE.fullmatch(line):
            arrays.setdefault(match["node"], {})[match["name"]] = match["value"]
        elif match := _NAME.fullmatch(line):
            names[match["node"]] = match["name"]
    found = []
    for node, attributes in sorted(arrays.items()):
        done, slash, total = attributes.get("sync_completed", "").partition(" / ")
        if slash and int(total):
            action = attributes.get("sync_action", "")
            found.append(Work(names.get(node, node), action, 100 * int(done) / int(total)))
    return found


class Watch:
    """Looks at a host now and then; a host that cannot answer right now has nothing to tell."""

    def __init__(self, host: LabHost) -> None:
        self._host = host
        self._next = 0.0
        self._last: list[Work] = []

    def look(self) -> list[Work]:
        """Return what is under way; asks the host once in a while only."""
        if time.monotonic() >= self._next:
            try:
                self._last = parse(self._host.run(["sh", "-c", LOOK], timeout=20).stdout)
            except LabError:
                self._last = []
            self._next = time.monotonic() + EVERY_SECONDS
        return self._last
