# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is asked of the module, each mistake in a sentence."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.options import DKMS_SPEC
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.parameters import wanted_module
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.model import Loading
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.versions import is_newer, newest


def declared(**given: Any) -> dict[str, Any]:
    return {**{name: option.get("default") for name, option in DKMS_SPEC.items()}, "name": "toy", **given}


def test_what_was_given_is_wanted() -> None:
    want = wanted_module(
        declared(
            kernels=["running", "6.1.0-47-amd64", "running"], load={"now": True, "parameters": {"a": True, "b": 7}}
        )
    )
    assert want.kernels == ("running", "6.1.0-47-amd64")
    assert want.loading == Loading(True, False, {"a": "Y", "b": "7"})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "../toy"}, "no name of a module"),
        ({"version": "1 0"}, "no version"),
        ({"kernels": []}, "kernels is empty"),
        ({"kernels": ["../.."]}, "no kernel release"),
        ({"jobs": 0}, "jobs is 0"),
        ({"load": {"now": True}, "state": "built"}, "load needs state=installed"),
        ({"hook": True, "state": "built"}, "hook needs state=installed"),
        ({"load": {"parameters": {"a b": 1}}}, "no name of a module's parameter"),
        ({"load": {"parameters": {"a": 'x"y'}}}, "quote or a line break"),
        ({"state": "absent", "source": {"directory": "/x"}}, "source makes no sense"),
        ({"state": "absent", "kernels": ["running"]}, "leave kernels out"),
    ],
)
def test_a_mistake_is_told_in_a_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        wanted_module(declared(**given))


def test_versions_are_in_the_order_that_people_mean() -> None:
    ordered = ["0.9", "1.0~rc1", "1.0", "1.0a", "1.0.1", "1.2", "1.10", "2"]
    for earlier, later in itertools.pairwise(ordered):
        assert is_newer(later, earlier), f"{later} is newer than {earlier}"
        assert not is_newer(earlier, later)
    assert newest(["6.1.0-9-amd64", "6.1.0-10-amd64"]) == "6.1.0-10-amd64"
    assert newest([]) == ""
