# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What can be done to a firewall, each step a value. Pure."""

from __future__ import annotations

import shlex
import typing as t
from dataclasses import dataclass, field, replace

from .._converge.plan import Argv, Step
from . import places
from .difference import follows_docker, with_changes
from .docker_user import ENTRY
from .formats.nft_text import Change, Line, changing, copied, deletion
from .formats.restore_text import RESTORE
from .host import Host
from .model import Table, Undo, UserRules
from .ruleset import FAMILY, NEXT, TABLE


class FirewallStep(Step):
    """A step, and the host that it leads to."""

    @property
    def changes_policy(self) -> bool:
        """Whether what is denied may be other than before: not if the step only follows Docker."""
        return True

    @property
    def loads_files(self) -> bool:
        """Whether it reads what is to be loaded from files that have to be there."""
        return False

    def after(self, host: Host) -> Host:
        """Return ``host`` once the step is done."""
        raise NotImplementedError


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _settled(host: Host) -> Host:
    """The host without a change that waits."""
    temporary = (*places.TEMPORARY_FILES, *places.TEMPORARY_RULES)
    return replace(host, files={path: text for path, text in host.files.items() if path not in temporary}, undo=None)


@dataclass(frozen=True)
class ForgetUndone(FirewallStep):
    """Remove the record of a change that was undone."""

    since: str
    reason: str

    @property
    def title(self) -> str:
        return f"Take note that the change of {self.since} was undone"

    def after(self, host: Host) -> Host:
        return _settled(host)


