# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host tells of its kernels before anything is installed on it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.baremetal.fabric.plugins.filter.host_kernels import host_kernels

OLD, NEW = "6.1.0-47-amd64", "6.1.0-57-amd64"
HOST = f"""\
running {OLD}
kernel {NEW}
kernel {OLD}
headers {OLD}
image {OLD}
image {NEW}
link /vmlinuz /boot/vmlinuz-{NEW}
package installed linux-image-amd64 6.1.174-1
package installed linux-image-{OLD} 6.1.164-1
package installed linux-image-{NEW} 6.1.174-1
package installed gcc 4:12.2.0-3
package config-files dkms 3.0.10-8
package not-installed xz-utils \n"""


def test_the_running_kernel_and_the_next_one_are_selected() -> None:
    told = host_kernels(HOST)
    assert (told["running"], told["next"], told["told_by"]) == (OLD, NEW, "/vmlinuz")
    assert told["selected"] == [OLD, NEW]


def test_what_is_missing_is_the_tools_headers_of_each_kernel_and_those_that_come_with_the_next() -> None:
    told = host_kernels(HOST)
    assert told["missing"] == ["dkms", "make", "xz-utils", f"linux-headers-{NEW}", "linux-headers-amd64"]
    assert told["packages"]["gcc"] == "4:12.2.0-3"
    # A kernel without a metapackage has no successors to wait for.
    alone = HOST.replace("package installed linux-image-amd64 6.1.174-1\n", "")
    assert "linux-headers-amd64" not in host_kernels(alone)["missing"]


def test_grub_goes_before_the_link() -> None:
    entry = f"grub menuentry 'Debian' {{\ngrub     linux /boot/vmlinuz-{OLD} root=/dev/sda1\ngrub }}\n"
    assert host_kernels(HOST + entry)["next"] == OLD
    assert host_kernels(HOST + entry)["selected"] == [OLD]
    through_link = entry.replace(f"/boot/vmlinuz-{OLD}", "/vmlinuz")
    assert host_kernels(HOST + through_link)["next"] == NEW


def test_the_kernel_of_another_host_is_not_selected() -> None:
    container = HOST.replace(f"running {OLD}", "running 6.18.5")
    assert host_kernels(container)["selected"] == [NEW]
    assert host_kernels("running 6.18.5\n")["selected"] == []


@pytest.mark.parametrize(
    ("words", "kernels"),
    [
        (["installed"], [OLD, NEW]),
        (["running"], [OLD]),
        (["running", "6.1.0-9-amd64"], ["6.1.0-9-amd64", OLD]),
    ],
)
def test_words_stand_for_kernels(words: list[str], kernels: list[str]) -> None:
    assert host_kernels(HOST, words)["selected"] == kernels


@pytest.mark.parametrize(("text", "kernels"), [("", []), ("sh: 1: not found", []), (HOST, "running"), (HOST, 7)])
def test_what_is_no_probe_is_said_to_be_none(text: Any, kernels: Any) -> None:
    with pytest.raises(AnsibleFilterError, match="host_kernels needs"):
        host_kernels(text, kernels)
