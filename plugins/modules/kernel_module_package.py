#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_module_package
short_description: Build Debian packages of kernel modules, one for each kernel, from a source for DKMS
version_added: 0.1.0
description:
  - Builds C(NAME-modules-KERNEL), a package that has nothing but the modules for one kernel in it. A host that installs
    it needs neither a compiler nor headers nor DKMS.
  - The package depends on C(linux-image-KERNEL) or its unsigned twin, provides C(NAME-modules), conflicts with
    C(NAME-dkms), and has the list of modules made anew (C(depmod)) when it comes and when it goes.
  - What comes of it depends on the source, the kernel's headers, the versions of the tools and the options, and on
    nothing else. Two hosts on which these agree build the same bytes. Beside each package lies a C(.buildinfo) that
    names them; as long as they are the same, nothing is built.
  - Builds happen in a tree of their own and come to O(destination) when they are complete. A kernel that cannot be
    served does not keep the others from it; the run fails at its end, and says why.
  - A kernel that the C(dkms.conf) excludes (C(BUILD_EXCLUSIVE_*), C(OBSOLETE_BY)) is left out with a warning.
options:
  name:
    description:
      - The C(PACKAGE_NAME) of the C(dkms.conf). The package is called after it as Debian allows, so that C(acpi_call)
        becomes C(acpi-call-modules-KERNEL).
    type: str
    required: true
  version:
    description:
      - The C(PACKAGE_VERSION) of the C(dkms.conf).
      - By default that of O(source), or the only one that the host has.
    type: str
  source:
    description:
      - Where the source comes from, on the build host. Only its files count, not where it lies or how old they are.
      - By default C(/usr/src/NAME-VERSION), where packages of Debian whose name ends with C(-dkms) have it.
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
      - Releases as C(uname -r) prints them. V(installed) stands for all kernels that are installed on the build host,
        or whose headers are. V(running) is refused, as the kernel of a build host says nothing of others.
    type: list
    elements: str
    default: [installed]
  destination:
    description:
      - The directory on the build host that the packages come to. It is made where it is missing. Other files in it,
        older packages among them, are left alone.
    type: path
    required: true
  maintainer:
    description:
      - Who answers for the packages, as C(Name <address@domain>).
    type: str
    required: true
  revision:
    description:
      - The revision of the packages, which follows the version after a hyphen; the version of the kernel's headers
        follows after a C(+), so that a package for a kernel that was updated under the same release is newer. Raise it
        when the same version is built of something else, so that hosts which have the former package take the new one.
    type: str
    default: "1"
  source_date_epoch:
    description:
      - The date of all files in a package, and of its changelog, in seconds since 1970.
      - By default the day on which the kernel was released, as its headers tell.
    type: int
  signing:
    description:
      - The key that modules are signed with, after they are built and before they are compressed. By default they are
        not signed. The key of DKMS is never used.
    type: dict
    suboptions:
      key:
        description:
          - A private key in PEM, without a passphrase, on the build host. It is read by the kernel's C(sign-file), or
            by C(kmodsign), and by nothing else.
        type: path
        required: true
      certificate:
        description:
          - The certificate of the key, in DER or PEM.
        type: path
        required: true
  chroot:
    description:
      - A directory on the build host with a Debian system, such as C(debootstrap) makes it, in which everything is
        built, with the tools and headers that are installed there. O(source), O(destination) and O(signing) are
        outside of it.
      - By default the build host itself.
    type: path
  jobs:
    description:
      - How many kernels are built for side by side.
    type: int
    default: 1
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
  - a Debian system with dkms 3.0 or newer, a compiler and make, where the packages are built
  - the headers of each kernel (C(linux-headers-RELEASE)); a message names the package that is missing
  - root, and the right to make mount namespaces, which some containers lack
notes:
  - A run with nothing to do starts one C(bash), which reads the C(dkms.conf).
  - What is in C(/etc/dkms) of the build host is not heeded.
seealso:
  - module: baremetal.fabric.dkms_module
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: Packages of the camera loopback are there for every kernel that has headers
  baremetal.fabric.kernel_module_package:
    name: v4l2loopback
    destination: /srv/packages
    maintainer: Kernel Team <kernel@example.com>

- name: Signed packages of a driver of our own are there for two kernels, built in a clean system
  baremetal.fabric.kernel_module_package:
    name: i40e
    source:
      archive: /root/i40e-2.26.8-dkms.tar.gz
    kernels:
      - 6.12.107+deb13-amd64
      - 6.12.118+deb13-amd64
    jobs: 2
    chroot: /srv/trixie
    signing:
      key: /etc/ssl/private/modules.key
      certificate: /etc/ssl/certs/modules.der
    destination: /srv/packages
    maintainer: Kernel Team <kernel@example.com>
  register: built

- name: They are known by kernel
  ansible.builtin.debug:
    msg: "{{ item.kernel }}: {{ item.path }} {{ item.sha256 }}"
  loop: "{{ built.packages }}"
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
  description: The source that the packages are made of.
  returned: success
  type: dict
  contains:
    name:
      description: Its name.
      type: str
      returned: always
    version:
      description: Its version.
      type: str
      returned: always
    source_digest:
      description: The SHA-256 of its files, with their names and kinds.
      type: str
      returned: always
packages:
  description:
    - The packages, by the version of the kernel. In check mode, as the plan would leave them.
    - Also returned when the run failed for single kernels, with those for the others.
  returned: success, or failures for single kernels
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
      description: Its version, with the revision and the version of the kernel's headers.
      type: str
      returned: always
    architecture:
      description: Its architecture, as dpkg calls it.
      type: str
      returned: always
    path:
      description: Where it lies on the build host.
      type: str
      returned: always
    buildinfo:
      description: Where the file lies that says what it was built of.
      type: str
      returned: always
    sha256:
      description: The SHA-256 of the package; none in check mode when it would be built.
      type: str
      returned: always
    modules:
      description: The paths of the modules in it, on a host that has it installed.
      type: list
      elements: str
      returned: always
    signed:
      description: Whether the modules are signed.
      type: bool
      returned: always
excluded:
  description: The kernels that the source is not for, each with C(kernel) and C(reason).
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._converge.module import run
from ..module_utils._kernel.packaging.options import PACKAGE_SPEC
from ..module_utils._kernel.packaging.tasks import package_task


def main() -> None:
    module = AnsibleModule(argument_spec=PACKAGE_SPEC, supports_check_mode=True)
    run(module, package_task)


if __name__ == "__main__":
    main()
