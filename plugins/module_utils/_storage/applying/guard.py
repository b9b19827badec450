# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Carry out what keeps the beginning of an array while md moves it: hold the volumes, keep, let md pass, let go.

The file is good from the moment at which the volumes are held until the first of them is let go. It is put in place and
removed within that time, also by the timer that ends a guard whose run was killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
import typing as t
from dataclasses import replace

from ..._converge.command import CommandError
from ..._converge.converge import StepFailed
from ..critical import DIRECTORY, LONGEST_GUARD, kept_path
from ..formats import kept, superblock
from ..model import MIB
from ..observing.host import Device
from ..observing.kept import mapped_on, read_kept
from ..observing.sysfs import KernelArray, KernelMember, read_uses
from ..steps.reshapes import EndGuard, GrowArray, Guard, RevertReshape, disarm, guard_unit
from . import arrays
from .execution import Execution, until

#: KiB/s: how fast md moves the beginning, whatever the host allows it otherwise.
FULL_SPEED = "2000000"
#: Of the time that the volumes may be held, what must be left when the reshape begins, and when the run lets them go.
_TO_BEGIN = LONGEST_GUARD / 2
_TO_LET_GO = 5
#: Seconds that LVM gets to activate what stands on an array that was just started.
_TO_ACTIVATE = 30


def grow(step: GrowArray, execution: Execution) -> None:
    """Begin a reshape; where it overwrites what it moves, guard its beginning."""
    execution.await_nodes(step.add)
    if step.guard is None:
        arrays.grow(step, execution)
        return
    if not execution.host.exists("/run/systemd/system"):
        raise StepFailed(
            f"Array {step.array} can begin to grow only where systemd runs, which lets its volumes go should this run "
            "be killed; boot the host with systemd, then run again."
        )
    _make_directory(execution.host.at(DIRECTORY), 0o700)
    _end_leftover(step.array, execution)
    guard = _with_volumes(step.array, step.node, step.guard, execution)
    step = replace(step, guard=guard)
    _write_back(guard, execution)
    started = time.monotonic()

    def left() -> float:
        return LONGEST_GUARD - (time.monotonic() - started)

    try:
        execution.run(guard.arm(step.array, step.node))
        execution.run(guard.hold)
        array = arrays.array_at(step.node, execution)
        _keep(step, array, execution)
        arrays.set_speed_limits(array, (FULL_SPEED, FULL_SPEED), execution)
        _check_held(step, array, left(), execution)
        arrays.grow(step, execution)
        _await_passed(step.array, step.node, guard.safe_position, left() - _TO_LET_GO, execution)
    finally:
        _let_go(step, execution)


def _with_volumes(array: str, node: str, guard: Guard, execution: Execution) -> Guard:
    """Return ``guard`` with the volumes that stand on the array by now.

    Those of an array that a step has just started were not there when that was planned: udev has LVM activate them in
    a unit of its own (69-dm-lvm.rules), which is waited for. Volumes that come later are found before md begins.
    """
    execution.settle_udev()
    unit = f"lvm-activate-{array.rpartition('-')[0]}.service"

    def activated() -> bool:
        return execution.run(("systemctl", "is-active", unit), range(256)).strip() not in ("active", "activating")

    with contextlib.suppress(StepFailed):
        until(activated, str, _TO_ACTIVATE)
    holders = arrays.array_at(node, execution).holders
    return replace(guard, volumes=tuple(each.name for each in mapped_on(execution.host, holders)))


def _make_directory(path: str, mode: int = 0o755) -> None:
    """Make a directory, and those above it, so that a crash leaves them there."""
    if not os.path.isdir(path):
        _make_directory(os.path.dirname(path))
        os.mkdir(path, mode)
        _sync_directory(path)


def _write_back(guard: Guard, execution: Execution) -> None:
    """Have file systems write what they can before they are held, so that this is short."""
    nodes = {execution.host.device_number(f"/dev/mapper/{name}") for name in guard.volumes}
    for use in read_uses(execution.host):
        if use.number in nodes and use.mount_point:
            execution.run(("sync", "--file-system", use.mount_point))


def _check_held(step: GrowArray, array: KernelArray, left: float, execution: Execution) -> None:
    """Raise :class:`StepFailed` unless everything that stands on the array is held, and will be for long enough."""
    free = [each.name for each in mapped_on(execution.host, array.holders) if not each.suspended]
    if free or left < _TO_BEGIN:
        what = f"{', '.join(free)} is not held" if free else f"holding its volumes took {LONGEST_GUARD - left:.0f} s"
        raise StepFailed(
            f"Array {step.array} does not begin to grow, for {what}; have its volumes used less, then run again."
        )


def _let_go(step: GrowArray, execution: Execution) -> None:
    """End the guard, whatever failed."""
    with contextlib.ExitStack() as rest:
        if step.guard is not None:
            limits = step.guard.speed_limits
            rest.callback(execution.run, disarm(step.array), range(256))
            rest.callback(execution.run, step.guard.resume)
            rest.callback(arrays.set_speed_limits, arrays.array_at(step.node, execution), limits, execution)
        remove(step.array, execution)


def remove(array: str, execution: Execution) -> None:
    """Remove the file of an array, for good."""
    path = execution.host.at(kept_path(array))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
        _sync_directory(path)


