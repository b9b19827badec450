#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: dkms_module_info
short_description: Look at kernel modules that DKMS has, and at what the next boot will find
version_added: 0.1.0
description:
  - Tells for each package of DKMS and each kernel what is added, built, installed, really in place, and loaded; whether
    it is ready for the kernel that boots next; and which trees are broken, of whatever module, as one of them is enough
    to keep DKMS 3.0 from building any module for a new kernel.
options:
  name:
    description:
      - Name of a package. By default all that DKMS has.
    type: str
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.info_module
  - baremetal.fabric.attributes.actiongroup_fabric
requirements:
  - dkms
seealso:
  - module: baremetal.fabric.dkms_module
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: What the next boot will find is known
  baremetal.fabric.dkms_module_info:
  register: dkms

- name: A host is not rebooted into a kernel without its drivers
  ansible.builtin.assert:
    that: item.next_boot.ready
    fail_msg: "{{ item.name }}: {{ item.next_boot.reason }}"
  loop: "{{ dkms.modules }}"
  loop_control:
    label: "{{ item.name }}"
"""

RETURN = r"""
modules:
  description: The packages.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
      returned: always
    version:
      description: The newest version that is installed for a kernel, else the newest that DKMS has.
      type: str
      returned: always
    versions:
      description: All versions that DKMS has.
      type: list
      elements: str
      returned: always
    kernels:
      description:
        - Each kernel that is installed, or has something of the package, with C(kernel), C(running), C(headers),
          C(added), C(built), C(installed), C(in_place), C(loaded), C(skipped) and C(problems), as
          M(baremetal.fabric.dkms_module) returns them.
      type: list
      elements: dict
      returned: always
    next_boot:
      description: Whether the kernel that boots next has the version in place.
      type: dict
      returned: always
      contains:
        kernel:
          description: The kernel that boots next, or none where nothing tells.
          type: str
          returned: always
        told_by:
          description: What tells so, such as V(/boot/grub/grub.cfg).
          type: str
          returned: always
        ready:
          description: Whether the version is in place for it, and its initramfs is there where Debian makes one.
          type: bool
          returned: always
        reason:
          description: Why it is not.
          type: str
          returned: always
    dkms_status:
      description: What C(dkms status) says, each with C(version), C(kernel), C(state) and C(notes).
      type: list
      elements: dict
      returned: always
broken:
  description: Trees of any package in DKMS that are broken, each with C(module) and C(problem).
  returned: success
  type: list
  elements: dict
next_boot:
  description: The kernel that boots next, with C(kernel) and C(told_by).
  returned: success
  type: dict
signing:
  description: The key that DKMS signs with, as M(baremetal.fabric.dkms_module) returns it.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._converge.module import look
from ..module_utils._kernel.dkms.options import DKMS_INFO_SPEC
from ..module_utils._kernel.dkms.tasks import TOOLS, look_at_modules


def main() -> None:
    module = AnsibleModule(argument_spec=DKMS_INFO_SPEC, supports_check_mode=True)
    look(module, look_at_modules, TOOLS)


if __name__ == "__main__":
    main()
