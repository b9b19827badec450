# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of the modules to what the engine runs."""

from __future__ import annotations

import typing as t
from dataclasses import asdict, replace

from ..._converge.command import Runner
from ..._converge.module import Task
from .. import places
from ..formats.dkms_status import Status, statuses
from ..model import ABSENT, Host, NextBoot, Wanted
from ..observing import tree
from ..observing.boot import next_boot
from ..parameters import Parameters
from ..versions import newest
from .facts import broken_facts, facts, kernel_facts, next_boot_facts, warnings
from .observing import Given, observe_host, observe_signing
from .parameters import wanted_module
from .resource import PackageResource

TOOLS = {"dkms": "dkms", "bash": "bash", "modinfo": "kmod", "depmod": "kmod"}


def module_task(parameters: Parameters) -> Task[Host]:
    """Return the task of dkms_module. Raises Refusal for parameters that make no sense."""
    want = wanted_module(parameters)
    return Task(
        resource=lambda runner: PackageResource(want, runner),
        lock=places.LOCK,
        facts=facts,
        tools=TOOLS,
        wait_timeout=want.wait_seconds,
        warnings=warnings,
    )


def look_at_modules(parameters: Parameters, runner: Runner) -> dict[str, t.Any]:
    """Return what dkms_module_info tells."""
    boot = next_boot()
    said = statuses(runner.run((places.DKMS, "status"), accept=range(256)))
    names = [parameters["name"]] if parameters["name"] else tree.packages()
    return {
        "modules": [_told(name, boot, [each for each in said if each.name == name], runner) for name in names],
        "broken": broken_facts(tree.broken_trees()),
        "next_boot": {"kernel": boot.kernel or None, "told_by": boot.source or None},
        "signing": asdict(observe_signing(runner)),
    }


def _told(name: str, boot: NextBoot, said: t.Sequence[Status], runner: Runner) -> dict[str, t.Any]:
    host = _looked_at(name, runner)
    return {
        **facts(host)["module"],
        "kernels": kernel_facts(host),
        "next_boot": next_boot_facts(host, boot),
        "dkms_status": [
            {"version": each.version, "kernel": each.kernel or None, "state": each.state, "notes": list(each.notes)}
            for each in said
        ],
    }


def _looked_at(name: str, runner: Runner) -> Host:
    """Look at a package. The version that counts is the one that most recently came to be installed: the newest."""
    host = observe_host(Wanted(name, state=ABSENT), Given({}), runner)
    active = newest({kernel.active for kernel in host.kernels.values() if kernel.active})
    return replace(host, version=active or newest(host.trees))
