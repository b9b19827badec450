# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""From the parameters of kernel_module_binary to what the engine runs."""

from __future__ import annotations

from ..._converge.module import Task
from .. import places
from ..parameters import Parameters
from .facts import facts, warnings
from .model import Target
from .parameters import wanted_binary
from .resource import Binary

_TOOLS = {"apt-get": "apt", "dpkg": "dpkg", "modinfo": "kmod", "modprobe": "kmod"}


def binary_task(parameters: Parameters) -> Task[Target]:
    """Return the task of kernel_module_binary. Raises Refusal for parameters that make no sense."""
    want = wanted_binary(parameters)
    return Task(
        resource=lambda runner: Binary(want, runner),
        lock=places.LOCK,
        facts=lambda host: facts(host, want),
        tools=_TOOLS,
        wait_timeout=want.wait_seconds,
        warnings=warnings,
    )
