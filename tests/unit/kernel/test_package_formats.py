# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What packages of kernel modules consist of, and what is read before they are built."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.observing.sources import Entry
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging import buildinfo, kernel_headers
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.control import (
    changelog,
    control,
    scripts,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.copyright import (
    copyright_file,
    notices,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.dpkg_status import installed, tools
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.files import packed
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.model import Package
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.names import (
    debian_name,
    package_name,
    package_version,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.root import text_within, within

KERNEL = "6.12.107+deb13-amd64"
MAINTAINER = "Kernel Team <kernel@example.com>"
PACKAGE = Package("acpi-call-modules-" + KERNEL, "1.2.2-1", "amd64", KERNEL, (), "", 1788000000)


def fields_of(text: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in text.splitlines() if re.match(r"[A-Z][A-Za-z-]*: ", line))


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("acpi_call", "acpi-call"),
        ("v4l2loopback", "v4l2loopback"),
        ("My_Driver", "my-driver"),
        ("g++tool", "g++tool"),
        ("_x_", "x-module"),
    ],
)
def test_names_become_those_of_debian(name: str, safe: str) -> None:
    assert debian_name(name) == safe


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,40}", fullmatch=True))
def test_every_name_that_dkms_takes_becomes_one_that_debian_takes(name: str) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", package_name(name, KERNEL))


def test_a_kernels_release_stays_as_it_is_in_the_name() -> None:
    assert package_name("acpi_call", KERNEL) == f"acpi-call-modules-{KERNEL}"


@given(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.+:~-]{0,40}", fullmatch=True))
def test_every_version_becomes_one_that_debian_takes(version: str) -> None:
    assert re.fullmatch(r"\d[A-Za-z0-9.+~]*-1\+6\.12\.118\+1", package_version(version, "1", "1:6.12.118-1"))


def test_versions_keep_what_debian_takes() -> None:
    assert package_version("2.26.8", "3", "6.12.118-1~bpo12+1") == "2.26.8-3+6.12.118+1~bpo12+1"
    assert package_version("v1.0-rc1", "1", "") == "0+v1.0.rc1-1"


def test_control_depends_on_the_kernel_or_its_twin_and_excludes_the_package_that_builds() -> None:
    text = control(PACKAGE, "acpi_call", "1.2.2", MAINTAINER, ["acpi_call.ko.xz"], 40)
    fields = fields_of(text)
    assert fields["Depends"] == f"kmod, linux-image-{KERNEL} | linux-image-{KERNEL}-unsigned"
    assert fields["Provides"] == "acpi-call-modules (= 1.2.2-1)"
    assert fields["Conflicts"] == "acpi-call-dkms"
    assert fields["Architecture"] == "amd64"
    assert text.endswith("\n")
    assert all(len(line) <= 79 for line in text.splitlines() if line.startswith(" "))


def test_the_changelog_has_the_date_of_the_package_in_universal_time() -> None:
    text = changelog(PACKAGE, "acpi_call", "1.2.2", MAINTAINER)
    assert text.startswith("acpi-call (1.2.2-1) unstable; urgency=medium\n")
    assert text.endswith(f"\n -- {MAINTAINER}  Sat, 29 Aug 2026 10:40:00 +0000\n")


def test_scripts_are_for_one_kernel_and_leave_an_absent_one_alone() -> None:
    for name, text in scripts("acpi_call", KERNEL, "x86_64").items():
        assert text.startswith("#!/bin/sh\nset -e\n"), name
        if name != "preinst":
            assert f'depmod -a "{KERNEL}"' in text
            assert f'[ -e "/lib/modules/{KERNEL}/modules.builtin" ]' in text


def test_text_is_packed_without_name_and_time() -> None:
    content = packed("text\n")
    assert gzip.decompress(content) == b"text\n"
    assert content[3] == 0  # no name
    assert content[4:8] == bytes(4)  # no time
    assert content[8] == 2  # the best compression, as lintian wants it


def test_copyright_has_the_notices_of_the_source_and_the_text_of_its_licence() -> None:
    files = {
        "a.c": Entry(b"/*\n * Copyright (c) 2020-2024 Ada  <ada@example.com> */\n"),
        "b.c": Entry("// Copyright © 2019 Grace\n// Copyright (c) 2020-2024 Ada <ada@example.com>\n".encode()),
    }
    assert notices(files) == ["Copyright (c) 2020-2024 Ada <ada@example.com>", "Copyright © 2019 Grace"]
    text = copyright_file("toy", "1.0", files, ["GPL", "Dual MIT/GPL"], 2026)
    assert "License: Expat or GPL-2+, GPL-2+" in text
    assert "/usr/share/common-licenses/GPL-2." in text
    assert "Copyright (as of 2026) by the authors of toy" in copyright_file("toy", "1.0", {}, ["Proprietary"], 2026)


