"""A kernel is installed when no run is near: the hook builds for it, whatever DKMS's own does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.kernel.kernel_host import LOCK, STATE, TREE, KernelHost
from tests.integration.kernel.new_kernels import configured, headers_of, image_of, install, remove
from tests.integration.kernel.sources import NAME, Toy
from tests.integration.kernel.stage import every_release

HOOKS = (
    "/etc/kernel/postinst.d/baremetal-fabric-fabric-toy",
    "/etc/kernel/header_postinst.d/baremetal-fabric-fabric-toy",
)


@pytest.fixture
def with_one_kernel(builder: KernelHost) -> Iterator[KernelHost]:
    """A host that has only the older kernel; afterwards it has both again."""
    remove(builder, builder.newer)
    yield builder
    builder.sh(f"rm -rf {TREE}/lost")
    builder.start_over()
    builder.run("dpkg", "--configure", "-a", timeout=600)
    done = install(builder, image_of(builder.newer), headers_of(builder.newer))
    assert done.returncode == 0, done.stderr


def next_boot(builder: KernelHost) -> tuple[str, bool, str | None]:
    """What is told of our module in the kernel that boots next: the kernel, whether it is ready, why not."""
    (module,) = [each for each in builder.info()["modules"] if each["name"] == NAME]
    told = module["next_boot"]
    return told["kernel"], told["ready"], told["reason"]


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=6, title="A broken tree of another module: the hook builds ours for the new kernel"
)
@every_release
def test_a_new_kernel_gets_the_module_though_the_tree_of_another_is_broken(with_one_kernel: KernelHost) -> None:
    builder = with_one_kernel
    options = builder.toy(Toy(), hook=True)
    result = builder.quartet(**options)
    assert set(result.titles) > {f"Write {path}" for path in HOOKS}
    builder.sh(f"mkdir -p {TREE}/lost/1.0/build; ln -s /usr/src/lost-1.0 {TREE}/lost/1.0/source")
    done = install(builder, image_of(builder.newer), headers_of(builder.newer))
    assert f"{NAME}: 1.0 is in place for {builder.newer}." in done.stdout + done.stderr
    assert builder.is_in_place(builder.newer, "1.0")
    # What DKMS's own hook makes of it: 3.0 ends with 4 and has dpkg fail before there is an initramfs, 3.2 goes on.
    fails = builder.release == "bookworm"
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    assert configured(builder, image_of(builder.newer)) is not fails
    missing = f"/boot/initrd.img-{builder.newer} is missing; run 'update-initramfs -c -k {builder.newer}'"
    assert next_boot(builder) == (builder.newer, not fails, missing if fails else None)
    builder.done(name="lost", state="absent")
    builder.run("dpkg", "--configure", "-a", timeout=600)
    assert configured(builder, image_of(builder.newer))
    assert next_boot(builder) == (builder.newer, True, None)
    builder.at_rest(**options)
    # It goes when it is not wanted, and with the module.
    assert builder.quartet(**{**options, "hook": False}).titles == [f"Remove {path}" for path in HOOKS]
    builder.done(**options)
    builder.run("chmod", "-x", HOOKS[0])
    assert builder.done(**options).titles == [f"Write {HOOKS[0]}"]
    builder.quartet(name=NAME, state="absent")
    assert not any(builder.succeeds("test", "-e", path) for path in HOOKS)


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=6, title="The hook waits for headers, falls back to an older version, and never fails"
)
@every_release
def test_the_hook_takes_the_newest_version_that_builds_and_never_fails(with_one_kernel: KernelHost) -> None:
    builder = with_one_kernel
    # DKMS shall leave it alone, so that what happens is the hook's work.
    ours = 'AUTOINSTALL=""'
    builder.done(**builder.toy(Toy("1.0", more=ours)))
    builder.done(**builder.toy(Toy("2.0", fails_for=builder.newer, more=ours), hook=True))
    builder.done(**builder.toy(Toy("3.0", fails_for=builder.older, more=ours), state="present"))
    done = install(builder, image_of(builder.newer))
    assert done.returncode == 0
    assert f"once {headers_of(builder.newer)} is installed" in done.stdout + done.stderr
    assert builder.path(builder.newer) == ""
    done = install(builder, headers_of(builder.newer))
    assert done.returncode == 0
    # The newest that serves a kernel does not build; one that has never served any is not tried.
    said = done.stdout + done.stderr
    assert "#error fabric_toy is not made for this kernel" in said
    assert f"1.0 is in place for {builder.newer}." in said
    assert "3.0" not in said
    assert builder.is_in_place(builder.newer, "1.0")
    assert builder.is_in_place(builder.older, "2.0")
    assert "#error" in builder.read(f"{STATE}/kernel/logs/{NAME}-2.0-{builder.newer}.log")
    # Where a version is in place nothing is done, and nothing said.
    again = builder.host.run([HOOKS[0], builder.newer], check=False)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    # A run at the same time is waited for.
    builder.run("rm", builder.path(builder.newer))
    locked = f"flock {LOCK} sh -c 'touch /root/held; sleep 3; rm /root/held' & sleep 1; {HOOKS[1]} {builder.newer}"
    assert "is in place" in builder.sh(f"{locked} 2>&1; ! test -e /root/held", timeout=600)
    assert builder.is_in_place(builder.newer, "1.0")
