#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_module_binary
short_description: Have binary packages of a kernel module installed, found by the kernel, and loaded
version_added: 0.1.0
description:
  - Installs packages that M(baremetal.fabric.kernel_module_package) has built on another host, and proves that each
    kernel finds just what is in them. The host needs neither DKMS nor a compiler nor headers.
  - A host that has no package for the kernel that it runs, or for the one that it boots next, is refused before it is
    touched.
  - A file that was deleted or overwritten is repaired. When a new module cannot be loaded, the former package is
    installed and loaded again.
options:
  name:
    description:
      - The C(PACKAGE_NAME) of the C(dkms.conf) that the packages were built of.
    type: str
    required: true
  state:
    description:
      - V(installed) has the packages in place. V(absent) purges all packages of this name, for whatever kernel, and
        removes the files that load the module. What is loaded stays loaded.
    type: str
    choices: [installed, absent]
    default: installed
  packages:
    description:
      - What RV(baremetal.fabric.kernel_module_package#module:packages) has. Those for other kernels are left out, so
        that all hosts can be given the same list.
    type: list
    elements: dict
    default: []
    suboptions:
      package:
        description:
          - The name of the package.
        type: str
        required: true
      version:
        description:
          - Its version.
        type: str
        required: true
      architecture:
        description:
          - Its architecture, as dpkg calls it.
        type: str
        required: true
      kernel:
        description:
          - The release of the kernel that it is for.
        type: str
        required: true
      modules:
        description:
          - The paths of the modules in it.
        type: list
        elements: str
        required: true
      path:
        description:
          - Where its file lies, here or below O(directory). It need not be there in check mode, or when it is installed
            already. When the former package lies beside it, that is what comes back when the new module cannot be
            loaded.
        type: path
        required: true
      sha256:
        description:
          - The SHA-256 of its file, which is compared before anything is installed.
        type: str
      buildinfo:
        description:
          - Not heeded, so that the list can be given as it was returned.
        type: path
      signed:
        description:
          - Not heeded, so that the list can be given as it was returned.
        type: bool
  directory:
    description:
      - The directory on this host that the packages were copied to. By default they lie at O(packages[].path).
    type: path
  kernels:
    description:
      - The kernels that must have a package, as C(uname -r) prints them. V(running) stands for the running one, V(next)
        for the one that boots next, V(installed) for all that are installed.
    type: list
    elements: str
    default: [running, next]
  load:
    description:
      - How the module is loaded. By default that is left alone.
    type: dict
    suboptions:
      now:
        description:
          - Whether it is loaded into the running kernel. When another build, or one with other parameters, is loaded,
            it is unloaded first, which fails while something uses it.
        type: bool
        default: false
      persist:
        description:
          - Whether it is loaded at boot, by C(/etc/modules-load.d/NAME.conf).
        type: bool
        default: false
      parameters:
        description:
          - Parameters of the module, kept in C(/etc/modprobe.d/NAME.conf).
        type: dict
        default: {}
  allow_downgrade:
    description:
      - Whether a package may take the place of a newer one.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait for another run of this module.
    type: int
    default: 600
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.converging
  - baremetal.fabric.attributes.actiongroup_fabric
requirements:
  - a Debian system with apt
notes:
  - A run with nothing to do starts one C(dpkg) for each package and one C(modinfo) for each kernel.
seealso:
  - module: baremetal.fabric.kernel_module_package
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: A builder has built packages for the kernels of all hosts
  baremetal.fabric.kernel_module_package:
    name: v4l2loopback
    kernels:
      - 6.12.107+deb13-amd64
      - 6.12.118+deb13-amd64
    destination: /srv/packages
    maintainer: Kernel team <kernel@example.org>
  register: built
  delegate_to: builder
  run_once: true

- name: The packages, which were copied to every host, are in place there
  baremetal.fabric.kernel_module_binary:
    name: v4l2loopback
    packages: "{{ built.packages }}"
    directory: /var/cache/packages
    load:
      now: true
      persist: true

- name: The module is gone
  baremetal.fabric.kernel_module_binary:
    name: v4l2loopback
    state: absent
"""

RETURN = r"""
plan:
  description:
    - The steps that were taken, or in check mode would be, each with C(title), C(command), C(reason), C(destructive).
  returned: always
  type: list
  elements: dict
pending:
  description: Always empty, as nothing goes on after the module.
  returned: always
  type: list
  elements: dict
done:
  description: Titles of the steps that were carried out.
  returned: failure
  type: list
  elements: str
packages:
  description: The packages for the wanted kernels. In check mode, as the plan would leave them.
  returned: success
  type: list
  elements: dict
  contains:
    kernel:
      description: The release of the kernel.
      type: str
      returned: always
    package:
      description: The name of the package.
      type: str
      returned: always
    version:
      description: The version that was wanted.
      type: str
      returned: always
    installed:
      description: The version that is installed.
      type: str
      returned: always
    in_place:
      description: Whether its kernel would load just what is in it.
      type: bool
      returned: always
    loaded:
      description: Whether its module is loaded; none for kernels that do not run.
      type: bool
      returned: always
running:
  description: The release of the running kernel.
  returned: success
  type: str
next_boot:
  description: The kernel that boots next, with C(kernel) and C(told_by).
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._converge.module import run
from ..module_utils._kernel.deploying.options import BINARY_SPEC
from ..module_utils._kernel.deploying.tasks import binary_task


def main() -> None:
    module = AnsibleModule(argument_spec=BINARY_SPEC, supports_check_mode=True)
    run(module, binary_task)


if __name__ == "__main__":
    main()
