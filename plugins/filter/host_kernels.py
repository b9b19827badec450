# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter host_kernels: reads what the probe of the role kernel_module has printed on a host."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ..module_utils._kernel.probe import NoProbe, probe_of

DOCUMENTATION = r"""
name: host_kernels
author:
  - baremetal.fabric developers (@baremetal)
version_added: 0.1.0
short_description: Tell kernels and packages of a host from what a probe has printed
description:
  - Reads the lines that the probe of the role P(baremetal.fabric.kernel_module#role) prints on a host, and tells which
    kernel runs, which one boots next, and which packages are missing to build modules for them.
positional: _input
options:
  _input:
    description:
      - What the probe has printed. Each line is a word and what belongs to it, as C(running RELEASE),
        C(kernel RELEASE), C(headers RELEASE), C(image RELEASE), C(link PATH TARGET), C(grub LINE), C(grubenv LINE) and
        C(package STATUS NAME VERSION).
    type: str
    required: true
  kernels:
    description:
      - Releases, V(installed) or V(running). Without any, the running kernel and the one that boots next.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: A host tells of its kernels
  ansible.builtin.raw: echo "running $(uname -r)"; for kernel in /lib/modules/*; do echo "kernel ${kernel##*/}"; done
  register: probe
  changed_when: false

- name: The kernels of the host are known
  ansible.builtin.debug:
    msg: "{{ (probe.stdout | baremetal.fabric.host_kernels).selected }}"
"""

RETURN = r"""
_value:
  description:
    - C(running), C(next) and C(told_by) as releases and what tells of the latter; C(selected), the kernels that were
      asked for; C(missing), packages that are needed to build for them and not installed; C(packages), versions of
      packages that are installed, by name.
  type: dict
"""


def host_kernels(text: t.Any, kernels: t.Any = ()) -> dict[str, t.Any]:
    """Tell what ``text`` has. Raises AnsibleFilterError for what is no probe."""
    if isinstance(kernels, str) or not isinstance(kernels, t.Sequence):
        raise AnsibleFilterError(f"host_kernels needs a list of kernels, not {kernels!r}.")
    words = [str(each) for each in kernels]
    try:
        probe = probe_of(str(text))
    except NoProbe as error:
        raise AnsibleFilterError(f"host_kernels needs what a probe has printed: {error}.") from error
    return {
        "running": probe.running,
        "next": probe.next_boot.kernel,
        "told_by": probe.next_boot.source,
        "selected": list(probe.selected(words)),
        "missing": list(probe.missing(words)),
        "packages": dict(probe.packages),
    }


class FilterModule:
    """Ansible's door to the filter."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {"host_kernels": host_kernels}
