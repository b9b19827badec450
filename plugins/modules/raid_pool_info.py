#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: raid_pool_info
short_description: Look at storage pools, and at what the next disk would bring
version_added: 0.1.0
description:
  - Finds the pools that M(baremetal.fabric.raid_pool) has made, draws them, and tells what md does in them and how long
    that still takes.
  - Tells to the byte how large a pool becomes when one of its disks is exchanged for a larger one.
  - Reads sysfs, the disks and LVM's report; changes nothing.
options:
  name:
    description:
      - Name of a pool. Without it, all pools are looked at.
    type: str
  disks:
    description:
      - The disks that are declared for the pool, as for M(baremetal.fabric.raid_pool). With them,
        RV(pools[].findings) also names disks that are not there or not declared, and room that waits for a partner.
    type: list
    elements: str
    default: []
  replacement:
    description:
      - The size of the disk that you could buy, such as V(4TB). By default as large as the largest disk of the pool.
    type: str
  members:
    description:
      - The most members that an array gets, as for M(baremetal.fabric.raid_pool).
    type: int
    default: 16
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.info_module
  - baremetal.fabric.attributes.actiongroup_fabric
requirements:
  - LVM (Debian package C(lvm2))
  - blkid (Debian package C(util-linux))
seealso:
  - module: baremetal.fabric.raid_pool
  - plugin: baremetal.fabric.raid_capacity
    plugin_type: filter
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: Pools are looked at
  baremetal.fabric.raid_pool_info:
  register: storage

- name: Pools are shown
  ansible.builtin.debug:
    msg: "{{ item.layout }}"
  loop: "{{ storage.pools }}"
  loop_control:
    label: "{{ item.name }}"

- name: The gain of a disk of 8 TB is known
  baremetal.fabric.raid_pool_info:
    name: data
    replacement: 8TB
  register: data

- name: The disk to exchange is shown
  ansible.builtin.debug:
    msg: "Exchange {{ data.pools[0].next_replacement[0].disk }}"
  when: data.pools[0].next_replacement | length > 0
"""

RETURN = r"""
pools:
  description: The pools. Sizes are in bytes.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the pool, which is its volume group.
      type: str
      returned: always
    layout:
      description: The pool as a person would draw it, with progress.
      type: str
      returned: always
      sample: |
        Pool data: 288 MiB, 188 MiB free
        Disks
          vdb  101 MiB  [-------------------- data-0 ---------------------]
          vdc  101 MiB  [-------------------- data-0 ---------------------]
        Arrays
          data-0  raid5  4 x 97.5 MiB  292.5 MiB  recovery, lacks 1 of 4, [####........] 40 %, 6 s left
    capacity:
      description: Size of the volume group.
      type: int
      returned: always
    free:
      description: What no volume uses.
      type: int
      returned: always
    settled:
      description: Whether md has nothing under way.
      type: bool
      returned: always
    redundant:
      description: Whether no array lacks a member.
      type: bool
      returned: always
    pending:
      description: What md has under way.
      type: list
      elements: dict
      returned: always
      contains:
        what:
          description: What is under way.
          type: str
          returned: always
        percent:
          description: How far it is, from 0 to 100. Null when the kernel does not tell.
          type: float
          returned: always
        seconds_left:
          description: An estimate from the current speed. Null when the kernel does not tell.
          type: int
          returned: always
    findings:
      description: What the person on call should know, most urgent first.
      type: list
      elements: str
      returned: always
    replacement:
      description: The size of disk that RV(pools[].next_replacement) is for.
      type: int
      returned: always
    next_replacement:
      description:
        - What exchanging each disk would bring, best first. Metadata and alignment are counted.
        - Empty while an array lacks a member or md is at work.
      type: list
      elements: dict
      returned: always
      contains:
        disk:
          description: The disk to exchange.
          type: str
          returned: always
        size:
          description: Size of the volume group afterwards.
          type: int
          returned: always
        gain:
          description: How much more that is than now.
          type: int
          returned: always
    disks:
      description: The disks, with their identity and their slices.
      type: list
      elements: dict
      returned: always
    absent:
      description: Declared paths that lead to no disk.
      type: list
      elements: str
      returned: always
    arrays:
      description: The arrays, with their members and what md does in them.
      type: list
      elements: dict
      returned: always
    volumes:
      description: The volumes, with their file systems and mounts.
      type: list
      elements: dict
      returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._converge.module import look
from ..module_utils._storage.inventory import INFO_SPEC, INFO_TOOLS, look_at_pools


def main() -> None:
    module = AnsibleModule(argument_spec=INFO_SPEC, supports_check_mode=True)
    look(module, look_at_pools, INFO_TOOLS)


if __name__ == "__main__":
    main()
