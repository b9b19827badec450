# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What nft lists, read back; and what is loaded again of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import ObservationFailed
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.applying.apply import loadable
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.formats.nft_json import parse_table
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.observing.observe import group_path


def listing(*objects: dict[str, Any]) -> str:
    return json.dumps({"nftables": [{"metainfo": {"version": "1.1.3"}}, *objects]})


def rule(right: str, **more: Any) -> dict[str, Any]:
    match = {"match": {"op": "==", "left": {"socket": {"key": "cgroupv2"}}, "right": right}}
    return {"rule": {"chain": "served", "handle": 7, "expr": [match, {"drop": None}], **more}}


CHAIN: dict[str, Any] = {"chain": {"name": "served", "handle": 1}}


def test_a_rule_is_known_by_its_comment() -> None:
    table = parse_table(listing(CHAIN, rule("system.slice/docker.service", comment="served [1]")))
    assert table.chains["served"].rules == ("served [1]",)


def test_a_rule_without_one_is_somebody_else() -> None:
    assert parse_table(listing(CHAIN, rule("system.slice/x.service"))).chains["served"].rules == ("rule 7 of somebody",)


def test_a_group_that_is_gone_is_told() -> None:
    """nft 1.0.6 and 1.1.3 list the number that the group had."""
    table = parse_table(listing(CHAIN, rule("103005", comment="served [1]")))
    assert table.chains["served"].rules == ("served [1] of a group that is gone",)


def test_elements_have_the_words_of_nft() -> None:
    elements = ["192.0.2.1", {"prefix": {"addr": "10.0.0.0", "len": 24}}, {"range": ["10.1.0.0", "10.1.0.9"]}]
    ports = [[{"concat": ["2001:db8::1", {"range": [1, 9]}]}, {"goto": {"target": "policy_web"}}]]
    table = parse_table(
        listing(
            {"set": {"name": "s", "type": "ipv4_addr", "flags": ["interval"], "elem": elements}},
            {"map": {"name": "m", "type": ["ipv6_addr", "inet_service"], "map": "verdict", "elem": ports}},
        )
    )
    assert table.sets["s"].elements == {"192.0.2.1", "10.0.0.0/24", "10.1.0.0-10.1.0.9"}
    assert table.sets["m"].elements == {"2001:db8::1 . 1-9 : goto policy_web"}
    assert table.sets["m"].key == "ipv6_addr . inet_service"


@pytest.mark.parametrize("text", ["", "{}", '{"nftables": [{"rule": {}}]}'])
def test_what_is_no_listing_is_told(text: str) -> None:
    with pytest.raises(ObservationFailed, match="was not understood"):
        parse_table(text)


def test_what_is_loaded_again_names_no_group_that_is_gone() -> None:
    lines = [
        "chain served {\n",
        '  socket cgroupv2 level 2 "system.slice/docker.service" counter drop\n',
        "  ct state new,untracked socket cgroupv2 level 2 103005 counter drop\n",
        "}\n",
    ]
    assert loadable("".join(lines)) == "".join((*lines[:2], lines[3]))


@pytest.mark.parametrize(
    ("slice_unit", "path"),
    [
        ("system.slice", "/system.slice/docker.service"),
        ("work-web.slice", "/work.slice/work-web.slice/docker.service"),
        ("-.slice", "/docker.service"),
    ],
)
def test_slices_lie_in_each_other(slice_unit: str, path: str) -> None:
    assert group_path(slice_unit, "docker.service") == path
