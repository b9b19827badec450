# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What can carry a policy: for each backend the files, and the steps that bring it into the kernel and out. Pure."""

from __future__ import annotations

import functools
import typing as t

from .._converge.converge import Refusal
from .._converge.plan import Argv
from . import difference, places
from .docker_user import BRIDGES, UserChains, user_chains, user_rules
from .flush_guard import SERVED_CHAIN, guard_lines, served_guard
from .formats.nft_text import creation
from .formats.restore_text import kept
from .host import Host
from .model import Rule, UserRules, Wanted
from .ruleset import FAMILY, GUARD, NEXT, SERVED, TABLE, blueprint, comment, serving
from .steps import (
    ChangeElements,
    DeleteRules,
    DeleteTable,
    FirewallStep,
    KeepRules,
    LoadRules,
    LoadTable,
    RemovePassing,
    WriteFiles,
)
from .surroundings import around_text

Steps = t.List[FirewallStep]
Files = t.Dict[str, str]


class Backend:
    """One of them."""

    name: str
    #: Programs that are needed on the host, each with the Debian package that brings it.
    tools: t.Mapping[str, str]
    #: Where :meth:`policy_files` are, and those of a change that is not confirmed.
    kept: tuple[str, ...]
    temporary: tuple[str, ...]
    #: The step that writes what :meth:`policy_files` names.
    keeping: type[WriteFiles] = WriteFiles

    def check(self, host: Host) -> None:
        """Raise :class:`Refusal` where it cannot work."""

    def standing_files(self, socket: str) -> Files:
        """Return the files that are the same for every policy, by path. ``socket`` is Docker's."""
        raise NotImplementedError

    def paths(self, socket: str) -> tuple[str, ...]:
        """Return where it may have files."""
        return (*self.kept, *self.standing_files(socket), *self.temporary)

    def policy_files(self, host: Host, want: Wanted) -> Files:
        """Return the files that are loaded at boot, by path."""
        raise NotImplementedError

    def candidate_files(self, host: Host, want: Wanted) -> Files:
        """Return the files that are loaded while nobody has confirmed the change."""
        raise NotImplementedError

    def kernel(self, host: Host, want: Wanted, tentatively: bool) -> Steps:
        """Return what brings the policy into the kernel; ``tentatively`` from the candidate's files."""
        raise NotImplementedError

    def present(self, host: Host) -> bool:
        """Whether the kernel has something of it."""
        raise NotImplementedError

    def removal(self, reason: str, host: Host) -> Steps:
        """Return what takes it out of the kernel."""
        raise NotImplementedError

    def restoring(self) -> tuple[str, tuple[Argv, ...]]:
        """Return a file that tells that an undo holds what was there, and the commands that load it."""
        raise NotImplementedError


_LEFT = {
    NEXT: "a run that was killed has left it, and it denies what that run wanted to be denied",
    GUARD: "a load that was killed has left it, and it denies everybody",
}


class Nftables(Backend):
    """A table of its own."""

    name = "nftables"
    tools: t.Mapping[str, str] = {"nft": "nftables"}
    kept = (
        places.TABLE_FILE,
        places.AROUND_FILE,
        places.GUARD_FILE,
        places.SERVED_FILE,
        places.RUNNING_SERVED_FILE,
        places.SERVED_GUARD_FILE,
        places.RUNNING_SERVED_GUARD_FILE,
    )
    temporary = places.TEMPORARY_FILES

    def standing_files(self, socket: str) -> Files:
        return places.standing_files(socket)

    def policy_files(self, host: Host, want: Wanted) -> Files:
        served = served_text(f"{TABLE} {SERVED}", serving(want, host.group_path))
        guard = served_text(f"{FAMILY} {SERVED_CHAIN}", served_guard(want, host.group_path))
        running = {places.RUNNING_SERVED_FILE: served, places.RUNNING_SERVED_GUARD_FILE: guard}
        return {
            places.AROUND_FILE: around_text(host.around),
            places.TABLE_FILE: table_text(want),
            places.GUARD_FILE: guard_text(want),
            places.SERVED_FILE: served,
            places.SERVED_GUARD_FILE: guard,
            **(running if host.group else {}),
        }

    def candidate_files(self, _host: Host, _want: Wanted) -> Files:
        return {}  # nft is given what it loads

    def kernel(self, host: Host, want: Wanted, _tentatively: bool) -> Steps:
        made = blueprint(want, host.around, host.group)
        table = made.table
        if host.table == table:
            return self._left_over(host)
        replaces = host.table is not None
        reason = "it is not loaded"
        if host.table is not None:
            reason = "its chains or sets are not as declared"
            if difference.same_shape(host.table, table):
                changes = difference.changes(host.table, table)
                if difference.only_denies_meanwhile(changes):
                    follows = difference.follows_docker(changes)
                    why = "Docker's networks changed" if follows else "sources changed"
                    return [ChangeElements(changes, made.keys, made.owners, why), *self._left_over(host)]
                reason = "ports changed"
        load = LoadTable(table, len(want.policies), replaces, reason, tuple(creation(made)))
        return [load, *self._left_over(load.after(host))]

    def _left_over(self, host: Host) -> Steps:
        return [RemovePassing(name, _LEFT[name]) for name in sorted(host.passing)]

    def present(self, host: Host) -> bool:
        return host.table is not None

    def removal(self, reason: str, host: Host) -> Steps:
        return [*([DeleteTable(reason)] if self.present(host) else []), *self._left_over(host)]

    def restoring(self) -> tuple[str, tuple[Argv, ...]]:
        return places.UNDO_FILE, places.undoing()


