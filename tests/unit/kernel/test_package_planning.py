# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which packages are built, and why; and what comes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal, SetAside
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel import places
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.model import Conf, Part
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging import carrying
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.building import Made
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.carrying import Work, deliver
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.facts import draw, facts, warnings
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.model import (
    BuildHost,
    Found,
    Headers,
    Kernel,
    Key,
    Wanted,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.observing import _found
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.parameters import wanted_packages
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.planning import (
    hindrances,
    plan_packages,
    wanted_package,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.steps import BuildPackage, PackageStep
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.tasks import known

OLD, NEW = "6.12.107+deb13-amd64", "6.12.118+deb13-amd64"
HEADERS = Headers(
    "6.12.118-1",
    1787961600,
    "xz",
    "sha256",
    "/lib/modules/k/build/scripts/sign-file",
    "/usr/lib/modules",
    (("dkms", "3"),),
)
CONF = Conf("toy", "1.0", (Part("toy"), Part("toy_more")))
WANT = Wanted("toy", "/srv/packages", "Ada <ada@example.com>")
HOST = BuildHost(
    "toy",
    "1.0",
    "amd64",
    "x86_64",
    "d" * 64,
    "toy",
    "1.0",
    {each: Kernel(each, CONF, HEADERS) for each in (OLD, NEW)},
    frozenset({OLD, NEW}),
)


def with_kernel(host: BuildHost, kernel: Kernel) -> BuildHost:
    return replace(host, kernels={**host.kernels, kernel.release: kernel})


def finished(host: BuildHost = HOST, want: Wanted = WANT) -> BuildHost:
    """The host that a plan leads to."""
    for step in plan_packages(host, want):
        assert isinstance(step, PackageStep)
        host = step.after(host)
    return host


def builds(host: BuildHost, want: Wanted = WANT) -> list[BuildPackage]:
    return [step for step in plan_packages(host, want) if isinstance(step, BuildPackage)]


def test_each_kernel_gets_a_package_and_then_nothing_is_left() -> None:
    steps = builds(HOST)
    assert [step.kernel for step in steps] == [OLD, NEW]
    assert {step.reason for step in steps} == {"it is not there"}
    assert steps[0].package.modules == (
        f"/usr/lib/modules/{OLD}/updates/dkms/toy.ko.xz",
        f"/usr/lib/modules/{OLD}/updates/dkms/toy_more.ko.xz",
    )
    assert plan_packages(finished(), WANT) == ()


@pytest.mark.parametrize(
    ("host", "want", "reason"),
    [
        (replace(finished(), source_digest="e" * 64), WANT, "the source is another one"),
        (finished(), replace(WANT, maintainer="Grace <g@example.com>"), "its maintainer is another one"),
        (finished(), replace(WANT, epoch=7), "its date is another one"),
        (finished(), replace(WANT, key=Key("/k", "/c", "f" * 64)), "it is to be signed otherwise"),
        (finished(), replace(WANT, revision="2"), "it is not there"),
    ],
)
def test_what_a_package_is_made_of_decides_whether_it_is_built(host: BuildHost, want: Wanted, reason: str) -> None:
    assert {step.reason for step in builds(host, want)} == {reason}
    assert plan_packages(finished(host, want), want) == ()


def test_only_the_kernel_whose_headers_are_others_is_built_for() -> None:
    host = with_kernel(finished(), Kernel(NEW, CONF, replace(HEADERS, tools=(("dkms", "3"), ("gcc-14", "14.3")))))
    (step,) = builds(host)
    assert (step.kernel, step.reason) == (NEW, "the headers or the tools are others")


def test_damage_is_told_from_absence() -> None:
    host = finished()
    file = wanted_package(HOST, WANT, HOST.kernels[OLD]).file
    found = host.found[file]
    assert [step.reason for step in builds(replace(host, found={**host.found, file: replace(found, digest="x")}))] == [
        "it is not what was built"
    ]
    assert [step.reason for step in builds(replace(host, found={**host.found, file: Found(digest="x")}))] == [
        "nothing tells what it was built of"
    ]


def test_kernels_that_are_excluded_or_given_up_are_left_out() -> None:
    host = with_kernel(HOST, Kernel(OLD, replace(CONF, excluded="BUILD_EXCLUSIVE_ARCH is arm64"), HEADERS))
    assert [step.kernel for step in builds(host)] == [NEW]
    assert plan_packages(host, WANT, {NEW}) == ()
    told = facts(finished(host), WANT)
    assert told["excluded"] == [{"kernel": OLD, "reason": "BUILD_EXCLUSIVE_ARCH is arm64"}]
    assert [each["kernel"] for each in told["packages"]] == [NEW]
    assert facts(host, WANT)["packages"] == []
    assert "BUILD_EXCLUSIVE_ARCH" in " ".join(warnings(WANT, host, host))


@pytest.mark.parametrize(
    ("kernel", "want", "words"),
    [
        (Kernel(NEW, CONF), WANT, f"install the package linux-headers-{NEW}."),
        (Kernel(NEW, CONF), replace(WANT, root="/srv/clean"), f"linux-headers-{NEW} in /srv/clean."),
        (Kernel(NEW, replace(CONF, needs=("other",)), HEADERS), WANT, "built on other"),
        (Kernel(NEW, CONF, replace(HEADERS, released=None)), WANT, "set source_date_epoch"),
        (Kernel(NEW, CONF, replace(HEADERS, sign_tool="")), replace(WANT, key=Key("/k", "/c")), "sbsigntool"),
    ],
)
def test_what_cannot_be_built_is_known_before_and_does_not_stop_the_others(
    kernel: Kernel, want: Wanted, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    want = replace(want, destination=str(tmp_path))
    plan = plan_packages(with_kernel(HOST, kernel), want)
    (hindrance,) = hindrances(plan)
    assert words in hindrance
    monkeypatch.setattr(carrying, "build_package", lambda *_given: Made(b"package"))
    work = Work({}, Runner(), jobs=2)
    outcomes = []
    for step in plan:
        assert isinstance(step, PackageStep)
        try:
            work.carry_out(step, plan)
            outcomes.append("done")
        except SetAside as aside:
            outcomes.append(str(aside))
    assert outcomes == ["done", hindrance]


def test_a_date_that_is_given_needs_none_of_the_kernel() -> None:
    host = with_kernel(HOST, Kernel(NEW, CONF, replace(HEADERS, released=None)))
    assert hindrances(plan_packages(host, replace(WANT, epoch=7))) == ()


@pytest.mark.parametrize(
    ("host", "want", "words"),
    [
        (replace(HOST, installed=frozenset()), WANT, "No kernel is installed"),
        (replace(HOST, conf_name="game"), WANT, "that of game, not of toy"),
        (replace(HOST, version="2.0"), WANT, "version 1.0, not of 2.0"),
        (with_kernel(HOST, Kernel(OLD, Conf("toy", "1.0"), HEADERS)), WANT, "names no module"),
    ],
)
def test_what_does_not_fit_is_refused(host: BuildHost, want: Wanted, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        plan_packages(host, want)


def test_nothing_of_the_environment_reaches_a_build_and_the_key_is_never_named() -> None:
    want = replace(WANT, key=Key("/etc/ssl/private/secret.key", "/etc/ssl/modules.der", "f" * 64), root="/srv/clean")
    step = builds(HOST, want)[0]
    assert [argv[:4] for argv in step.commands] == [("chroot", "/srv/clean", "env", "-i")] * 4
    assert any(word == "SOURCE_DATE_EPOCH=1787961600" for word in step.build)
    assert not any("secret" in word for argv in step.commands for word in argv)
    assert "secret" not in step.package.inputs


def test_a_package_is_at_its_place_before_its_buildinfo_speaks_of_it(tmp_path: Path) -> None:
    want = replace(WANT, destination=str(tmp_path / "packages"))
    step = builds(HOST, want)[0]
    deliver(step, b"first")
    host = replace(HOST, found=_found(want, [OLD]))
    assert [each.kernel for each in builds(host, want)] == [NEW]
    told = facts(host, want)["packages"]
    assert [(each["kernel"], len(each["sha256"])) for each in told] == [(OLD, 64)]
    # Cut off between the two: the package is another one, and what lies beside it is of the former.
    (tmp_path / "packages" / step.package.file).write_bytes(b"second")
    host = replace(HOST, found=_found(want, [OLD]))
    assert [each.reason for each in builds(host, want)] == ["it is not what was built", "it is not there"]


def test_the_same_version_of_something_else_is_warned_of() -> None:
    before, changed = finished(), replace(finished(), source_digest="e" * 64)
    after = finished(changed)
    assert len([each for each in warnings(WANT, before, after) if "raise revision" in each]) == 2
    assert list(warnings(WANT, HOST, finished())) == []
    assert list(warnings(WANT, before, before)) == []


def test_the_picture_shows_what_packages_are_made_of() -> None:
    assert draw(HOST) == ""
    shown = draw(finished())
    assert f"toy-modules-{OLD}_1.0-1+6.12.118+1_amd64.deb\n" in shown
    assert f"  X-Source-Digest: {'d' * 64}" in shown
    file = wanted_package(HOST, WANT, HOST.kernels[OLD]).file
    assert draw(replace(HOST, found={file: Found(digest="x")})) == f"{file} is of unknown origin"


def given(**further: Any) -> dict[str, Any]:
    return {
        "name": "toy",
        "version": None,
        "source": None,
        "kernels": ["installed"],
        "destination": "/srv/packages",
        "maintainer": "Ada <ada@example.com>",
        "revision": "1",
        "source_date_epoch": None,
        "signing": None,
        "chroot": None,
        "jobs": 1,
        "wait_timeout": 600,
        **further,
    }


@pytest.mark.parametrize(
    ("further", "words"),
    [
        ({"kernels": ["running"]}, "says nothing of the hosts"),
        ({"kernels": []}, "kernels is empty"),
        ({"name": "a/b"}, "no name"),
        ({"maintainer": "root"}, "no maintainer"),
        ({"maintainer": "Ada <ada@example.com>\nEssential: yes"}, "no maintainer"),
        ({"revision": "1-2"}, "no revision"),
        ({"destination": "packages"}, "absolute"),
        ({"chroot": "clean"}, "absolute"),
        ({"source_date_epoch": -1}, "seconds since 1970"),
        ({"jobs": 0}, "jobs is 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(further: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        wanted_packages(given(**further))


def test_parameters_are_read() -> None:
    assert wanted_packages(given()) == WANT
    signing = {"key": "/k", "certificate": "/c"}
    want = wanted_packages(given(signing=signing, chroot="/srv/clean/", source={"directory": "/s", "archive": None}))
    assert (want.key, want.root, want.directory) == (Key("/k", "/c"), "/srv/clean", "/s")


def test_keys_and_roots_are_looked_at_before_anything_else(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("private")
    (tmp_path / "certificate").write_text("public")
    key = Key(str(tmp_path / "key"), str(tmp_path / "certificate"))
    found = known(replace(WANT, key=key)).key
    assert found is not None
    assert len(found.digest) == 64
    with pytest.raises(Refusal, match=r"signing\.key"):
        known(replace(WANT, key=replace(key, path="/nowhere")))
    with pytest.raises(Refusal, match="no directory"):
        known(replace(WANT, root=str(tmp_path / "nowhere")))
    assert known(replace(WANT, root="/")).root == ""


@pytest.mark.parametrize(
    ("made", "words"),
    [(Made(failure="it does not compile"), "it does not compile"), (Made(excluded="not for it"), "^$")],
)
def test_a_kernel_without_a_package_is_set_aside(
    made: Made, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(places, "STATE", str(tmp_path))
    monkeypatch.setattr(carrying, "build_package", lambda *_given: made)
    work = Work({}, Runner(), jobs=1)
    plan = plan_packages(HOST, WANT)
    step = plan[0]
    assert isinstance(step, PackageStep)
    with pytest.raises(SetAside, match=words):
        work.carry_out(step, plan)
    assert (OLD in work.failed, OLD in work.skipped) == (bool(made.failure), bool(made.excluded))