@dataclass(frozen=True)
class ArmUndo(FirewallStep):
    """Have what is loaded now loaded again in a while. An earlier undo that still waits stays what it is.

    ``restores`` are the commands that do it, each with the files that it loads, by what was in force first.
    """

    seconds: int
    token: str
    again: bool
    restores: tuple[Argv, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Have the next change undone after {self.seconds} s, unless it is confirmed"

    @property
    def commands(self) -> tuple[Argv, ...]:
        script = "; ".join(map(shlex.join, self.restores))
        return (
            *((("systemctl", "stop", f"{places.UNDO_UNIT}.timer"),) if self.again else ()),
            (
                "systemd-run",
                "--collect",
                f"--unit={places.UNDO_UNIT}",
                f"--on-active={self.seconds}s",
                "--timer-property=AccuracySec=100ms",
                "--description=Undo a change of docker_firewall that nobody has confirmed",
                *(self.restores[0] if len(self.restores) == 1 else ("/bin/sh", "-c", script)),
            ),
        )

    def after(self, host: Host) -> Host:
        return replace(host, undo=Undo(self.token, "", True))


@dataclass(frozen=True)
class WriteFiles(FirewallStep):
    """Write files, each at once or not at all."""

    files: t.Mapping[str, str]
    what: str
    reason: str

    @property
    def title(self) -> str:
        return f"Write {self.what}: {', '.join(sorted(self.files))}"

    def after(self, host: Host) -> Host:
        return replace(host, files={**host.files, **self.files})


@dataclass(frozen=True)
class KeepRules(WriteFiles):
    """Write the rules that are loaded at boot, once they were loaded where it does no harm: a line that the kernel
    refuses would keep Docker from starting.
    """


@dataclass(frozen=True)
class InstallProgram(FirewallStep):
    """Install the watcher's program."""

    digest: str
    reason: str

    @property
    def title(self) -> str:
        return f"Install {places.PROGRAM}"

    def after(self, host: Host) -> Host:
        return replace(host, program=self.digest)


@dataclass(frozen=True)
class LoadTable(FirewallStep):
    """Load the table, or replace the one that is there.

    When a table is replaced in one transaction, a lookup may miss an element for a moment, and what only drops on a
    match lets that packet pass (see :mod:`flush_guard`). So a second table holds what is new while the first is
    replaced. Two tables that only drop deny what either of them denies.
    """

    table: Table
    policies: int
    replaces: bool
    reason: str
    lines: tuple[Line, ...] = field(repr=False, default=())

    @property
    def title(self) -> str:
        policies = _count(self.policies, "policy").replace("policys", "policies")
        meanwhile = f", which {NEXT} holds meanwhile" if self.replaces else ""
        return f"Load the table {TABLE} with {policies}{meanwhile}"

    @property
    def transactions(self) -> tuple[t.Sequence[Line], ...]:
        """What nft is told, one after the other."""
        return (copied(self.lines), self.lines, deletion(NEXT)) if self.replaces else (self.lines,)

    @property
    def commands(self) -> tuple[Argv, ...]:
        return ((places.NFT, "-f", "-"),) * (3 if self.replaces else 1)

    def after(self, host: Host) -> Host:
        return replace(host, table=self.table, passing=host.passing - ({NEXT} if self.replaces else set()))


@dataclass(frozen=True)
class RemovePassing(FirewallStep):
    """Remove a table that should have been there for a moment only."""

    name: str
    reason: str

    @property
    def changes_policy(self) -> bool:
        return False

    @property
    def title(self) -> str:
        return f"Remove the table {FAMILY} {self.name}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (places.removal(self.name),)

    def after(self, host: Host) -> Host:
        return replace(host, passing=host.passing - {self.name})


@dataclass(frozen=True)
class ChangeElements(FirewallStep):
    """Change elements of sets, in one transaction of the kernel (see :func:`difference.only_denies_meanwhile`)."""

    changes: tuple[Change, ...]
    keys: t.Mapping[str, str]
    owners: t.Mapping[str, str]
    reason: str

    @property
    def changes_policy(self) -> bool:
        return not follows_docker(self.changes)

    @property
    def title(self) -> str:
        removed = sum(len(change.removed) for change in self.changes)
        added = sum(len(change.added) for change in self.changes)
        names = ", ".join(change.name for change in self.changes[:5]) + (", ..." if len(self.changes) > 5 else "")
        parts = [text for number, text in ((added, f"add {added}"), (removed, f"remove {removed}")) if number]
        return f"Change elements of {names}: {', '.join(parts)}"

    @property
    def lines(self) -> list[Line]:
        """What nft is told."""
        return changing(self.changes, self.keys, self.owners)

    @property
    def commands(self) -> tuple[Argv, ...]:
        return ((places.NFT, "-f", "-"),)

    def after(self, host: Host) -> Host:
        return host if host.table is None else replace(host, table=with_changes(host.table, self.changes))


@dataclass(frozen=True)
class LoadRules(FirewallStep):
    """Replace our chains below DOCKER-USER, and put the jump to them first, in one transaction per IP version."""

    files: t.Mapping[int, str]
    rules: t.Mapping[int, UserRules]
    policies: int
    reason: str
    follows: bool = False

    @property
    def title(self) -> str:
        return f"Load the chain {ENTRY} with {_count(self.policies, 'policy').replace('policys', 'policies')}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return tuple(RESTORE[version] for version in sorted(self.files))

    @property
    def changes_policy(self) -> bool:
        return not self.follows

    @property
    def loads_files(self) -> bool:
        return True

    def after(self, host: Host) -> Host:
        return replace(host, chains=self.rules)


@dataclass(frozen=True)
class DeleteRules(FirewallStep):
    """Remove our chains below DOCKER-USER and the jump to them."""

    versions: tuple[int, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Delete the chain {ENTRY} and what it leads to"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return tuple(RESTORE[version] for version in self.versions)

    def after(self, host: Host) -> Host:
        return replace(host, chains={})


@dataclass(frozen=True)
class StartUnits(FirewallStep):
    """Enable units, and start or restart them."""

    enable: tuple[str, ...]
    start: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Enable and start {', '.join(sorted({*self.enable, *self.start}))}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (
            ("systemctl", "daemon-reload"),
            *((("systemctl", "enable", "--quiet", *self.enable),) if self.enable else ()),
            *((("systemctl", "restart", *self.start),) if self.start else ()),
        )

    def after(self, host: Host) -> Host:
        enabled, active = host.enabled | set(self.enable), host.active | set(self.start)
        return replace(host, enabled=enabled, active=active)


@dataclass(frozen=True)
class DisarmUndo(FirewallStep):
    """Confirm the change: nothing undoes it any more."""

    reason: str

    @property
    def title(self) -> str:
        return "Keep the change: do not undo it"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("systemctl", "stop", f"{places.UNDO_UNIT}.timer"),)

    def after(self, host: Host) -> Host:
        return _settled(host)


@dataclass(frozen=True)
class StopUnits(FirewallStep):
    """Stop and disable units."""

    units: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Stop and disable {', '.join(self.units)}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("systemctl", "disable", "--quiet", "--now", *self.units),)

    def after(self, host: Host) -> Host:
        return replace(host, enabled=host.enabled - set(self.units), active=host.active - set(self.units))


@dataclass(frozen=True)
class DeleteTable(FirewallStep):
    """Remove the table: published ports are open to everybody again."""

    reason: str

    @property
    def title(self) -> str:
        return f"Delete the table {TABLE}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return ((places.NFT, "delete", "table", *TABLE.split()),)

    def after(self, host: Host) -> Host:
        return replace(host, table=None)


@dataclass(frozen=True)
class RemoveFiles(FirewallStep):
    """Remove the files, and the directories that are empty then."""

    paths: tuple[str, ...]
    reason: str

    @property
    def title(self) -> str:
        return f"Remove {', '.join(self.paths)}"

    @property
    def commands(self) -> tuple[Argv, ...]:
        return (("systemctl", "daemon-reload"),)

    def after(self, host: Host) -> Host:
        return replace(
            host,
            files={path: text for path, text in host.files.items() if path not in self.paths},
            program="" if places.PROGRAM in self.paths else host.program,
        )
