#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_firewall_info
short_description: Look at Docker's published ports, and at the policy that they obey
version_added: 0.1.0
description:
  - Tells each port that Docker publishes with the policy of M(baremetal.fabric.docker_firewall) that decides on it, and
    what is open that nobody decided on.
  - Asks Docker on its socket, the kernel for the table, and systemd for the units; changes nothing.
options:
  docker_socket:
    description:
      - Path of the socket on which Docker answers.
    type: path
    default: /run/docker.sock
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.info_module
  - baremetal.fabric.attributes.actiongroup_fabric
requirements:
  - nftables 1.0.6 or later (Debian package C(nftables))
  - systemd
seealso:
  - module: baremetal.fabric.docker_firewall
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: Published ports are looked at
  baremetal.fabric.docker_firewall_info:
  register: docker

- name: What nobody decided on is shown
  ansible.builtin.debug:
    var: docker.findings
"""

RETURN = r"""
picture:
  description: The policy as a person would write it down.
  returned: success
  type: str
findings:
  description: What somebody should know, one sentence each.
  returned: success
  type: list
  elements: str
firewall:
  description: The same as M(baremetal.fabric.docker_firewall) returns.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._converge.module import look
from ..module_utils._firewall.parameters import FIREWALL_INFO_SPEC, TOOLS
from ..module_utils._firewall.tasks import look_at_firewall


def main() -> None:
    module = AnsibleModule(argument_spec=FIREWALL_INFO_SPEC, supports_check_mode=True)
    look(module, look_at_firewall, TOOLS)


if __name__ == "__main__":
    main()
