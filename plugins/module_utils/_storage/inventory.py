# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What raid_pool_info tells: the pools of a host, what md does in them, and what the next disk would bring."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from .._converge.command import Runner
from .._converge.converge import Refusal
from .facts import facts
from .model import KIB, Pool, Wanted, slice_index
from .observing.arrays import identify
from .observing.host import Host
from .observing.observe import observe_pool
from .observing.sysfs import array_names, partition_labels, read_array
from .parameters import Parameters, check_pool_name
from .picture import draw
from .pool import pending_work
from .prospect import prospects
from .refusals import findings
from .size import BadSize, parse_size

INFO_SPEC: dict[str, dict[str, t.Any]] = {
    "name": {"type": "str"},
    "disks": {"type": "list", "elements": "str", "default": []},
    "replacement": {"type": "str"},
    "members": {"type": "int", "default": 16},
}
INFO_TOOLS = {"lvm": "lvm2", "blkid": "util-linux"}


def pool_names(host: Host) -> tuple[str, ...]:
    """Return the names that arrays of the kernel, or partitions, could belong to a pool by, sorted."""
    words = [identify(host, read_array(host, each)).name for each in array_names(host)]
    for disk in host.names("/sys/block"):
        words.extend(partition_labels(host, disk))
    names = {word.rpartition("-")[0] for word in words}
    return tuple(sorted(name for name in names if any(slice_index(name, word) is not None for word in words)))


def wanted_as_found(pool: Pool, members: int = 16) -> Wanted:
    """Return the declaration that ``pool`` as it stands would be the answer to, without volumes."""
    chunks = [array.chunk for array in pool.arrays if array.level != 1]
    return Wanted(
        name=pool.name,
        disks=tuple(disk.display for disk in pool.disks),
        redundancy=2 if any(array.level == 6 for array in pool.arrays) else 1,
        chunk=max(chunks, default=512 * KIB),
        bitmap=all(array.bitmap for array in pool.arrays),
        most_members=members,
    )


def declared_as_found(pool: Pool) -> Pool:
    """Return ``pool`` as if every disk in it had been declared."""
    disks = tuple(replace(disk, path=disk.display) for disk in pool.disks)
    return replace(pool, disks=disks, resolved=(*pool.resolved, *((disk.path, disk.node) for disk in disks)))


def next_replacement(pool: Pool, size: int, members: int) -> list[dict[str, t.Any]]:
    """Return what exchanging each disk for a blank one of ``size`` bytes would bring, best first.

    As dicts with disk, size of the volume group afterwards, and gain, in bytes. Empty while the pool is not whole:
    then the next disk repairs.
    """
    if not pool.arrays or not all(array.whole and array.settled for array in pool.arrays):
        return []
    whole = declared_as_found(pool)
    names = {disk.node: disk.display for disk in pool.disks}
    return [
        {"disk": names[each.disk], "size": each.size, "gain": each.gain}
        for each in prospects(whole, wanted_as_found(whole, members), size)
    ]


def describe(pool: Pool, declared: bool, replacement: int, members: int) -> dict[str, t.Any]:
    """Return one pool as raid_pool_info does. ``declared``: whether the user listed the disks."""
    want = replace(wanted_as_found(pool, members), disks=tuple(disk.path for disk in pool.disks if disk.path))
    size = replacement or max((disk.size for disk in pool.disks), default=0)
    return {
        **facts(pool),
        "layout": draw(pool if declared else declared_as_found(pool), progress=True),
        "pending": [each.as_dict() for each in pending_work(pool)],
        "findings": list(findings(pool, want if declared else None)),
        "replacement": size,
        "next_replacement": next_replacement(pool, size, members),
    }


def look_at_pools(parameters: Parameters, runner: Runner) -> dict[str, t.Any]:
    """Return what raid_pool_info returns. Raises Refusal for parameters that make no sense."""
    host = Host()
    disks = tuple(parameters["disks"])
    if disks and not parameters["name"]:
        raise Refusal("Disks are given, but no pool; say with 'name' which pool they are declared for.")
    replacement = _replacement(parameters.get("replacement"))
    if parameters["name"]:
        check_pool_name(parameters["name"])
    names = (parameters["name"],) if parameters["name"] else pool_names(host)
    pools = [observe_pool(Wanted(name=name, disks=disks), runner, host) for name in names]
    members = parameters["members"]
    return {"pools": [describe(pool, bool(disks), replacement, members) for pool in pools if pool.arrays]}


def _replacement(text: str | None) -> int:
    try:
        return parse_size(text) if text else 0
    except BadSize as error:
        raise Refusal(f"replacement: {error}") from error
