# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From any host to what is wanted of it: the plan, and that nothing is left after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.plan import Plan
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel import places
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.facts import next_boot_facts
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.planning import plan_module
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.steps import KernelStep
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.loading import HEADER
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.model import (
    Build,
    Conf,
    File,
    Host,
    Kernel,
    Loaded,
    Loading,
    NextBoot,
    Part,
    Tree,
    Wanted,
)

OLD, NEW = "6.1.0-47-amd64", "6.1.0-57-amd64"
TOY = Part("toy")


def conf(version: str, **more: Any) -> Conf:
    return Conf("toy", version, (TOY,), **more)


def file(version: str, kernel: str, where: str = "built", srcversion: str = "") -> File:
    return File(
        f"/{where}/{kernel}/toy.ko", f"{version} {kernel}", srcversion=srcversion or version, vermagic=f"{kernel} SMP"
    )


def kernel(release: str, built: str = "", installed: str = "", active: str = "", **more: Any) -> Kernel:
    """A kernel; ``built`` are versions, ``installed`` is the one on the disk, ``active`` what DKMS says."""
    there = {"toy": file(installed, release, "installed")} if installed else {}
    versions = {"1.0": conf("1.0"), "2.0": conf("2.0")}
    builds = {version: Build({"toy": file(version, release)}) for version in built.split()}
    return Kernel(
        release, confs=versions, builds=builds, active=active or installed, found=there, installed=there, **more
    )


def host(*kernels: Kernel, **more: Any) -> Host:
    given_ = {"version": "1.0", "trees": {"1.0": Tree("/usr/src/toy-1.0")}, "sources": frozenset(["1.0"]), **more}
    return Host("toy", kernels={each.release: each for each in kernels}, installed=frozenset([OLD, NEW]), **given_)


def titles(plan: Plan) -> list[str]:
    return [step.title for step in plan]


def after(host_: Host, plan: Plan) -> Host:
    for step in plan:
        assert isinstance(step, KernelStep)
        host_ = step.after(host_)
    return host_


WANT = Wanted("toy")
BOTH_TREES: Mapping[str, Any] = {"trees": {"1.0": Tree("/a"), "2.0": Tree("/b")}, "sources": frozenset(["1.0", "2.0"])}


def test_every_kernel_is_built_before_the_first_is_installed() -> None:
    plan = plan_module(host(kernel(OLD), kernel(NEW)), WANT)
    assert titles(plan) == [
        f"Build toy/1.0 for {OLD}",
        f"Build toy/1.0 for {NEW}",
        f"Install toy/1.0 for {OLD}",
        f"Install toy/1.0 for {NEW}",
    ]


def test_what_is_in_place_is_left_alone() -> None:
    assert plan_module(host(kernel(OLD, "1.0", "1.0"), kernel(NEW, "1.0", "1.0")), WANT) == ()


def test_a_deleted_and_an_overwritten_file_are_installed_again() -> None:
    deleted = replace(kernel(OLD, "1.0", "1.0"), found={}, installed={})
    garbage = File("/installed/toy.ko", "garbage")
    overwritten = replace(kernel(NEW, "1.0", "1.0"), found={"toy": garbage}, installed={"toy": garbage})
    plan = plan_module(host(deleted, overwritten), WANT)
    assert titles(plan) == [f"Install toy/1.0 for {OLD}", f"Install toy/1.0 for {NEW}"]
    assert [step.reason for step in plan] == ["the file of toy is gone", "/installed/toy.ko is not what was built"]
    assert vars(plan[1])["damaged"] == ("/installed/toy.ko",)


def test_a_file_that_is_found_first_is_named() -> None:
    there = kernel(OLD, "1.0", "1.0")
    first = replace(there, found={"toy": File("/extra/toy.ko", "other")})
    plan = plan_module(host(first, kernel(NEW, "1.0", "1.0")), WANT)
    assert plan[0].reason == f"modinfo finds /extra/toy.ko before /installed/{OLD}/toy.ko"


def test_what_dkms_calls_installed_without_having_copied_it_is_seen_by_its_bytes() -> None:
    lying = kernel(OLD, "1.0 2.0", "2.0", active="1.0")
    here = host(lying, kernel(NEW, "1.0", "1.0"), **BOTH_TREES)
    with pytest.raises(Refusal, match=r"2\.0 is installed.*allow_downgrade"):
        plan_module(here, WANT)
    plan = plan_module(here, replace(WANT, allow_downgrade=True))
    assert titles(plan) == [f"Install toy/1.0 for {OLD}"]


