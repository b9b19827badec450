# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What every module says about itself: can it foretell, can it show, and is a second run quiet."""

from __future__ import annotations


class ModuleDocFragment:
    """Attributes that modules of this collection declare."""

    # Each module states its support itself.
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description:
      - Can run in check mode, and then returns what a real run would do, without touching the host.
  diff_mode:
    description:
      - Can return how the host looks before and after, in the words that a person would use to describe it.
  idempotent:
    description:
      - A run that meets a host as it was declared changes nothing, and says so.
"""

    # For modules that observe, plan, apply and prove.
    CONVERGING = r"""
options: {}
attributes:
  check_mode:
    support: full
    description:
      - Can run in check mode, and then returns the whole plan, also for steps that build on each other.
  diff_mode:
    support: full
    description:
      - Can return how the host looks before and after, in the words that a person would use to describe it.
  idempotent:
    support: full
    description:
      - A run that meets a host as it was declared changes nothing, and says so.
      - After applying a plan, the module looks at the host again, and fails if anything is left to do.
"""

    # For modules that only look.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    description:
      - Can run in check mode, and does there what it always does, as it changes nothing.
  diff_mode:
    support: N/A
    description:
      - Can return how the host looks before and after, in the words that a person would use to describe it.
    details:
      - The module changes nothing.
  idempotent:
    support: full
    description:
      - A run that meets a host as it was declared changes nothing, and says so.
    details:
      - The module changes nothing.
"""

    # For modules that module_defaults reaches as group/baremetal.fabric.fabric.
    ACTIONGROUP_FABRIC = r"""
options: {}
attributes:
  action_group:
    description:
      - Use C(group/baremetal.fabric.fabric) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - baremetal.fabric.fabric
"""
