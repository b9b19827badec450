"""Packages that are built once: the same on every build host, installed where there is nothing to build with."""

from __future__ import annotations

import pytest

from tests.integration.kernel.package_host import PACKAGES, PackageHost, Packaging
from tests.integration.kernel.places import TOOLS
from tests.integration.kernel.sources import MODULE, NAME, Toy
from tests.integration.kernel.stage import (
    packaging_every_release,
    packaging_newest_release,
    packaging_newest_release_always,
)
from tests.integration.kernel.test_packages import fetched
from tests.integration.modules.result import Result

LINTIAN = ("lintian", "--profile", "debian", "--fail-on", "error,warning", "--allow-root")
CLEAN = "/srv/clean"
#: As an administrator makes it, from the mirror that the host itself has.
_DEBOOTSTRAP = """\
test -e /var/lib/apt/lists/lock || apt-get update -qq
apt-get install -qq debootstrap >/dev/null
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Codename: {release}' | head -n 1)
debootstrap --variant=minbase {release} {clean} $mirror >/dev/null
rm -rf {clean}/etc/apt/sources.list*
cp -a /etc/apt/sources.list* /etc/apt/apt.conf.d {clean}/etc/apt/
cp /etc/resolv.conf {clean}/etc/
chroot {clean} apt-get update -qq
"""
#: What would tell on a host that it can build.
BUILDERS = ("gcc", "cc", "make", "dkms", "ld", "strip")


def assert_clean(host: PackageHost, result: Result) -> None:
    """Lintian has neither errors nor warnings for the packages of a run."""
    done = host.host.run([*LINTIAN, *(each["path"] for each in result.values["packages"])], check=False, timeout=300)
    assert (done.stdout, done.returncode) == ("", 0)


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=2, title="Two build hosts make the same bytes, which lintian has nothing against"
)
@packaging_newest_release_always
def test_two_build_hosts_make_the_same_bytes(packaging: Packaging) -> None:
    one, other = packaging.one, packaging.other
    options = one.wanted(Toy(), jobs=2)
    result = one.quartet(**options)
    assert [each["kernel"] for each in result.values["packages"]] == list(one.kernels)
    # Elsewhere: another host name, an archive in place of a directory, settings of DKMS, and no kernel installed.
    other.run("mkdir", "-p", "/srv/elsewhere")
    other.put_archive(Toy(), "/srv/elsewhere/toy.tar.gz")
    other.host.put(b'MAKE[0]="false"\n', f"/etc/dkms/{NAME}.conf")
    try:
        again = other.done(
            **other.named(
                NAME, source={"archive": "/srv/elsewhere/toy.tar.gz"}, destination="/srv/elsewhere/built", jobs=2
            )
        )
    finally:
        other.run("rm", f"/etc/dkms/{NAME}.conf")
    for kernel in one.kernels:
        told, told_again = one.package_of(result, kernel), other.package_of(again, kernel)
        assert one.content(told) == other.content(told_again)
        assert one.module_in(told, "vermagic").split()[0] == kernel
        assert set(one.listing(told)) == {
            *told["modules"],
            f"/usr/share/doc/{told['package']}/copyright",
            f"/usr/share/doc/{told['package']}/changelog.Debian.gz",
        }
    assert_clean(other, again)
    # Nothing else has changed on the hosts: DKMS knows of nothing, and has made no key.
    assert one.dkms("status") == ""
    assert "/usr/src/fabric-toy" not in one.everything()
    assert not one.sh("ls -A /var/lib/baremetal.fabric/kernel/packages 2>/dev/null", check=False)


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=2, title="Installed without compiler, headers and DKMS; a purge leaves no trace")
@packaging_every_release
def test_a_package_is_installed_where_nothing_can_be_built(packaging: Packaging) -> None:
    one, target = packaging.one, packaging.target
    assert [program for program in BUILDERS if target.has(program)] == []
    assert "linux-headers" not in target.run("dpkg-query", "--show", "--showformat", "${Package}\n")
    result = one.done(**one.wanted(Toy()))
    for kernel in one.kernels:
        told = one.package_of(result, kernel)
        before, folders = target.modules_of(kernel), target.folders_of(kernel)
        assert target.modinfo(kernel, "filename", MODULE) == ""
        target.run("dpkg", "--install", target.take(one.content(told), told))
        assert target.modinfo(kernel, "filename", MODULE) == told["modules"][0].replace("/usr/lib", "/lib")
        assert target.modinfo(kernel, "vermagic", MODULE).split()[0] == kernel
        assert target.modinfo(kernel, "version", MODULE) == "1.0"
        # Lab hosts keep no documents.
        assert [
            each for each in target.run("dpkg", "--verify", told["package"]).splitlines() if "/doc/" not in each
        ] == []
        assert target.run("dpkg", "--audit") == ""
        target.run("dpkg", "--purge", told["package"])
        assert target.modules_of(kernel) == before
        assert target.folders_of(kernel) == folders
        assert told["package"] not in target.run("dpkg-query", "--show", "--showformat", "${Package}\n")


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=2, title="What DKMS has installed is not overwritten by a package")
@packaging_every_release
def test_a_package_does_not_take_a_file_from_dkms(packaging: Packaging) -> None:
    one = packaging.one
    result = one.done(**one.wanted(Toy()))
    told = one.package_of(result, one.newer)
    one.run("cp", "-r", one.put_source(Toy("0.9")), f"/usr/src/{NAME}-0.9")
    one.dkms("install", f"{NAME}/0.9", "-k", one.newer)
    before = one.digest(one.path(one.newer))
    done = one.host.run(["dpkg", "--install", told["path"]], check=False)
    assert done.returncode != 0
    assert "Remove it from DKMS first" in done.stderr
    assert one.digest(one.path(one.newer)) == before
    one.dkms("remove", f"{NAME}/0.9", "--all")
    one.run("dpkg", "--install", told["path"])
    assert one.modinfo(one.newer, "version") == "1.0"
    one.run("dpkg", "--purge", told["package"])
    assert one.path(one.newer) == ""


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=2, title="Modules are signed last, with the key that is given, and with no other"
)
@packaging_every_release
def test_modules_are_signed_with_the_key_that_is_given(packaging: Packaging) -> None:
    one, other = packaging.one, packaging.other
    kernels = [one.newer]
    one.sh(
        "openssl req -new -x509 -newkey rsa:2048 -nodes -days 36500 -subj '/CN=fabric test key' "
        "-outform DER -keyout /root/signing.key -out /root/signing.der 2>/dev/null"
    )
    for name in ("signing.key", "signing.der"):
        other.host.put(one.host.get(f"/root/{name}"), f"/root/{name}")
    signing = {"key": "/root/signing.key", "certificate": "/root/signing.der"}
    plain = one.done(**one.wanted(Toy(), kernels=kernels, destination=f"{PACKAGES}/plain"))
    assert one.module_in(one.package_of(plain, one.newer), "signer") == ""
    told = one.package_of(one.quartet(**one.wanted(Toy(), kernels=kernels, signing=signing)), one.newer)
    assert told["signed"]
    assert one.module_in(told, "signer") == "fabric test key"
    assert one.module_in(told, "sig_hashalgo") == "sha256"
    again = other.done(**other.wanted(Toy(), kernels=kernels, signing=signing))
    assert other.content(other.package_of(again, one.newer)) == one.content(told)
    # Another key is another package; one that does not fit its certificate makes none, and says so.
    one.sh("openssl genrsa -out /root/signing.key 2048 2>/dev/null")
    one.at_rest(**one.wanted(Toy(), kernels=kernels, signing=signing))
    refused = one.refused(**one.wanted(Toy(), kernels=kernels, signing=signing, revision="2"))
    assert "no package could be made" in refused.message
    assert "/root/signing.key" not in refused.message


