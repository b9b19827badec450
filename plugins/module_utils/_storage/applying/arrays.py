# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out the steps on md arrays, and look in sysfs whether the kernel did what mdadm was asked for."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ..._converge.command import CommandError
from ..._converge.converge import StepFailed
from ..._converge.plan import Argv
from ..observing.arrays import Identity, claimed_index, identify
from ..observing.sysfs import (
    KernelArray,
    KernelMember,
    array_names,
    kernel_name,
    read_array,
    sysfs_name,
    whole_disk,
)
from ..steps.arrays import CreateArray, PauseCheck, StartArray, ThawArray, WakeArray
from ..steps.members import AddMembers, CancelReplacement, DropMembers, ReplaceMember
from ..steps.reshapes import ContinueReshape, GrowArray, LiftSuspension, RevertReshape
from .disks import EDGE, locked, zero
from .execution import Execution, until

#: Seconds that md's thread gets to begin with what it was asked for.
BEGIN = 10.0


def array_at(node: str, execution: Execution) -> KernelArray:
    """Return the array behind a device node, or behind a link to one, as the kernel has it now."""
    return read_array(execution.host, sysfs_name(os.path.realpath(node)))


def array_called(name: str, execution: Execution) -> Identity:
    """Return the running array that is slice ``name``, whatever its node is called. Raises :class:`StepFailed`."""
    pool, _dash, index = name.rpartition("-")
    for each in array_names(execution.host):
        identity = identify(execution.host, read_array(execution.host, each))
        if claimed_index(execution.host, pool, identity, in_group=True) == int(index):
            return identity
    raise StepFailed(f"Array {name} does not run any more; see /proc/mdstat and the kernel's log, then run again.")


def member_of(array: KernelArray, partition: str) -> KernelMember | None:
    """Return the member on ``partition``, if it is one."""
    return next((each for each in array.members if each.member.node == partition), None)


def _soon(condition: t.Callable[[], bool]) -> None:
    """Give md's thread the time to begin, so that a wait that follows finds something to wait for."""
    with contextlib.suppress(StepFailed):
        until(condition, str, BEGIN)


def set_member_state(array: KernelArray, partition: str, word: str, execution: Execution) -> None:
    """Write ``word`` to the state of a member (md.rst, "state"). Raises :class:`StepFailed`."""
    path = execution.host.at(f"/sys/block/{array.name}/md/dev-{sysfs_name(partition)}/state")
    _write(path, word)


def _write(path: str, word: str) -> None:
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(word)
    except OSError as error:
        raise StepFailed(
            f"The kernel refuses '{word}' in {path}: {error.strerror}. See its log, then run again."
        ) from error


def set_speed_limits(array: KernelArray, limits: tuple[str, str], execution: Execution) -> None:
    """Set sync_speed_min and sync_speed_max, in KiB/s, or "system" for the host's. Raises :class:`StepFailed`."""
    for name, limit in zip(("sync_speed_min", "sync_speed_max"), limits):
        _write(execution.host.at(f"/sys/block/{array.name}/md/{name}"), limit)


def set_action(array: KernelArray, action: str, execution: Execution) -> None:
    """Write ``action`` to sync_action. Raises :class:`StepFailed`."""
    _write(execution.host.at(f"/sys/block/{array.name}/md/sync_action"), action)


def create(step: CreateArray, execution: Execution) -> None:
    """Make an array. What old data would become its beginning is zeroed first, for LVM and udev look there."""
    execution.await_nodes(step.partitions)
    for partition in step.partitions:
        zero(partition, ((step.data_offset, min(EDGE, step.component_size)),), exclusive=True)
    execution.settle_udev()
    for argv in step.commands:
        execution.run(argv)
    _await_running(step.array, step.node, execution)


