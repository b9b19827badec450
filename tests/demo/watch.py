"""How far md is, read from outside while a playbook runs."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from tests.lab import LabError, LabHost

#: One shell command, because each costs a connection: sysfs, the names that the arrays go by, and what runs.
LOOK = """\
grep -s . /sys/block/md*/md/sync_action /sys/block/md*/md/sync_completed
find /dev/md -type l -printf '%f %l\\n' 2>/dev/null
cat /proc/[0-9]*/comm 2>/dev/null
true
"""
_ATTRIBUTE = re.compile(r"/sys/block/(?P<node>md\w+)/md/(?P<name>\w+):(?P<value>.*)")
_NAME = re.compile(r"(?P<name>\S+) \.\./(?P<node>md\w+)")
_WORDS = {"recover": "rebuilds", "resync": "is made redundant", "reshape": "is reshaped", "check": "is checked"}
#: Programs that take their time, by the 15 characters that the kernel keeps of a name.
_PROGRAMS = {
    "update-initramf": "the initramfs is rebuilt",
    "mkfs.ext4": "a file system is made",
    "resize2fs": "a file system grows",
    "sgdisk": "a disk is partitioned",
    "mdadm": "mdadm works",
}
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


@dataclass(frozen=True)
class Sight:
    """What was seen at one moment: work in arrays, and in words a program that is worth mentioning, or ""."""

    work: tuple[Work, ...] = ()
    busy_with: str = ""


def parse(output: str) -> Sight:
    """Return what goes on from what :data:`LOOK` printed."""
    programs = set(output.splitlines())
    busy_with = next((words for program, words in _PROGRAMS.items() if program in programs), "")
    return Sight(tuple(_work(output)), busy_with)


def _work(output: str) -> list[Work]:
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
        self._last = Sight()

    def look(self) -> Sight:
        """Return what goes on; asks the host once in a while only."""
        if time.monotonic() >= self._next:
            try:
                self._last = parse(self._host.run(["sh", "-c", LOOK], timeout=20).stdout)
            except LabError:
                self._last = Sight()
            self._next = time.monotonic() + EVERY_SECONDS
        return self._last