def pattern_of(kernel: str) -> str:
    """A pattern of bash that only one kernel matches."""
    return kernel.replace(".", "\\.").replace("+", "\\+")


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=3, title="A kernel that gets no package does not stop the others, and says why")
@packaging_every_release
def test_kernels_that_get_no_package_do_not_stop_the_others(packaging: Packaging) -> None:
    one = packaging.one
    refused = one.refused(**one.wanted(Toy(fails_for=one.newer), jobs=2))
    assert "fabric_toy.c:7:2: error: #error fabric_toy is not made for this kernel" in refused.message
    assert len(refused.values["failures"]) == 1
    assert one.succeeds("test", "-s", f"/var/lib/baremetal.fabric/kernel/logs/{NAME}-1.0-{one.newer}.package.log")
    assert sorted(each.rsplit(".", 1)[1] for each in one.run("ls", PACKAGES).split()) == ["buildinfo", "deb"]
    only = one.done(**one.wanted(Toy(fails_for=one.newer), kernels=[one.older]))
    assert (only.changed, only.titles) == (False, [])
    # Excluded: left out with a reason.
    excluding = one.wanted(Toy("2.0", more=f'BUILD_EXCLUSIVE_KERNEL="^{pattern_of(one.older)}$"'))
    result = one.quartet(**excluding)
    (excluded,) = result.values["excluded"]
    assert excluded["kernel"] == one.newer
    assert excluded["reason"].startswith("BUILD_EXCLUSIVE_KERNEL is")
    assert one.newer in str(result.values["warnings"])
    # Without headers, and for a kernel of which there is nothing at all.
    nowhere = "6.1.0-1-amd64"
    anywhere = one.wanted(Toy("3.0"), kernels=[one.older, nowhere])
    assert f"linux-headers-{nowhere}" in one.attempt(check=True, **anywhere).message
    assert f"linux-headers-{nowhere}" in one.refused(**anywhere).message
    one.at_rest(**{**anywhere, "kernels": [one.older]})


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=4, title="A package that was damaged, or is of something else, is built anew")
@packaging_every_release
def test_packages_that_are_not_what_they_should_be_are_built_anew(packaging: Packaging) -> None:
    one = packaging.one
    options = one.wanted(Toy(), kernels=[one.newer])
    told = one.package_of(one.done(**options), one.newer)
    one.sh(f"printf x >> {told['path']}")
    repaired = one.quartet(**options)
    assert repaired.values["plan"][0]["reason"] == "it is not what was built"
    assert one.package_of(repaired, one.newer)["sha256"] == told["sha256"]
    one.run("rm", told["buildinfo"])
    assert one.package_of(one.quartet(**options), one.newer)["sha256"] == told["sha256"]
    changed = one.wanted(Toy(says="steady"), kernels=[one.newer])
    result = one.done(**changed)
    assert result.values["plan"][0]["reason"] == "the source is another one"
    assert "raise revision" in str(result.values["warnings"])
    assert one.package_of(result, one.newer)["sha256"] != told["sha256"]
    raised = one.done(**{**changed, "revision": "2"})
    assert one.package_of(raised, one.newer)["version"].startswith("1.0-2+")
    assert "warnings" not in raised.values
    one.at_rest(**{**changed, "revision": "2"})


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=5, title="A build of packages, killed at every moment: run again, same bytes")
@packaging_every_release
def test_a_chain_of_killed_builds_comes_to_the_same_bytes(packaging: Packaging) -> None:
    one = packaging.one
    options = one.wanted(Toy(), kernels=[one.newer])
    seen, most, kills = "/root/package-cuts", 60, 0
    one.run("rm", "-f", seen)
    cut = {"seen": seen, "calls": ("rename",), "pattern": "begins|done|ran|rename|in place|through"}
    while (result := one.attempt(**options, cut=cut)).killed:
        kills += 1
        assert kills < most
        # What lies there under a name that apt takes for a package is one.
        one.sh(f"for each in {PACKAGES}/*.deb; do [ ! -e $each ] || dpkg-deb --contents $each >/dev/null; done")
    assert not result.failed, result.message
    print(f"{one.release}: killed at {kills} moments")
    assert kills >= len(("begins", "dkms", "md5sum", "dpkg-deb", "in place", "in place", "done"))
    one.at_rest(**options)
    chained = one.everything()
    assert ".new" not in chained
    assert "/kernel/packages/" not in chained
    assert not one.succeeds("grep", "-q", "baremetal", "/proc/mounts")
    one.start_over()
    one.done(**one.wanted(Toy(), kernels=[one.newer]))
    assert one.everything() == chained