class DockerUser(Backend):
    """Chains of its own, and a jump to them from DOCKER-USER."""

    name = "docker_user"
    tools: t.Mapping[str, str] = {
        f"{family}-{verb}": "iptables" for family in ("iptables", "ip6tables") for verb in ("save", "restore")
    }
    kept = tuple(places.RULES_FILES.values())
    temporary = places.TEMPORARY_RULES
    keeping = KeepRules

    def check(self, host: Host) -> None:
        if host.docker is not None and host.docker.backend.startswith("nftables"):
            raise Refusal(
                f"Docker {host.docker.version} writes its rules with nftables itself, and knows no chain DOCKER-USER: "
                "what stands there has no effect. Use the backend nftables."
            )

    def standing_files(self, socket: str) -> Files:
        return places.user_standing_files(socket)

    def policy_files(self, host: Host, want: Wanted) -> Files:
        return {places.RULES_FILES[version]: kept(chains) for version, chains in chains_of(host, want).items()}

    def candidate_files(self, host: Host, want: Wanted) -> Files:
        return {places.CANDIDATE_RULES[version]: kept(chains) for version, chains in chains_of(host, want).items()}

    def kernel(self, host: Host, want: Wanted, tentatively: bool) -> Steps:
        chains = chains_of(host, want)
        rules = {version: user_rules(each) for version, each in chains.items()}
        if host.chains == rules:
            return []
        names = places.CANDIDATE_RULES if tentatively else places.RULES_FILES
        files = {version: names[version] for version in rules}
        follows = _without_bridges(host.chains) == _without_bridges(rules)
        return [LoadRules(files, rules, len(want.policies), _reason(host, rules, follows), follows)]

    def present(self, host: Host) -> bool:
        return bool(host.chains)

    def removal(self, reason: str, host: Host) -> Steps:
        return [DeleteRules(tuple(sorted(host.chains)), reason)] if self.present(host) else []

    def restoring(self) -> tuple[str, tuple[Argv, ...]]:
        return places.UNDO_RULES[4], (places.loading(places.UNDO_PROGRAM, places.UNDO_RULES),)


@functools.lru_cache(maxsize=2)
def table_text(want: Wanted) -> str:
    """Return the file with the table, without anything that follows Docker."""
    return places.table_file(creation(blueprint(want, {})))


@functools.lru_cache(maxsize=2)
def guard_text(want: Wanted) -> str:
    """Return the file with the guard, without anything that follows Docker."""
    return places.guard_file(guard_lines(want))


def served_text(chain: str, rules: t.Iterable[Rule]) -> str:
    """Return the file with the rules that name Docker's control group, for the chain that they are in."""
    return places.served_file(f'{chain} {rule.text} comment "{comment(rule)}"' for rule in rules)


def chains_of(host: Host, want: Wanted) -> dict[int, UserChains]:
    """Return the chains below DOCKER-USER that make ``want`` hold, for each IP version that the host has."""
    return {version: user_chains(want, host.around, version) for version in ((4, 6) if host.has_ipv6 else (4,))}


def _without_bridges(rules: t.Mapping[int, UserRules]) -> dict[int, UserRules]:
    return {
        version: UserRules({name: each for name, each in found.chains.items() if name != BRIDGES}, found.jumps)
        for version, found in rules.items()
    }


def _reason(host: Host, rules: t.Mapping[int, UserRules], follows: bool) -> str:
    if not host.chains:
        return "it is not loaded"
    if follows:
        return "Docker's networks changed"
    if {version: found.chains for version, found in host.chains.items()} == {
        version: wanted.chains for version, wanted in rules.items()
    }:
        return "the jump to it is not the first rule of DOCKER-USER"
    return "its rules are not as declared"


NFTABLES = Nftables()
DOCKER_USER = DockerUser()
BACKENDS: tuple[Backend, ...] = (NFTABLES, DOCKER_USER)


def chosen(want: Wanted) -> Backend:
    """Return the backend that is asked for; the table is what leaves no gap."""
    return next((backend for backend in BACKENDS if backend.name == want.backend), NFTABLES)


def others(backend: Backend) -> tuple[Backend, ...]:
    """Return all but this."""
    return tuple(each for each in BACKENDS if each is not backend)
