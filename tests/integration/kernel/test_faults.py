"""What goes wrong on hosts: each ends right, or is refused with a reason."""

from __future__ import annotations

import pytest

from tests.integration.kernel.kernel_host import STATE, TREE, KernelHost
from tests.integration.kernel.sources import MODULE, NAME, Toy
from tests.integration.kernel.stage import every_release


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=3, title="A source that does not compile for one of two kernels")
@every_release
def test_a_kernel_that_does_not_build_keeps_its_old_version(builder: KernelHost) -> None:
    builder.done(**builder.toy(Toy("1.0")))
    before = builder.digest(builder.path(builder.newer))
    broken = builder.toy(Toy("2.0", fails_for=builder.newer), replace_older=True)
    for _turn in range(2):
        result = builder.refused(**broken)
        assert "fabric_toy.c:7:2: error: #error fabric_toy is not made for this kernel" in result.message
        assert len(result.values["failures"]) == 1
        assert builder.newer in result.values["failures"][0]
        assert builder.is_in_place(builder.older, "2.0")
        assert builder.is_in_place(builder.newer, "1.0")
        assert builder.digest(builder.path(builder.newer)) == before
    assert builder.succeeds("test", "-s", f"{STATE}/kernel/logs/{NAME}-2.0-{builder.newer}.log")
    assert f"/kernel/build/{NAME}" not in builder.everything()
    (module,) = builder.info(NAME)["modules"]
    installed = {each["kernel"]: each["installed"] for each in module["kernels"]}
    assert (installed[builder.older], installed[builder.newer]) == ("2.0", "1.0")


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=4, title="A deleted file, an overwritten one, a link that lies, an add too many")
@every_release
def test_what_was_done_to_installed_files_is_repaired(builder: KernelHost) -> None:
    options = builder.toy(Toy())
    builder.done(**options)
    builder.run("rm", builder.path(builder.older))
    builder.sh(f"echo garbage > {builder.path(builder.newer)}")
    (module,) = builder.info(NAME)["modules"]
    problems = {each["kernel"]: each["problems"] for each in module["kernels"]}
    assert problems[builder.older] == [f"the file of {MODULE} is gone"]
    assert problems[builder.newer][0].endswith("is not what was built")
    result = builder.quartet(**options)
    assert [title.split()[0] for title in result.titles] == ["Install", "Install"]
    assert all(builder.is_in_place(kernel, "1.0") for kernel in builder.kernels)
    assert "original" not in builder.everything()
    # The link of another build, and none at all.
    builder.run("rm", f"{TREE}/{NAME}/kernel-{builder.older}-x86_64")
    builder.done(**options)
    assert builder.is_in_place(builder.older, "1.0")
    # DKMS refuses to add what it has; for us there is nothing to do.
    assert not builder.succeeds("dkms", "add", "-m", NAME, "-v", "1.0")
    builder.at_rest(**options)


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=4, title="A broken tree, and a stale directory, of another module do not stop ours"
)
@every_release
def test_broken_trees_of_others_are_told_and_do_not_stop_ours(builder: KernelHost) -> None:
    builder.sh(f"mkdir -p {TREE}/lost/1.0/build {TREE}/stale/2.0; ln -s /usr/src/lost-1.0 {TREE}/lost/1.0/source")
    options = builder.toy(Toy(), kernels=[builder.newer])
    result = builder.done(**options)
    assert builder.is_in_place(builder.newer, "1.0")
    assert [each["module"] for each in result.values["broken"]] == ["lost/1.0", "stale/2.0"]
    assert [each["module"] for each in builder.info()["broken"]] == ["lost/1.0", "stale/2.0"]
    assert "lost/1.0" in str(result.values["warnings"])
    builder.at_rest(**options)
    # Our own, when its source goes: refused, healed with the source, and removed without it.
    builder.sh(f"rm -rf /usr/src/{NAME}-1.0")
    refused = builder.refused(name=NAME, version="1.0", kernels=[builder.newer])
    assert "tree is broken" in refused.message
    healed = builder.done(**options)
    assert healed.titles[0] == f"Write /usr/src/{NAME}-1.0"
    builder.at_rest(**options)
    builder.sh(f"rm -rf /usr/src/{NAME}-1.0")
    builder.done(name=NAME, state="absent")
    assert NAME not in builder.everything()
    assert builder.path(builder.newer) == ""
    builder.done(name="lost", state="absent")
    builder.done(name="stale", state="absent")
    assert builder.info()["broken"] == []


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=4, title="A downgrade is refused, or done when it is allowed; DKMS's is found out"
)
@every_release
def test_a_downgrade_is_refused_and_a_false_one_is_found_out(builder: KernelHost) -> None:
    only = {"kernels": [builder.older]}
    builder.done(**builder.toy(Toy("1.0"), **only))
    older = builder.toy(Toy("0.9"), **only)
    refused = builder.refused(**older)
    assert "1.0 is installed" in refused.message
    assert "allow_downgrade" in refused.message
    # DKMS by hand: 3.0 says that 0.9 is installed, and has left 1.0 in its place; 3.2 refuses.
    builder.done(**older, state="built")
    done = builder.host.run(["dkms", "install", f"{NAME}/0.9", "-k", builder.older], check=False, timeout=300)
    assert builder.modinfo(builder.older, "version") == "1.0"
    if builder.release == "bookworm":
        assert done.returncode == 0
        assert f"{NAME}/0.9, {builder.older}, x86_64: installed" in builder.dkms("status")
        (module,) = builder.info(NAME)["modules"]
        told = next(each for each in module["kernels"] if each["kernel"] == builder.older)
        assert (told["installed"], told["in_place"]) == ("0.9", False)
        assert told["problems"]
    else:
        assert done.returncode == 6
    assert "1.0 is installed" in builder.refused(**older).message
    builder.quartet(**older, allow_downgrade=True)
    assert builder.is_in_place(builder.older, "0.9")
    assert builder.modinfo(builder.older, "version") == "0.9"


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=4, title="A kernel that is excluded is skipped; missing headers name their package"
)
@every_release
def test_kernels_that_cannot_be_built_for_are_told_apart(builder: KernelHost) -> None:
    pattern = builder.older.replace(".", "\\.").replace("+", "\\+")
    excluding = builder.toy(Toy(more=f'BUILD_EXCLUSIVE_KERNEL="^{pattern}$"'))
    result = builder.quartet(**excluding)
    assert f"Build {NAME}/1.0 for {builder.newer}" not in result.titles
    assert builder.kernel_of(result, builder.newer)["skipped"].startswith("BUILD_EXCLUSIVE_KERNEL is")
    assert builder.newer in str(result.values["warnings"])
    assert builder.is_in_place(builder.older, "1.0")
    # Without headers.
    builder.sh(f"mv /lib/modules/{builder.newer}/build /root/build")
    try:
        anywhere = builder.toy(Toy("2.0"))
        told = builder.attempt(check=True, **anywhere)
        assert told.failed
        assert f"linux-headers-{builder.newer}" in told.message
        refused = builder.refused(**anywhere)
        assert f"linux-headers-{builder.newer}" in refused.message
        assert builder.is_in_place(builder.older, "2.0")
    finally:
        builder.sh(f"mv /root/build /lib/modules/{builder.newer}/build")
    builder.done(**anywhere)
    assert builder.is_in_place(builder.newer, "2.0")
    # A kernel that is not there, and a running one that is another's.
    assert "is not installed" in builder.refused(**{**anywhere, "kernels": ["6.1.0-1-amd64"]}).message
    assert "builds for others" in builder.refused(**{**anywhere, "kernels": ["running"]}).message