def test_packages_that_are_not_installed_any_more_are_not_counted() -> None:
    status = (
        "Package: gcc-14\nStatus: install ok installed\nArchitecture: amd64\nVersion: 14.2.0-19\n\n"
        "Package: gcc-13\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 13.3.0-1\n\n"
        "Package: dkms\nStatus: hold ok installed\nArchitecture: all\nVersion: 3.2.2-1\n"
    )
    assert {name: each.version for name, each in installed(status).items()} == {
        "gcc-14": "14.2.0-19",
        "dkms": "3.2.2-1",
    }


@pytest.mark.parametrize(
    ("compiler", "counted"),
    [
        ("x86_64-linux-gnu-gcc-14", {"gcc-14", "cpp-14", "gcc-14-base"}),
        ("gcc", {"gcc-14", "cpp-14", "gcc-14-base", "gcc-13", "gcc-140"}),
        ("gcc-140", {"gcc-140"}),
    ],
)
def test_the_tools_are_those_that_the_kernel_was_built_with(compiler: str, counted: set[str]) -> None:
    names = (
        "gcc-14",
        "cpp-14",
        "gcc-14-base",
        "gcc-13",
        "gcc-140",
        "dkms",
        "binutils-common",
        "bash",
        "linux-headers-x",
    )
    status = "\n\n".join(f"Package: {each}\nStatus: install ok installed\nVersion: 1" for each in names)
    found = tools(installed(status), compiler, {"linux-headers-x"})
    assert set(found) == {*counted, "dkms", "binutils-common", "linux-headers-x"}


def test_headers_tell_when_the_kernel_was_released_and_how_its_modules_are() -> None:
    header = '#define UTS_VERSION "#1 SMP PREEMPT_DYNAMIC Debian 6.12.107-1 (2026-08-29)"\n'
    assert kernel_headers.released(header) == 1787961600
    assert kernel_headers.released('#define UTS_VERSION "#1 SMP Mon Jan 1 10:00:00 UTC 2024"\n') is None
    config = kernel_headers.settings(
        "CONFIG_MODULE_COMPRESS=y\nCONFIG_MODULE_COMPRESS_XZ=y\n"
        'CONFIG_CC_VERSION_TEXT="x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0"\n'
    )
    assert kernel_headers.compression(config) == "xz"
    assert kernel_headers.compression({"CONFIG_MODULE_COMPRESS_NONE": "y"}) == ""
    assert kernel_headers.compiler(config) == "x86_64-linux-gnu-gcc-14"


def inputs(**further: str) -> str:
    words = {"X-Source-Digest": "a" * 64, "X-Maintainer": MAINTAINER, "X-Signed-By": "nobody", **further}
    return buildinfo.inputs_of(
        "toy", "toy-modules-1", "1.0-1", "amd64", "/build", {"gcc-14": "14.2.0"}, {"TZ": "UTC"}, words
    )


def test_a_buildinfo_is_read_as_it_was_written() -> None:
    digest = "b" * 64
    text = buildinfo.buildinfo(inputs(), digest, 12, "toy.deb")
    found = buildinfo.read(text, digest)
    assert (found.inputs, found.promised, found.intact) == (inputs(), digest, True)
    assert not buildinfo.read(text, "c" * 64).intact
    assert not buildinfo.read(inputs(), digest).intact
    assert not buildinfo.read("", digest).intact


def test_what_differs_is_said_in_words() -> None:
    assert buildinfo.difference(inputs(), inputs()) == ""
    assert buildinfo.difference(inputs(), inputs(**{"X-Source-Digest": "c" * 64})) == "the source is another one"
    other = inputs().replace("14.2.0", "14.3.0").replace("X-Signed-By: nobody", "X-Signed-By: somebody")
    assert (
        buildinfo.difference(inputs(), other) == "the headers or the tools are others, and it is to be signed otherwise"
    )
    assert "another way" in buildinfo.difference(inputs(), inputs().replace("X-Recipe: ", "X-Recipe: 0"))


def test_links_below_a_root_lead_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "usr/lib/modules/k").mkdir(parents=True)
    (tmp_path / "usr/src/headers-k").mkdir(parents=True)
    (tmp_path / "usr/src/headers-k/version").write_text("7\n")
    (tmp_path / "lib").symlink_to("usr/lib")
    (tmp_path / "usr/lib/modules/k/build").symlink_to("/usr/src/headers-k")
    (tmp_path / "usr/lib/modules/k/source").symlink_to("../../../../../../../usr/src/headers-k")
    root = str(tmp_path)
    assert within(root, "/lib/modules/k/build") == f"{root}/usr/src/headers-k"
    assert within(root, "/lib/modules/k/source") == f"{root}/usr/src/headers-k"
    assert text_within(root, "/lib/modules/k/build/version") == "7\n"
    assert text_within(root, "/nowhere") == ""
    assert within("", "/") == "/"
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(OSError, match=os.strerror(40)):
        within(root, "/circle")