def start(step: StartArray | RevertReshape, execution: Execution, prepare: t.Callable[[], None] | None = None) -> None:
    """Start an array. udev, which would assemble a stopped one again, does not look at the members meanwhile.

    ``prepare`` is called when it is stopped, before the last command.
    """
    execution.await_nodes(step.partitions)
    names = {whole_disk(execution.host, sysfs_name(partition)) for partition in step.partitions}
    with contextlib.ExitStack() as locks:
        for name in sorted(names):
            locks.enter_context(locked(f"/dev/{kernel_name(name)}", execution))
        *stopping, starting = step.commands
        for argv in stopping:
            stop(argv, execution)
        _stop_unstarted(step.partitions, execution)
        if prepare is not None:
            prepare()
        execution.run(starting)
    _await_running(step.array, step.node, execution)


def stop(argv: Argv, execution: Execution) -> None:
    """Stop an array with ``argv``, which ends with its node: again and again while udev looks at it, or it is gone."""
    said: list[str] = []

    def stopped() -> bool:
        try:
            execution.run(argv)
        except CommandError as error:
            said.append(str(error))
            return not execution.host.exists(f"/sys/block/{sysfs_name(argv[-1])}/md/array_state")
        return True

    until(stopped, lambda: f"{said[-1]}. See 'fuser -v {argv[-1]}', stop what uses it, then run again.")


def _stop_unstarted(partitions: t.Sequence[str], execution: Execution) -> None:
    """Stop arrays that are not started and hold some of the partitions: udev makes one of what a killed run wrote."""
    folders = [f"/sys/class/block/{sysfs_name(partition)}/holders" for partition in partitions]
    holders = {holder for folder in folders for holder in execution.host.names(folder)}
    for name in array_names(execution.host):
        if name in holders:
            array = read_array(execution.host, name)
            if not array.started:
                stop(("mdadm", "--stop", array.node), execution)


def _await_running(name: str, node: str, execution: Execution) -> None:
    until(
        lambda: execution.is_block_device(node) and array_at(node, execution).started,
        lambda: f"mdadm started array {name}, but {node} does not run; see /proc/mdstat and the kernel's log.",
    )
    execution.settle_udev()


def wake(step: WakeArray, execution: Execution) -> None:
    """Make an array writable. mdadm fails when somebody's first write has done so a moment before."""
    try:
        for argv in step.commands:
            execution.run(argv)
    except CommandError:
        array = array_at(step.node, execution)
        if array.read_only or not array.started:
            raise
    _soon(lambda: array_at(step.node, execution).activity is not None)


def thaw(step: ThawArray, execution: Execution) -> None:
    """Let md work in an array again; this is how mdadm itself ends what it began (its Grow.c, unfreeze)."""
    array = array_at(step.node, execution)
    if array.action == "frozen":
        set_action(array, "idle", execution)
    until(
        lambda: array_at(step.node, execution).action != "frozen",
        lambda: f"Array {step.array} stays frozen; an mdadm may be changing it. Look at 'ps -C mdadm', then run again.",
    )
    # A spare that was there is taken up now.
    _soon(lambda: not _waits_for_a_spare(array_at(step.node, execution)))


def _waits_for_a_spare(array: KernelArray) -> bool:
    return array.activity is None and bool(array.degraded) and any(each.member.spare for each in array.members)


def continue_reshape(step: ContinueReshape, execution: Execution) -> None:
    """Have an mdadm take up the reshape whose own was killed."""
    take_up_reshape(array_at(step.node, execution), execution)
    _soon(lambda: not array_at(step.node, execution).hidden_reshape)


def take_up_reshape(array: KernelArray, execution: Execution) -> None:
    """Start an mdadm that looks after the reshape of ``array`` to its end, and do not wait for that.

    Where the reshape has ended meanwhile there is nothing to take up, and mdadm would leave the held back range so.
    """
    if not array.reshaping:
        resume_writes(array, execution)
    elif execution.host.exists("/run/systemd/system"):
        execution.run(("systemctl", "restart", f"mdadm-grow-continue@{array.name}.service"))
    else:
        execution.run(("mdadm", "--grow", "--continue", array.node))


