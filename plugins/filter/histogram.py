# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter histogram: draws how long lookups took."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils._kernel.benchmark.picture import BadFigures
from ..module_utils._kernel.benchmark.picture import histogram as drawn

DOCUMENTATION = r"""
name: histogram
author:
  - baremetal.fabric developers (@baremetal)
version_added: 0.1.0
short_description: Draw a histogram
description:
  - Draws a histogram of M(baremetal.fabric.kernel_benchmark), a line for each bucket, with the share of the bucket,
    the share of all values up to its end, and its count.
positional: _input
options:
  _input:
    description:
      - The buckets, each with C(from), C(to) and C(count), as in
        RV(baremetal.fabric.kernel_benchmark#module:histogram).
    type: list
    elements: dict
    required: true
  width:
    description: How many columns the share of all values takes.
    type: int
    default: 50
seealso:
  - module: baremetal.fabric.kernel_benchmark
"""

EXAMPLES = r"""
- name: The histogram is shown
  ansible.builtin.debug:
    msg: "{{ (buckets | baremetal.fabric.histogram(width=20)).splitlines() }}"
  vars:
    buckets:
      - {from: 100, to: 120, count: 300}
      - {from: 120, to: 140, count: 100}
      - {from: 140, to: 9000, count: 100}
  # "  ns │                    │ count  share    sum"
  # " 100 │▒▒▒▒▒▒▒▒▒▒▒▒        │   300  60.0%  60.0%"
  # " 120 │▒▒▒▒░░░░░░░░░░░░    │   100  20.0%  80.0%"
  # "140+ │▒▒▒▒░░░░░░░░░░░░░░░░│   100  20.0% 100.0%"
"""

RETURN = r"""
_value:
  description: The drawing, several lines.
  type: str
"""


def histogram(buckets: t.Any, width: t.Any = 50) -> str:
    """Draw ``buckets``. Raises AnsibleFilterError for what is no histogram."""
    if isinstance(buckets, (str, bytes, t.Mapping)) or not isinstance(buckets, t.Sequence) or not buckets:
        raise AnsibleFilterError("histogram needs a list of buckets, as kernel_benchmark returns in histogram.")
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise AnsibleFilterError(f"histogram needs a width of at least 1, not {width!r}.")
    try:
        return drawn(buckets, width)
    except BadFigures as error:
        raise AnsibleFilterError(f"histogram: {error}.") from error


class FilterModule:
    """Ansible's door to the filter."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {"histogram": histogram}
