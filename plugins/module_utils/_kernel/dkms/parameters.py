# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of dkms_module to what is wanted, with every mistake told in one sentence."""

from __future__ import annotations

from ..._converge.converge import Refusal
from ..model import ABSENT, ALL_INSTALLED, INSTALLED, Wanted
from ..parameters import Parameters, checked_jobs, checked_kernels, checked_loading, checked_name, checked_version


def wanted_module(parameters: Parameters) -> Wanted:
    """Read the parameters of dkms_module. Raises :class:`Refusal`."""
    source = parameters["source"] or {}
    want = Wanted(
        name=checked_name(parameters["name"]),
        version=checked_version(parameters["version"] or ""),
        state=parameters["state"],
        directory=source.get("directory") or "",
        archive=source.get("archive") or "",
        kernels=checked_kernels(parameters["kernels"]),
        jobs=checked_jobs(parameters["jobs"]),
        loading=checked_loading(parameters["load"] or {}),
        replace_older=parameters["replace_older"],
        allow_downgrade=parameters["allow_downgrade"],
        hook=parameters["hook"],
        wait_seconds=float(parameters["wait_timeout"]),
    )
    _check(want)
    return want


def _check(want: Wanted) -> None:
    loads = want.loading.now or want.loading.persist or bool(want.loading.parameters)
    if loads and want.state != INSTALLED:
        raise Refusal(f"load needs state=installed; with state={want.state} there is nothing to load.")
    if want.hook and want.state != INSTALLED:
        raise Refusal(
            f"hook needs state=installed; with state={want.state} nothing is to be installed for new kernels."
        )
    if want.state != ABSENT:
        return
    if want.directory or want.archive:
        raise Refusal("source makes no sense with state=absent; leave it out.")
    if want.kernels != (ALL_INSTALLED,):
        raise Refusal("state=absent removes the module from all kernels; leave kernels out.")
