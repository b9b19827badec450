"""Plans for hosts that install binary packages: made of values, without a host."""

# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.deploying.facts import draw, facts, warnings
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.deploying.model import (
    Installed,
    Module,
    Package,
    Target,
    Wanted,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.deploying.parameters import wanted_binary
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.deploying.planning import plan_binary
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.deploying.steps import (
    BinaryStep,
    InstallPackages,
    LoadModule,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.loading import HEADER
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.model import ABSENT, Loaded, Loading, NextBoot

OLD, NEW, OTHER = "6.12.1-amd64", "6.12.2-amd64", "6.12.3-amd64"


def package(kernel: str = NEW, version: str = "1.0-1") -> Package:
    name = f"toy-modules-{kernel}"
    path = f"/usr/lib/modules/{kernel}/updates/dkms/toy.ko.xz"
    return Package(name, version, "amd64", kernel, (path,), f"/debs/{name}_{version}_amd64.deb")


BOTH = Wanted("toy", packages=(package(OLD), package(NEW)), kernels=("running", "next"))
BARE = Target("toy", running=OLD, next_boot=NextBoot(NEW, "/boot/grub/grub.cfg"), kernels=frozenset({OLD, NEW}))


def end(host: Target, want: Wanted) -> Target:
    """The host after its plan, of which nothing is left then."""
    for step in plan_binary(host, want):
        assert isinstance(step, BinaryStep)
        host = step.after(host)
    assert not plan_binary(host, want)
    return host


DONE = end(BARE, BOTH)


def titles(host: Target, want: Wanted) -> list[str]:
    return [step.title for step in plan_binary(host, want)]


def test_packages_for_the_kernels_that_run_and_boot_next_are_installed_in_one_go() -> None:
    (step,) = plan_binary(BARE, BOTH)
    assert isinstance(step, InstallPackages)
    assert [each.kernel for each in step.packages] == [OLD, NEW]
    (argv,) = step.commands
    assert argv[-2:] == (package(OLD).path, package(NEW).path)
    assert "--allow-downgrades" not in argv
    assert step.reason == f"{OLD}: it is not installed; {NEW}: it is not installed"


def test_packages_for_other_kernels_are_left_out() -> None:
    want = replace(BOTH, packages=(*BOTH.packages, package(OTHER)))
    (step,) = plan_binary(BARE, want)
    assert isinstance(step, InstallPackages)
    assert [each.kernel for each in step.packages] == [OLD, NEW]


@pytest.mark.parametrize(
    ("host", "change", "words"),
    [
        (
            BARE,
            {"packages": (package(OLD),)},
            f"no package of toy for {NEW}, which boots next here .* Nothing was changed",
        ),
        (BARE, {"packages": (package(NEW),)}, f"no package of toy for {OLD}, which runs here. Nothing was changed"),
        (BARE, {"kernels": (OTHER,), "packages": (package(OTHER),)}, f"{OTHER} is not installed here"),
        (replace(BARE, kernels=frozenset()), {}, "No kernel is installed that runs or boots next"),
        (
            replace(DONE, newer=frozenset({package(NEW).name})),
            {"packages": (package(OLD), package(NEW, "0.9-1"))},
            "newer",
        ),
    ],
)
def test_a_host_is_refused_before_it_is_touched(host: Target, change: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        plan_binary(host, replace(BOTH, **change))


def test_a_downgrade_is_made_when_it_is_allowed() -> None:
    host = replace(DONE, newer=frozenset({package(NEW).name}))
    want = replace(BOTH, packages=(package(OLD), package(NEW, "0.9-1")), allow_downgrade=True)
    (step,) = plan_binary(host, want)
    assert "--allow-downgrades" in step.commands[0]
    assert isinstance(step, InstallPackages)
    assert step.former == ((package(NEW).name, package(NEW).path),)


@pytest.mark.parametrize(
    ("there", "found", "reason"),
    [
        (Installed("1.0-1", (package().modules[0],)), None, f"{package().modules[0]} is not what was installed"),
        (Installed("1.0-1"), {}, f"modinfo -k {NEW} does not find toy"),
        (Installed("1.0-1"), {"toy": Module("/elsewhere/toy.ko")}, "finds /elsewhere/toy.ko before"),
        (Installed("0.9-1"), None, "0.9-1 is installed"),
    ],
)
def test_what_is_not_in_place_is_installed_again(
    there: Installed, found: dict[str, Module] | None, reason: str
) -> None:
    host = replace(DONE, installed={**DONE.installed, package().name: there})
    host = host if found is None else replace(host, found={**host.found, NEW: found})
    (step,) = plan_binary(host, BOTH)
    assert reason in step.reason
    assert isinstance(step, InstallPackages)
    assert [each.kernel for each in step.packages] == [NEW]


def test_a_module_is_loaded_at_boot_and_now_with_its_parameters() -> None:
    want = replace(BOTH, loading=Loading(True, True, {"debug": "1"}))
    assert titles(BARE, want)[1:] == [
        "Write /etc/modprobe.d/toy.conf",
        "Write /etc/modules-load.d/toy.conf",
        "Load toy",
    ]
    host = end(BARE, want)
    assert host.files["/etc/modprobe.d/toy.conf"] == f"{HEADER}options toy debug=1\n"
    assert host.loaded["toy"].parameters == {"debug": "1"}


def test_a_former_build_is_replaced_in_the_kernel_and_comes_back_when_the_new_one_fails() -> None:
    want = replace(BOTH, packages=(package(OLD, "2.0-1"), package(NEW, "2.0-1")), loading=Loading(True))
    host = replace(DONE, loaded={"toy": Loaded("AAAA")})
    *_install, load = plan_binary(host, want)
    assert isinstance(load, LoadModule)
    assert (load.again, load.former) == (True, package(OLD).path)


def test_what_is_loaded_already_is_left_alone() -> None:
    want = replace(BOTH, loading=Loading(True))
    found = {**DONE.found, OLD: {"toy": Module(package(OLD).modules[0], "AAAA")}}
    host = replace(DONE, loaded={"toy": Loaded("AAAA")}, found=found)
    assert titles(host, want) == []
    other = replace(host, loaded={"toy": Loaded("BBBB")})
    assert titles(other, want) == ["Reload toy"]


def test_a_file_of_somebody_else_is_not_overwritten() -> None:
    host = replace(DONE, files={"/etc/modules-load.d/toy.conf": "toy\n"})
    with pytest.raises(Refusal, match="was written by somebody else"):
        plan_binary(host, replace(BOTH, loading=Loading(persist=True)))


def test_absent_purges_what_is_installed_for_whatever_kernel_and_what_loads_it() -> None:
    ours = {"/etc/modules-load.d/toy.conf": f"{HEADER}toy\n", "/etc/modprobe.d/toy.conf": "options toy debug=1\n"}
    host = replace(DONE, files=ours, loaded={"toy": Loaded("AAAA")})
    want = Wanted("toy", ABSENT)
    assert titles(host, want) == [
        f"Purge toy-modules-{OLD}, toy-modules-{NEW}",
        "Remove /etc/modules-load.d/toy.conf",
    ]
    after = end(host, want)
    assert list(warnings(host, after)) == ["toy is still loaded, until it is unloaded or the host reboots."]


def test_facts_and_picture_tell_what_is_in_place() -> None:
    told = facts(DONE, BOTH)
    assert [(each["kernel"], each["in_place"], each["loaded"]) for each in told["packages"]] == [
        (OLD, True, False),
        (NEW, True, None),
    ]
    assert draw(DONE).splitlines()[0] == f"toy-modules-{OLD} 1.0-1"


GIVEN: dict[str, Any] = {
    "package": package().name,
    "version": "1.0-1",
    "architecture": "amd64",
    "kernel": NEW,
    "modules": list(package().modules),
    "path": "/builder/toy.deb",
    "sha256": None,
}


def parameters(**changes: Any) -> dict[str, Any]:
    one = {**GIVEN, **{key: value for key, value in changes.items() if key in GIVEN}}
    rest = {key: value for key, value in changes.items() if key not in GIVEN}
    return {
        "name": "toy",
        "state": "installed",
        "packages": [one],
        "directory": None,
        "kernels": ["running", "next"],
        "load": None,
        "allow_downgrade": False,
        "wait_timeout": 600,
        **rest,
    }


def test_packages_are_looked_for_where_they_were_copied_to() -> None:
    assert wanted_binary(parameters(directory="/debs/")).packages[0].path == "/debs/toy.deb"
    assert wanted_binary(parameters()).packages[0].path == "/builder/toy.deb"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"package": "bash"}, "no package of the modules of toy"),
        ({"package": "toy-modules-../x"}, "no package of the modules of toy"),
        ({"version": "-o=x"}, "none that dpkg knows"),
        ({"modules": ["/etc/passwd"]}, "not below /lib/modules"),
        ({"modules": []}, "not below /lib/modules"),
        ({"path": "toy.deb"}, "absolute"),
        ({"sha256": "12"}, "no SHA-256"),
        ({"kernel": "../x"}, "no kernel release"),
        ({"packages": []}, "packages is empty"),
        ({"packages": [GIVEN, GIVEN]}, f"several for {NEW}"),
        ({"state": "absent"}, "make no sense with state=absent"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        wanted_binary(parameters(**changes))