def test_an_upgrade_names_what_is_put_back_and_removes_it_last() -> None:
    here = host(kernel(OLD, "1.0", "1.0"), kernel(NEW, "1.0", "1.0"), **{**BOTH_TREES, "version": "2.0"})
    plan = plan_module(here, replace(WANT, replace_older=True))
    assert titles(plan)[-1] == "Remove toy/1.0 from DKMS"
    assert [vars(step)["former"] for step in plan[2:4]] == ["1.0", "1.0"]
    failed = plan_module(here, replace(WANT, replace_older=True), {NEW})
    assert titles(failed) == [f"Build toy/2.0 for {OLD}", f"Install toy/2.0 for {OLD}"]


def test_a_version_that_a_kernel_uses_is_not_removed() -> None:
    elsewhere = kernel("6.1.0-10-amd64", "1.0", "1.0")
    here = host(kernel(OLD, "2.0", "2.0"), kernel(NEW, "2.0", "2.0"), elsewhere, **{**BOTH_TREES, "version": "2.0"})
    assert plan_module(here, replace(WANT, replace_older=True)) == ()


def test_a_kernel_that_is_excluded_is_left_out() -> None:
    excluded = replace(kernel(OLD), confs={"1.0": conf("1.0", excluded="BUILD_EXCLUSIVE_KERNEL is ^7")})
    assert plan_module(host(excluded, kernel(NEW, "1.0", "1.0")), WANT) == ()


def test_a_build_of_another_source_or_kernel_is_made_anew() -> None:
    stale = replace(kernel(OLD, "1.0", "1.0"), builds={"1.0": Build({"toy": file("1.0", OLD)}, stale=True)})
    foreign = replace(kernel(NEW, "1.0"), builds={"1.0": Build({"toy": file("1.0", OLD)})})
    plan = plan_module(host(stale, foreign), WANT)
    assert [step.reason for step in plan[:2]] == [
        "its source is another one now",
        f"/built/{OLD}/toy.ko is for another kernel",
    ]


