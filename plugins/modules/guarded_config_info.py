#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: guarded_config_info
short_description: Look at the sets of files that guarded_config has put in place
version_added: 0.1.0
description:
  - Tells the sets of M(baremetal.fabric.guarded_config) that are kept on the host, which one is in place, when it was
    verified, what somebody else has changed since, and whether a run was cut off.
  - Reads files only; starts no process, and shows no content.
options:
  name:
    description:
      - Name of a set. By default all of them are told.
    type: str
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.info_module
  - baremetal.fabric.attributes.actiongroup_fabric
seealso:
  - module: baremetal.fabric.guarded_config
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: What runs, and since when, is looked at
  baremetal.fabric.guarded_config_info:
  register: config

- name: Nobody has edited the files of HAProxy by hand
  baremetal.fabric.guarded_config_info:
    name: haproxy
  register: haproxy
  failed_when: haproxy.sets[0].drift | length > 0
"""

RETURN = r"""
sets:
  description: The sets, by name.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
      returned: always
    generation:
      description: The number of the set that is in place, or none.
      type: int
      returned: always
    verified:
      description: When it was verified, in UTC, or none for files that were found on the host.
      type: str
      returned: always
    previous:
      description: The number of the set that C(state=previous) would go back to, or none.
      type: int
      returned: always
    kept:
      description: The numbers of all sets that are kept.
      type: list
      elements: int
      returned: always
    drift:
      description: Files that somebody else has changed or removed since they were verified.
      type: list
      elements: str
      returned: always
    unfinished:
      description: What is known of a run that was cut off, or none.
      type: str
      returned: always
    generations:
      description: The sets that are kept, the newest first.
      type: list
      elements: dict
      returned: always
      contains:
        generation:
          description: Its number.
          type: int
          returned: always
        current:
          description: Whether it is in place.
          type: bool
          returned: always
        verified:
          description: When it was verified, in UTC, or none for files that were found on the host.
          type: str
          returned: always
        previous:
          description: The number of the set that it replaced, or none.
          type: int
          returned: always
        files:
          description: Its files, each with C(path), C(sha256) (none if secret), C(uid), C(gid), C(mode) and C(no_log).
          type: list
          elements: dict
          returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._config.options import CONFIG_INFO_SPEC
from ..module_utils._config.tasks import look_at_sets
from ..module_utils._converge.module import look


def main() -> None:
    module = AnsibleModule(argument_spec=CONFIG_INFO_SPEC, supports_check_mode=True)
    look(module, look_at_sets, {})


if __name__ == "__main__":
    main()