def _sync_directory(path: str) -> None:
    directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _found(member: KernelMember, execution: Execution) -> superblock.Found | None:
    with Device(execution.host, member.member.node) as device:
        return superblock.parse(device.read(superblock.OFFSET, superblock.LENGTH), superblock.OFFSET)


def _in_service(array: KernelArray) -> list[KernelMember]:
    return [each for each in array.members if each.member.slot is not None and each.member.node]


def _keep(step: GrowArray, array: KernelArray, execution: Execution) -> None:
    """Put the beginning of each member into the file."""
    if step.guard is None:
        return
    length = step.guard.length
    path = execution.host.at(kept_path(step.array))
    staged = f"{path}.new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(staged)  # of a run that was cut off
    held_at = int(time.time())
    digest = hashlib.sha256()
    members = []
    uuid = ""
    descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.seek(kept.HEADER)
        for member in _in_service(array):
            found = _found(member, execution)
            if found is None:
                raise StepFailed(
                    f"/dev/{member.name} has no superblock of version 1.2; array {step.array} cannot grow."
                )
            uuid = found.superblock.array_uuid
            members.append(kept.KeptMember(found.superblock.device_uuid, found.superblock.data_offset))
            with Device(execution.host, member.member.node) as device:
                for piece in _pieces(device, found.superblock.data_offset, length):
                    digest.update(piece)
                    file.write(piece)
        header = kept.Kept(uuid, array.devices, step.devices, length, tuple(members), digest.hexdigest(), held_at)
        file.seek(0)
        file.write(kept.header(header))
        file.flush()
        os.fsync(file.fileno())
    os.replace(staged, path)
    _sync_directory(path)


def _pieces(device: Device, start: int, length: int) -> t.Iterator[bytes]:
    done = 0
    while done < length:
        piece = device.read(start + done, min(MIB, length - done))
        if not piece:
            raise StepFailed(f"{device.node} ends {length - done} bytes too early; see the kernel's log.")
        done += len(piece)
        yield piece


def _passed(node: str, position: int, execution: Execution) -> bool:
    """Whether every member tells of a reshape beyond ``position``, or of none that could lose anything."""
    for member in _in_service(arrays.array_at(node, execution)):
        found = _found(member, execution)
        if found is None:
            return False
        if found.superblock.reshaping and not found.moves_data and found.reshape_position <= position:
            return False
    return True


def _await_passed(array: str, node: str, position: int, seconds: float, execution: Execution) -> None:
    until(
        lambda: _passed(node, position, execution),
        lambda: (
            f"The reshape of array {array} has begun, but md has not moved its beginning within {seconds:.0f} s; a "
            "crash could damage that now. See /proc/mdstat for what md waits for, then run again."
        ),
        seconds,
    )


def end_guard(step: EndGuard, execution: Execution) -> None:
    """End the guard of a run that was killed: as its timer would, but not before md has passed, within bounds."""
    if step.volumes and step.safe_position:
        with contextlib.suppress(StepFailed):
            _await_passed(step.array, step.node, step.safe_position, LONGEST_GUARD - 2 * _TO_LET_GO, execution)
    _end_leftover(step.array, execution)
    remove(step.array, execution)
    for argv in step.commands:
        execution.run(argv)


def _end_leftover(array: str, execution: Execution) -> None:
    """Do at once what the timer of a guard would do that a killed run has left in the pool, and wait for that."""
    with contextlib.suppress(CommandError):  # there is none
        execution.run(("systemctl", "start", f"{guard_unit(array)}.service"))
    execution.run(disarm(array), accept=range(256))


def revert(step: RevertReshape, execution: Execution) -> None:
    """Start an array as it was before its reshape."""
    if not step.kept:
        arrays.start(step, execution)
        return
    arrays.start(step, execution, lambda: _put_back(step, execution))
    remove(step.array, execution)


def _put_back(step: RevertReshape, execution: Execution) -> None:
    """Write what is kept of each member, and then let no superblock tell of the reshape. Can be done again."""
    what = read_kept(execution.host, step.array)
    if what is None:
        raise StepFailed(f"{kept_path(step.array)} is damaged or gone; array {step.array} was not touched. Run again.")
    found = {}
    for partition in step.partitions:
        with Device(execution.host, partition) as device:
            block = device.read(superblock.OFFSET, superblock.LENGTH)
        found[partition] = (block, superblock.parse(block, superblock.OFFSET))
    with open(execution.host.at(kept_path(step.array)), "rb") as file:
        for partition, (_block, each) in found.items():
            if each is not None:
                _write(partition, each.superblock.data_offset, _kept_of(file, what, each), execution)
    for partition, (block, each) in found.items():
        if each is not None:
            _write(partition, superblock.OFFSET, superblock.reverted(block), execution)


def _kept_of(file: t.BinaryIO, what: kept.Kept, member: superblock.Found) -> bytes:
    place = what.place(member.superblock.device_uuid)
    if place is None:
        return b""  # the reshape has added it
    file.seek(place)
    return file.read(what.length)


def _write(partition: str, offset: int, data: bytes, execution: Execution) -> None:
    if not data:
        return
    descriptor = os.open(execution.host.at(partition), os.O_WRONLY | os.O_EXCL | os.O_CLOEXEC)
    try:
        written = 0
        while written < len(data):
            written += os.pwrite(descriptor, data[written:], offset + written)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
