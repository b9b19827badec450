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
from .._converge.plan import Argv, Plan
from . import places
from .backends import BACKENDS, Backend, Steps, chosen, others
from .host import Host
from .model import Wanted
from .refusals import check
from .steps import ArmUndo, DisarmUndo, ForgetUndone, InstallProgram, RemoveFiles, StartUnits, StopUnits, WriteFiles

_OWN_UNITS = (places.LOADER, places.WATCHER)


def plan_firewall(host: Host, want: Wanted, program: str) -> Plan:
    """Return the steps from ``host`` to ``want``; ``program`` is the digest of the watcher's program.

    Raises :class:`Refusal` for a wish that cannot be met.
    """
    check(host, want)
    if want.absent:
        return Plan(_removal(host))
    backend = chosen(want)
    backend.check(host)
    kernel = _kernel(host, want, backend)
    steps: Steps = []
    if host.undo is not None and not host.undo.armed:
        steps.append(ForgetUndone(host.undo.since, "nobody confirmed it in time, or the host was started anew"))
    if _waits_for_confirmation(host, want, kernel):
        return Plan([*steps, *_tentatively(host, want, kernel, backend)])
    if host.undo is not None and host.undo.armed:
        confirmed = "a new connection reached the host" if want.confirm else "no confirmation is asked for any more"
        steps.append(DisarmUndo(confirmed))
    files = _files(host, want, program, backend)
    # What the kernel refuses is not kept for the next boot either; what it loads from files was tried before.
    steps += files + kernel if any(step.loads_files for step in kernel) else kernel + files
    steps += _units(host, steps)
    return Plan([*steps, *_left_by_others(host, want, backend)])


def _kernel(host: Host, want: Wanted, backend: Backend) -> Steps:
    """The new policy comes first, so that there is no moment without one."""
    steps = backend.kernel(host, want, _asks(want))
    for other in others(backend):
        steps += other.removal(f"the policy is with {backend.name} now", host)
    return steps


def _waits_for_confirmation(host: Host, want: Wanted, kernel: Steps) -> bool:
    if want.confirm or not want.confirm_timeout:
        return False
    return any(step.changes_policy for step in kernel) or (host.undo is not None and host.undo.armed)


def _tentatively(host: Host, want: Wanted, kernel: Steps, backend: Backend) -> Steps:
    if not kernel:
        return []  # it is there, and waits
    armed = host.undo is not None and host.undo.armed
    restores = _restores(host, backend, armed)
    arm = ArmUndo(want.confirm_timeout, want.token, armed, restores, "confirm_timeout asks for it")
    if not any(step.loads_files for step in kernel):
        return [arm, *kernel]
    text = backend.candidate_files(host, want)
    return [arm, WriteFiles(text, "what is to be confirmed", "it is loaded next"), *kernel]


def _restores(host: Host, backend: Backend, armed: bool) -> tuple[Argv, ...]:
    """What is in force now comes back before what is new goes; and what an earlier undo would restore, too."""
    first = [each for each in BACKENDS if each.present(host)]
    earlier = [each for each in BACKENDS if armed and each.restoring()[0] in host.files]
    found = dict.fromkeys((*earlier, *first, backend))
    return tuple(argv for each in found for argv in each.restoring()[1])


def _asks(want: Wanted) -> bool:
    return bool(want.confirm_timeout) and not want.confirm


def _differing(host: Host, files: t.Mapping[str, str]) -> dict[str, str]:
    return {path: text for path, text in files.items() if host.files.get(path) != text}


def _files(host: Host, want: Wanted, program: str, backend: Backend) -> Steps:
    steps: Steps = []
    policy = _differing(host, backend.policy_files(host, want))
    if policy:
        steps.append(backend.keeping(policy, "the policy", "it is loaded at boot"))
    if host.program != program:
        steps.append(InstallProgram(program, "it is missing or another version"))
    standing = _differing(host, backend.standing_files(want.docker_socket))
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


def _left_by_others(host: Host, want: Wanted, backend: Backend) -> Steps:
    own = backend.paths(want.docker_socket)
    found = {path for other in others(backend) for path in other.paths(want.docker_socket) if path in host.files}
    left = tuple(sorted(found - set(own)))
    return [RemoveFiles(left, f"the policy is with {backend.name} now")] if left else []


def _removal(host: Host) -> Steps:
    steps: Steps = []
    if host.undo is not None and host.undo.armed:
        steps.append(DisarmUndo("there will be nothing to undo"))
    units = tuple(unit for unit in _OWN_UNITS if unit in host.enabled | host.active)
    if units:
        steps.append(StopUnits(units, "the policy shall be absent"))
    for backend in BACKENDS:
        steps += backend.removal("the policy shall be absent", host)
    paths = (*host.files, *((places.PROGRAM,) if host.program else ()))
    if host.undo is not None:
        paths += (places.UNDO_FILE, places.UNDO_NEXT_FILE, places.UNDO_RECORD)
    if paths:
        steps.append(RemoveFiles(tuple(sorted(set(paths))), "nothing of it shall be left"))
    return steps


def pending_confirmation(host: Host, want: Wanted) -> tuple[Pending, ...]:
    """Return that a change waits for its confirmation, if one does."""
    if host.undo is None or not host.undo.armed or not _asks(want):
        return ()
    return (Pending("The change waits for its confirmation, or is undone"),)