@pytest.mark.slow
@pytest.mark.proof(area="kernel", line=2, title="Built in a clean system below a directory: the same bytes again")
@packaging_newest_release
def test_a_clean_system_below_a_directory_makes_the_same_bytes(packaging: Packaging) -> None:
    one = packaging.one
    options = one.wanted(Toy(), kernels=[one.newer])
    told = one.package_of(one.done(**options), one.newer)
    one.sh(_DEBOOTSTRAP.format(release=one.release, clean=CLEAN), timeout=900)
    before = one.attempt(**{**options, "chroot": CLEAN})
    assert "DKMS is not installed in /srv/clean" in before.message
    tools = " ".join((*TOOLS, f"linux-headers-{one.newer}"))
    one.sh(f"chroot {CLEAN} apt-get install -qq {tools} >/dev/null", timeout=900)
    clean = {**options, "chroot": CLEAN, "destination": f"{PACKAGES}/clean"}
    again = one.package_of(one.quartet(**clean), one.newer)
    assert one.content(again) == one.content(told)
    assert "linux-headers-6.1.0-1-amd64 in /srv/clean" in one.refused(**{**clean, "kernels": ["6.1.0-1-amd64"]}).message
    # Nothing is left in it: no mount, no tree, no key.
    assert CLEAN not in one.run("cat", "/proc/mounts")
    assert one.run("chroot", CLEAN, "dkms", "status") == ""
    assert one.sh(f"ls -A {CLEAN}/var/lib/dkms {CLEAN}/proc") == one.sh(
        f"echo {CLEAN}/proc:; echo; echo {CLEAN}/var/lib/dkms:"
    )
    one.run("rm", "-r", CLEAN)


@pytest.mark.slow
@pytest.mark.proof(
    area="kernel", line=2, title="Debian's own sources become packages, which lintian has nothing against"
)
@pytest.mark.parametrize("package", ["acpi-call-dkms", "ddcci-dkms", "v4l2loopback-dkms"])
@packaging_every_release
def test_sources_of_debian_become_packages(packaging: Packaging, package: str) -> None:
    other = packaging.other
    name, _version = fetched(other, package)
    result = other.done(**other.named(name))
    for kernel in other.kernels:
        told = other.package_of(result, kernel)
        assert told["package"] == f"{package.removesuffix('-dkms')}-modules-{kernel}"
        assert other.field_of(told, "Conflicts") == package
        assert other.module_in(told, "vermagic").split()[0] == kernel
    assert_clean(other, result)
    other.at_rest(**other.named(name))