@pytest.mark.parametrize(
    ("here", "want", "words"),
    [
        (host(), replace(WANT, kernels=("6.9",)), r"6\.9 is not installed.*linux-image-6\.9"),
        (host(running="6.18.5"), replace(WANT, kernels=("running",)), r"running kernel 6\.18\.5 has no"),
        (host(trees={}, sources=frozenset()), WANT, "no source of toy/1.0"),
        (host(trees={"1.0": Tree("/x", "/x is missing")}, sources=frozenset()), WANT, "broken: /x is missing"),
        (host(source_digest="a", wanted_digest="b"), WANT, "was not put there by dkms_module"),
        (host(kernel(OLD), kernel(NEW), version="3.0", sources=frozenset(["3.0"])), WANT, "names no module"),
        (
            host(replace(kernel(OLD), confs={"1.0": Conf("lime", "1.0", (TOY,))}), kernel(NEW)),
            WANT,
            "that of lime, not of toy",
        ),
        (
            host(kernel(OLD), kernel(NEW), running="6.18.5"),
            replace(WANT, loading=Loading(now=True)),
            "which is not among the kernels",
        ),
        (Host("toy", version="1.0", sources=frozenset(["1.0"])), WANT, "No kernel is installed"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(here: Host, want: Wanted, words: str) -> None:
    with pytest.raises(Refusal, match=words):
        plan_module(here, want)


# Loading


def loading_host(built: str = "1.0", **more: Any) -> Host:
    return host(kernel(OLD, built, built), kernel(NEW, "1.0", "1.0"), running=OLD, **more)


def test_a_module_is_loaded_with_its_parameters_and_at_boot() -> None:
    want = replace(WANT, loading=Loading(True, True, {"answer": "7", "words": "a b"}))
    plan = plan_module(loading_host(), want)
    assert titles(plan) == ["Write /etc/modprobe.d/toy.conf", "Write /etc/modules-load.d/toy.conf", "Load toy"]
    assert plan[2].commands == (("modprobe", "toy", "answer=7", "words=a b"),)
    ended = after(loading_host(), plan)
    assert ended.files["/etc/modprobe.d/toy.conf"] == f'{HEADER}options toy answer=7 words="a b"\n'
    assert plan_module(ended, want) == ()


@pytest.mark.parametrize(
    ("loaded", "reason"),
    [
        (Loaded("1.0", {"answer": "7", "quick": "Y"}), ""),
        (Loaded("1.0", {"answer": "0x7"}), ""),
        (Loaded("", {}), ""),
        (Loaded("0.9"), "srcversion 0.9 is loaded, 1.0 is installed"),
        (Loaded("1.0", {"answer": "42"}), "answer is 42"),
        (Loaded("1.0", {"quick": "N"}), "quick is N"),
    ],
)
def test_a_module_is_reloaded_only_when_another_one_is_loaded(loaded: Loaded, reason: str) -> None:
    parameters = {"answer": "7", "quick": "true"}
    files = {"/etc/modprobe.d/toy.conf": f"{HEADER}options toy answer=7 quick=true\n"}
    plan = plan_module(
        loading_host(loaded={"toy": loaded}, files=files), replace(WANT, loading=Loading(True, False, parameters))
    )
    assert [(step.title, step.reason) for step in plan] == ([("Reload toy", reason)] if reason else [])
    if reason:
        assert plan[0].commands[0] == ("modprobe", "-r", "toy")


def test_a_kernel_that_was_given_up_is_not_loaded_into() -> None:
    want = replace(WANT, loading=Loading(now=True))
    assert plan_module(loading_host(""), want, {OLD}) == ()


def test_a_file_of_somebody_else_is_not_overwritten() -> None:
    with pytest.raises(Refusal, match="was written by somebody else"):
        plan_module(
            loading_host(files={places.loading("toy"): "other\n"}), replace(WANT, loading=Loading(persist=True))
        )


# Removal


def test_everything_is_removed_also_what_is_broken() -> None:
    trees = {"1.0": Tree("/a"), "2.0": Tree("/b", "/b is missing")}
    files = {places.options("toy"): HEADER, places.loading("toy"): "theirs\n"}
    here = host(kernel(OLD, "1.0", "1.0"), trees=trees, ours=frozenset(["1.0"]), files=files)
    plan = plan_module(here, replace(WANT, state="absent"))
    assert titles(plan) == [
        "Remove toy/1.0 from DKMS",
        "Remove toy/2.0 from DKMS by hand, as its tree is broken",
        "Remove /usr/src/toy-1.0",
        "Remove /etc/modprobe.d/toy.conf",
    ]
    assert plan_module(after(here, plan), replace(WANT, state="absent")) == ()


# Any host


def test_a_kernel_without_its_initramfs_is_not_ready_whatever_is_in_place_for_it() -> None:
    here = host(kernel(NEW, "1.0", "1.0", "1.0"))
    assert next_boot_facts(here, NextBoot(NEW, "/vmlinuz"))["ready"]
    told = next_boot_facts(here, NextBoot(NEW, "/vmlinuz", f"/boot/initrd.img-{NEW}"))
    assert not told["ready"]
    assert told["reason"] == f"/boot/initrd.img-{NEW} is missing; run 'update-initramfs -c -k {NEW}'"


VERSIONS = ["", "1.0", "2.0", "1.0 2.0"]


@st.composite
def hosts(draw: st.DrawFn) -> Host:
    kernels = []
    for release in (OLD, NEW):
        here = kernel(
            release,
            draw(st.sampled_from(VERSIONS)),
            draw(st.sampled_from(["", "1.0", "2.0", "garbage"])),
            draw(st.sampled_from(["", "1.0", "2.0"])),
            headers=draw(st.booleans()),
        )
        if draw(st.booleans()):
            here = replace(here, builds={v: replace(each, stale=True) for v, each in here.builds.items()})
        kernels.append(here)
    trees = {version: Tree(f"/usr/src/toy-{version}") for version in draw(st.sets(st.sampled_from(["1.0", "2.0"])))}
    given_ = draw(st.booleans())
    return host(
        *kernels,
        version=draw(st.sampled_from(["1.0", "2.0"])),
        trees=trees,
        sources=frozenset(["1.0", "2.0"]),
        ours=frozenset(["1.0", "2.0"]),
        wanted_digest="given" if given_ else "",
        source_digest=draw(st.sampled_from(["given", "other"])) if given_ else "",
        leftovers=draw(st.sampled_from([(), ("/usr/src/.toy-1.0.fabric-new",)])),
    )


@given(hosts(), st.sampled_from(["present", "built", "installed", "absent"]), st.booleans())
def test_after_a_plan_nothing_is_left_to_do(here: Host, state: str, replaces: bool) -> None:
    want = replace(WANT, state=state, replace_older=replaces, allow_downgrade=True)
    plan = plan_module(here, want)
    ended = after(here, plan)
    assert plan_module(ended, want) == ()
    if state == "installed":
        assert all(each.is_in_place(here.version) for each in ended.kernels.values())


@given(hosts(), st.integers(0, 12))
def test_a_plan_that_is_cut_off_is_continued_to_the_same_end(here: Host, done: int) -> None:
    want = replace(WANT, replace_older=True, allow_downgrade=True)
    plan = plan_module(here, want)
    cut = after(here, Plan(plan[:done]))
    ended, continued = after(here, plan), after(cut, plan_module(cut, want))
    for release in (OLD, NEW):
        one, other = ended.kernels[release], continued.kernels[release]
        assert one.is_in_place(here.version)
        assert other.is_in_place(here.version)
    assert (ended.trees, ended.ours) == (continued.trees, continued.ours)


@given(hosts())
def test_a_kernel_that_is_given_up_is_never_touched(here: Host) -> None:
    plan = plan_module(here, replace(WANT, allow_downgrade=True, replace_older=True), {NEW})
    assert not [step for step in plan if getattr(step, "kernel", "") == NEW]
    assert not [step for step in plan if step.title.startswith("Remove toy/")]
