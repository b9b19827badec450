# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What to do to get from a host to a declared policy. Pure.

The order makes a run that is cut off anywhere harmless: the kernel has the old policy or the new one, never none, and
so has the file that is loaded at boot. A change that waits for its confirmation is in the kernel only, so that a
reboot undoes it, too.
"""

from __future__ import annotations

import typing as t

from .._converge.converge import Pending
from .._converge.plan import Plan
from . import difference, places
from .host import Host
from .model import Around, Wanted
from .nft_text import creation
from .refusals import check
from .ruleset import Blueprint, blueprint
from .steps import (
    ArmUndo,
    ChangeElements,
    DeleteTable,
    DisarmUndo,
    FirewallStep,
    ForgetUndone,
    InstallProgram,
    LoadTable,
    RemoveFiles,
    StartUnits,
    StopUnits,
    WriteFiles,
)
from .surroundings import around_text

_OWN_UNITS = (places.LOADER, places.WATCHER)
Steps = t.List[FirewallStep]


def policy_files(made: Blueprint, around: Around) -> dict[str, str]:
    """Return the files that are loaded at boot, by path."""
    return {
        places.AROUND_FILE: around_text(around),
        places.TABLE_FILE: places.table_file(creation(made.without_around())),
    }


def plan_firewall(host: Host, want: Wanted, program: str) -> Plan:
    """Return the steps from ``host`` to ``want``; ``program`` is the digest of the watcher's program.

    Raises :class:`Refusal` for a wish that cannot be met.
    """
    check(host, want)
    if want.absent:
        return Plan(_removal(host))
    made = blueprint(want, host.around)
    kernel = _kernel(host, want, made)
    steps: Steps = []
    if host.undo is not None and not host.undo.armed:
        steps.append(ForgetUndone(host.undo.since, "nobody confirmed it in time, or the host was started anew"))
    if _waits_for_confirmation(host, want, kernel):
        return Plan([*steps, *_tentatively(host, want, kernel, made)])
    if host.undo is not None and host.undo.armed:
        confirmed = "a new connection reached the host" if want.confirm else "no confirmation is asked for any more"
        steps.append(DisarmUndo(confirmed))
    steps += _files(host, want, made)
    if host.program != program:
        steps.append(InstallProgram(program, "it is missing or another version"))
    steps += kernel
    return Plan([*steps, *_units(host, steps)])


def _policy_changes(kernel: Steps) -> bool:
    return any(not (isinstance(step, ChangeElements) and difference.follows_docker(step.changes)) for step in kernel)


def _waits_for_confirmation(host: Host, want: Wanted, kernel: Steps) -> bool:
    if want.confirm or not want.confirm_timeout:
        return False
    return _policy_changes(kernel) or (host.undo is not None and host.undo.armed)


def _tentatively(host: Host, want: Wanted, kernel: Steps, made: Blueprint) -> Steps:
    if not kernel:
        return []  # it is there, and waits
    armed = host.undo is not None and host.undo.armed
    arm = ArmUndo(want.confirm_timeout, want.token, armed, "confirm_timeout asks for it")
    if not any(isinstance(step, LoadTable) for step in kernel):
        return [arm, *kernel]
    text = places.table_file(creation(made.without_around()), include=False)
    text += around_text(host.around)
    return [arm, WriteFiles({places.CANDIDATE_FILE: text}, "what is to be confirmed", "it is loaded next"), *kernel]


def _kernel(host: Host, want: Wanted, made: Blueprint) -> Steps:
    table = made.table
    if host.table == table:
        return []
    if host.table is None or not difference.same_shape(host.table, table):
        path = places.CANDIDATE_FILE if _asks(want) else places.TABLE_FILE
        reason = "it is not loaded" if host.table is None else "its chains or sets are not as declared"
        return [LoadTable(path, table, len(want.policies), reason, tuple(creation(made)))]
    changes = difference.changes(host.table, table)
    reason = "Docker's networks or ports changed" if difference.follows_docker(changes) else "sources or ports changed"
    return [ChangeElements(changes, made.keys, made.owners, reason)]


def _asks(want: Wanted) -> bool:
    return bool(want.confirm_timeout) and not want.confirm


def _differing(host: Host, files: t.Mapping[str, str]) -> dict[str, str]:
    return {path: text for path, text in files.items() if host.files.get(path) != text}


def _files(host: Host, want: Wanted, made: Blueprint) -> Steps:
    steps: Steps = []
    policy = _differing(host, policy_files(made, host.around))
    if policy:
        steps.append(WriteFiles(policy, "the policy", "it is loaded at boot"))
    standing = _differing(host, places.standing_files(want.docker_socket))
    if standing:
        steps.append(WriteFiles(standing, "units", "they keep the policy in place"))
    return steps


def _units(host: Host, before: Steps) -> Steps:
    written = {path for step in before if isinstance(step, WriteFiles) for path in step.files}
    enable = tuple(unit for unit in _OWN_UNITS if unit not in host.enabled)
    start = [unit for unit in _OWN_UNITS if unit not in host.active]
    newer = any(isinstance(step, InstallProgram) for step in before)
    if places.WATCHER not in start and (newer or f"{places.UNITS}/{places.WATCHER}" in written):
        start.append(places.WATCHER)
    units = any(path.startswith(places.UNITS) for path in written)
    if not (enable or start or units):
        return []
    return [StartUnits(enable, tuple(start), "they keep the policy in place")]


def _removal(host: Host) -> Steps:
    steps: Steps = []
    if host.undo is not None and host.undo.armed:
        steps.append(DisarmUndo("there will be nothing to undo"))
    units = tuple(unit for unit in _OWN_UNITS if unit in host.enabled | host.active)
    if units:
        steps.append(StopUnits(units, "the policy shall be absent"))
    if host.table is not None:
        steps.append(DeleteTable("the policy shall be absent"))
    paths = (*host.files, *((places.PROGRAM,) if host.program else ()))
    if host.undo is not None:
        paths += (places.UNDO_FILE, places.UNDO_RECORD)
    if paths:
        steps.append(RemoveFiles(tuple(sorted(set(paths))), "nothing of it shall be left"))
    return steps


def pending_confirmation(host: Host, want: Wanted) -> tuple[Pending, ...]:
    """Return that a change waits for its confirmation, if one does."""
    if host.undo is None or not host.undo.armed or not _asks(want):
        return ()
    return (Pending("The change waits for its confirmation, or is undone"),)
