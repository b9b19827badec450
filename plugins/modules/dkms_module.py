#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: dkms_module
short_description: Have a kernel module in place for the kernels of a host, built by DKMS
version_added: 0.1.0
description:
  - Adds, builds, installs and, where wanted, loads a package of kernel modules with DKMS, and believes neither its exit
    status nor C(dkms status). A module is in place for a kernel when the installed file is, byte for byte, the one that
    was built of the present source, fits the kernel, and is what C(modinfo -k) finds.
  - A file that was deleted or overwritten is repaired. So is what DKMS 3.0 calls installed after it has copied nothing.
  - Every build has a tree of its own, and only what is complete comes into DKMS's. A build that fails leaves the
    working module in place and loaded, and the message has the compiler's lines. A kernel that cannot be served does
    not keep the others from it; the run fails at its end, and says why.
  - A kernel that the C(dkms.conf) excludes (C(BUILD_EXCLUSIVE_*), C(OBSOLETE_BY)) is left out with a warning.
options:
  name:
    description:
      - The C(PACKAGE_NAME) of the C(dkms.conf).
    type: str
    required: true
  version:
    description:
      - The C(PACKAGE_VERSION) of the C(dkms.conf).
      - By default that of O(source), or the only one that the host has.
    type: str
  state:
    description:
      - V(present) has the source in place and known to DKMS, V(built) also builds it, V(installed) also installs it.
      - V(absent) removes O(version), or all versions, from DKMS and all kernels, and those sources that this module
        has put in place. What is loaded stays loaded.
    type: str
    choices: [present, built, installed, absent]
    default: installed
  source:
    description:
      - Where the source comes from, on the managed host. It is copied to C(/usr/src/NAME-VERSION), and again when it
        has changed, which builds anew.
      - By default the source is there already, as from a package of Debian whose name ends with C(-dkms).
    type: dict
    suboptions:
      directory:
        description:
          - A directory with a C(dkms.conf).
        type: path
      archive:
        description:
          - A tar archive, compressed or not, that has a C(dkms.conf) in it. What is beside that file is the source.
        type: path
  kernels:
    description:
      - Releases as C(uname -r) prints them. V(installed) stands for all kernels that are installed, V(running) for the
        running one, which is refused in a container or on a host that builds for others.
    type: list
    elements: str
    default: [installed]
  jobs:
    description:
      - How many kernels are built for side by side.
    type: int
    default: 1
  load:
    description:
      - How the module is loaded. By default that is left alone.
    type: dict
    suboptions:
      now:
        description:
          - Whether it is loaded into the running kernel. When another build, or one with other parameters, is loaded,
            it is unloaded first, which fails while something uses it; when the new one cannot be loaded, the former
            version is installed and loaded again.
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
  replace_older:
    description:
      - Whether older versions are removed, once this one is in place for all of O(kernels). Versions that some kernel
        still uses stay.
    type: bool
    default: false
  allow_downgrade:
    description:
      - Whether a version may take the place of a newer one.
    type: bool
    default: false
  hook:
    description:
      - Whether the module is also built for kernels that are installed later, by a program of its own below
        C(/etc/kernel/postinst.d) and C(/etc/kernel/header_postinst.d), which needs no Ansible. It takes the newest
        version that serves another kernel, and an older one where that does not build. It works also where DKMS 3.0
        gives up because the tree of some other module is broken, and never fails, so that the kernel's package is not
        left half configured because of it; what went wrong is in the system's log.
      - By default what is there is left alone. V(false) removes it, and so does O(state=absent).
    type: bool
  wait_timeout:
    description:
      - Seconds to wait for another run of this module, or for a build that one left behind.
    type: int
    default: 600
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.converging
  - baremetal.fabric.attributes.actiongroup_fabric
requirements:
  - dkms 3.0 or newer, with a compiler and make
  - the headers of each kernel (C(linux-headers-RELEASE)); a message names the package that is missing
notes:
  - DKMS makes a key to sign modules with at its first build, if C(openssl) is installed. RV(signing) says which one it
    uses, and whether the firmware trusts it. This module makes and enrolls none.
  - A run with nothing to do starts one C(bash), which reads the C(dkms.conf), and one C(modinfo) for each kernel.
seealso:
  - module: baremetal.fabric.dkms_module_info
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: The camera loopback of Debian's package is in place for every kernel
  baremetal.fabric.dkms_module:
    name: v4l2loopback

- name: A driver of our own is in place, loaded, and loaded at boot
  baremetal.fabric.dkms_module:
    name: i40e
    source:
      archive: /root/i40e-2.26.8-dkms.tar.gz
    jobs: 2
    load:
      now: true
      persist: true
      parameters:
        debug: 16
    replace_older: true
    hook: true

- name: A host that builds for others has modules for two kernels
  baremetal.fabric.dkms_module:
    name: acpi_call
    state: built
    kernels:
      - 6.12.107+deb13-amd64
      - 6.12.118+deb13-amd64

- name: The driver is gone
  baremetal.fabric.dkms_module:
    name: i40e
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
failures:
  description: What failed for single kernels, when the rest was done.
  returned: failure
  type: list
  elements: str
module:
  description: The package. In check mode, as the plan would leave it.
  returned: success
  type: dict
  contains:
    name:
      description: Its name.
      type: str
      returned: always
    version:
      description: The version that was wanted.
      type: str
      returned: always
    versions:
      description: All versions that DKMS has.
      type: list
      elements: str
      returned: always
kernels:
  description: Each kernel that is installed, named, or has something of the package.
  returned: success
  type: list
  elements: dict
  contains:
    kernel:
      description: Its release.
      type: str
      returned: always
    running:
      description: Whether it runs.
      type: bool
      returned: always
    headers:
      description: Whether its headers are there.
      type: bool
      returned: always
    added:
      description: Whether DKMS has the version, with its source.
      type: bool
      returned: always
    built:
      description: Whether the version is built of its present source, and fits the kernel.
      type: bool
      returned: always
    installed:
      description: The version that DKMS says is installed.
      type: str
      returned: always
    in_place:
      description: Whether the kernel would load just what was built.
      type: bool
      returned: always
    loaded:
      description: V(yes), V(no), or V(other) when another build is loaded; none for kernels that do not run.
      type: str
      returned: always
    skipped:
      description: Why the version is not for this kernel.
      type: str
      returned: always
    problems:
      description: What is wrong with what DKMS says is installed.
      type: list
      elements: str
      returned: always
signing:
  description: The key that DKMS signs with.
  returned: success
  type: dict
  contains:
    key:
      description: Its path.
      type: str
      returned: always
    certificate:
      description: The path of its certificate.
      type: str
      returned: always
    present:
      description: Whether both are there. If not, DKMS makes them, or does not sign.
      type: bool
      returned: always
    enrolled:
      description: Whether the firmware trusts the certificate; none on a host without EFI.
      type: bool
      returned: always
    secure_boot:
      description: Whether Secure Boot is on; none on a host without EFI.
      type: bool
      returned: always
broken:
  description: Trees of any package in DKMS that are broken, each with C(module) and C(problem).
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._converge.module import run
from ..module_utils._kernel.dkms.options import DKMS_SPEC
from ..module_utils._kernel.dkms.tasks import module_task


def main() -> None:
    module = AnsibleModule(argument_spec=DKMS_SPEC, supports_check_mode=True)
    run(module, module_task)


if __name__ == "__main__":
    main()
