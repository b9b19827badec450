# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Policies as users declare them, for tests."""

from __future__ import annotations

import typing as t

from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.model import Wanted
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.parameters import (
    FIREWALL_SPEC,
    wanted_firewall,
)


def policy(name: str = "web", ports: t.Sequence[t.Any] = (443,), **more: t.Any) -> dict[str, t.Any]:
    """A policy with the module's defaults."""
    options = FIREWALL_SPEC["policies"]["options"]
    given = {key: option.get("default") for key, option in options.items()}
    return {**given, "name": name, "ports": [str(port) for port in ports], **more}


def declared(*policies: dict[str, t.Any], **more: t.Any) -> Wanted:
    """What the module wants for these policies."""
    given = {key: option.get("default") for key, option in FIREWALL_SPEC.items()}
    return wanted_firewall({**given, "policies": list(policies), **more})


NETWORKS = st.sampled_from(
    ["192.0.2.0/24", "192.0.2.7", "198.51.100.0/25", "198.51.100.128/25", "0.0.0.0/0", "2001:db8::/32", "::/0"]
)


@st.composite
def policies(draw: st.DrawFn) -> list[dict[str, t.Any]]:
    """A few policies that do not contradict each other: each has a block of ports of its own."""
    found = []
    for number in range(draw(st.integers(0, 4))):
        first = 1000 * (number + 1)
        ports = [first, f"{first + 10}-{first + draw(st.integers(10, 20))}"]
        found.append(
            policy(
                f"p{number}",
                ports,
                protocol=draw(st.sampled_from(["tcp", "udp", "sctp"])),
                allow_from=draw(st.lists(NETWORKS, max_size=4)),
                log=draw(st.booleans()),
            )
        )
    return found


@st.composite
def wishes(draw: st.DrawFn) -> Wanted:
    """Any declaration that is not refused."""
    return declared(
        *draw(policies()),
        default=draw(st.sampled_from(["return", "drop"])),
        direct_access=draw(st.sampled_from(["return", "drop"])),
        cut_existing=draw(st.booleans()),
        backend=draw(st.sampled_from(["auto", "nftables", "docker_user"])),
        confirm_timeout=draw(st.sampled_from([0, 60])),
        state=draw(st.sampled_from(["present", "present", "present", "absent"])),
    )
