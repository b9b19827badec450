# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter lookup_table: puts several measurements of kernel_benchmark side by side."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils._kernel.benchmark.picture import BadFigures
from ..module_utils._kernel.benchmark.picture import lookup_table as drawn

DOCUMENTATION = r"""
name: lookup_table
author:
  - baremetal.fabric developers (@baremetal)
version_added: 0.1.0
short_description: Put several measurements of route lookups side by side
description:
  - Draws a table from what several tasks, or a loop, of M(baremetal.fabric.kernel_benchmark) returned, with a bar for
    the median of what a lookup itself takes.
positional: _input
options:
  _input:
    description:
      - What the module returned each time.
    type: list
    elements: dict
    required: true
  width:
    description: How many columns the longest bar takes.
    type: int
    default: 40
seealso:
  - module: baremetal.fabric.kernel_benchmark
"""

EXAMPLES = r"""
- name: Lookups are timed in tables of several sizes
  baremetal.fabric.kernel_benchmark:
    routes: "{{ item }}"
  become: true
  loop: [1, 1000, 1000000]
  register: sweep

- name: They are put side by side
  ansible.builtin.debug:
    msg: "{{ (sweep.results | baremetal.fabric.lookup_table).splitlines() }}"
"""

RETURN = r"""
_value:
  description: The table, several lines. All figures are nanoseconds.
  type: str
"""


def lookup_table(results: t.Any, width: t.Any = 40) -> str:
    """Draw ``results``. Raises AnsibleFilterError for what is none."""
    if isinstance(results, (str, bytes, t.Mapping)) or not isinstance(results, t.Sequence):
        raise AnsibleFilterError("lookup_table needs a list of what kernel_benchmark returned.")
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise AnsibleFilterError(f"lookup_table needs a width of at least 1, not {width!r}.")
    try:
        return drawn(results, width)
    except BadFigures as error:
        raise AnsibleFilterError(f"lookup_table: {error}.") from error


class FilterModule:
    """Ansible's door to the filter."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {"lookup_table": lookup_table}
