# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter raid_capacity: what a pool of disks of given sizes would offer."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils._storage.capacity import best_replacement, capacity, slice_capacity
from ..module_utils._storage.layout import least_members, level_for
from ..module_utils._storage.size import BadSize, parse_size

DOCUMENTATION = r"""
name: raid_capacity
author:
  - baremetal.fabric developers (@baremetal)
version_added: 0.1.0
short_description: What a storage pool of disks of given sizes would offer
description:
  - Plans the pool that M(baremetal.fabric.raid_pool) would build from blank disks of these sizes, and says which
    disk to replace next. For a person who is about to buy disks.
  - Metadata and alignment do not count here. M(baremetal.fabric.raid_pool_info) gives exact bytes for a pool that
    exists.
positional: _input
options:
  _input:
    description:
      - The sizes of the disks.
      - In bytes, or with a unit. V(4TiB) and V(4T) are powers of 1024, V(4TB) is a power of 1000 as on the label of a
        disk.
    type: list
    elements: raw
    required: true
  redundancy:
    description: How many disks may fail at the same time without loss.
    type: int
    choices: [1, 2]
    default: 1
  replacement:
    description: The size of a disk that you could buy, written as the sizes are.
    type: raw
  members:
    description: The most disks that one slice spans, as O(baremetal.fabric.raid_pool#module:members).
    type: int
    default: 16
seealso:
  - module: baremetal.fabric.raid_pool
  - module: baremetal.fabric.raid_pool_info
"""

EXAMPLES = r"""
- name: Show what two disks of 4 TB and two of 8 TB make
  ansible.builtin.debug:
    msg: "{{ ['4TB', '4TB', '8TB', '8TB'] | baremetal.fabric.raid_capacity }}"

- name: Show which disk to replace by one of 12 TB
  ansible.builtin.debug:
    msg: >-
      Replace disk {{ capacity.best_replacement.index + 1 }} to have
      {{ capacity.best_replacement.usable | ansible.builtin.human_readable }}.
  vars:
    capacity: "{{ ['4TB', '4TB', '8TB', '8TB'] | baremetal.fabric.raid_capacity(replacement='12TB') }}"
"""

RETURN = r"""
_value:
  description: What the disks make together.
  type: dict
  contains:
    usable:
      description: Bytes for data.
      type: int
      sample: 16000000000000
    waiting:
      description: Bytes that no array can use yet, because too few disks have room at the same height.
      type: int
      sample: 0
    slices:
      description: The slices, each of which becomes an array, from the first to the last.
      type: list
      elements: dict
      contains:
        size:
          description: Bytes on each disk.
          type: int
        members:
          description: How many disks the slice spans.
          type: int
        level:
          description: The md level.
          type: str
          sample: raid5
        usable:
          description: Bytes for data.
          type: int
    best_replacement:
      description:
        - The one disk whose replacement by a disk of O(replacement) leads to the most room.
        - Where several lead to the same, the smallest of them.
        - Its C(usable) equals RV(_value.usable) when no single replacement gains anything.
      type: dict
      returned: when O(replacement) is given and there is at least one disk
      contains:
        index:
          description: Its place in the list of sizes, from 0.
          type: int
        usable:
          description: Bytes for data after the replacement.
          type: int
"""


def raid_capacity(
    sizes: t.Any, redundancy: t.Any = 1, replacement: t.Any = None, members: t.Any = 16
) -> dict[str, t.Any]:
    """Return what disks of ``sizes`` make together. Raises AnsibleFilterError for what is no size."""
    if isinstance(sizes, str) or not isinstance(sizes, t.Iterable):
        raise AnsibleFilterError(f"raid_capacity needs a list of sizes such as ['4TB', '8TB'], not {sizes!r}.")
    if redundancy not in (1, 2):
        raise AnsibleFilterError(f"raid_capacity knows redundancy 1 and 2, not {redundancy!r}.")
    if isinstance(members, bool) or not isinstance(members, int) or members < least_members(redundancy):
        raise AnsibleFilterError(
            f"raid_capacity needs at least {least_members(redundancy)} members per slice, not {members!r}."
        )
    try:
        disks = [parse_size(size) for size in sizes]
        new = None if replacement is None else parse_size(replacement)
    except BadSize as error:
        raise AnsibleFilterError(f"raid_capacity: {error}") from error
    found = capacity(disks, redundancy, members)
    result: dict[str, t.Any] = {
        "usable": found.usable,
        "waiting": found.waiting,
        "slices": [
            {
                "size": cut.size,
                "members": len(cut.members),
                "level": f"raid{level_for(len(cut.members), redundancy)}",
                "usable": slice_capacity(cut, redundancy),
            }
            for cut in found.slices
        ],
    }
    best = None if new is None else best_replacement(disks, new, redundancy, members)
    if best is not None:
        result["best_replacement"] = {"index": best.index, "usable": best.usable}
    return result


class FilterModule:
    """Ansible's door to the filter."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {"raid_capacity": raid_capacity}