def lift_suspension(step: LiftSuspension, execution: Execution) -> None:
    """Let writes go on."""
    resume_writes(array_at(step.node, execution), execution)
    if array_at(step.node, execution).suspended:
        raise StepFailed(f"Array {step.array} still holds back writes to a range; see suspend_hi in sysfs. Run again.")


def resume_writes(array: KernelArray, execution: Execution) -> None:
    """Hold back writes to no part of ``array`` any more, as mdadm ends a reshape (Grow.c, child_monitor)."""
    for name in ("suspend_hi", "suspend_lo"):
        _write(execution.host.at(f"/sys/block/{array.name}/md/{name}"), "0")


def add(step: AddMembers, execution: Execution) -> None:
    """Add members, and let md begin with them."""
    execution.await_nodes(step.partitions)
    for argv in step.commands:
        execution.run(argv)
    array = array_at(step.node, execution)
    missing = [partition for partition in step.partitions if member_of(array, partition) is None]
    if missing:
        raise StepFailed(
            f"mdadm added {', '.join(missing)} to array {step.array}, but the kernel does not show it there."
        )

    def begun() -> bool:
        now = array_at(step.node, execution)
        members = [member_of(now, partition) for partition in step.partitions]
        return now.activity is not None or all(each is not None and each.member.slot is not None for each in members)

    _soon(begun)


def drop(step: DropMembers, execution: Execution) -> None:
    """Remove what failed. md notices that a disk is gone only when it uses it: mark such members as failed first."""
    if step.detached:
        execution.run(("mdadm", "--manage", step.node, "--fail", "detached"))
    for argv in step.commands:
        execution.run(argv)


def replace_member(step: ReplaceMember, execution: Execution) -> None:
    """Begin a hot replacement; when mdadm fails it may leave the wish for one behind, which is taken back."""
    *adding, beginning = step.commands
    execution.await_nodes((step.new,))
    for argv in adding:
        execution.run(argv)
    try:
        execution.run(beginning)
    except CommandError:
        array = array_at(step.node, execution)
        old = member_of(array, step.old)
        if old is not None and old.member.want_replacement:
            set_member_state(array, step.old, "-want_replacement", execution)
        raise

    def begun() -> bool:
        array = array_at(step.node, execution)
        old, new = member_of(array, step.old), member_of(array, step.new)
        ended = old is None or old.member.faulty
        return new is not None and (new.member.replacement or (ended and new.member.slot is not None))

    until(
        begun,
        lambda: (
            f"md does not begin to replace {step.old} by {step.new} in array {step.array}; see the kernel's log, "
            "then run again."
        ),
    )


def cancel_replacement(step: CancelReplacement, execution: Execution) -> None:
    """Take back a wish for replacement."""
    array = array_called(step.array, execution).kernel
    set_member_state(array, step.partition, "-want_replacement", execution)
    member = member_of(array_called(step.array, execution).kernel, step.partition)
    if member is not None and member.member.want_replacement:
        raise StepFailed(f"md still wants to replace {step.partition} in array {step.array}; see the kernel's log.")


def pause_check(step: PauseCheck, execution: Execution) -> None:
    """Stop a scan."""
    array = array_at(step.node, execution)
    if array.action in ("check", "repair"):
        set_action(array, "idle", execution)
    until(
        lambda: array_at(step.node, execution).action not in ("check", "repair"),
        lambda: f"The {array.action} of array {step.array} does not stop; see the kernel's log.",
    )


def grow(step: GrowArray, execution: Execution) -> None:
    """Begin a reshape. The wait for it is a step of its own."""
    execution.run(step.change)
    until(
        lambda: array_at(step.node, execution).devices == step.devices,
        lambda: (
            f"mdadm grew array {step.array}, but md has {array_at(step.node, execution).devices} devices instead of "
            f"{step.devices}; see the kernel's log, then run again."
        ),
    )
