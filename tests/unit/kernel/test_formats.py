# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What DKMS, modinfo, make and GRUB print, of every version that is supported."""

from __future__ import annotations

import lzma
import os
import struct
import subprocess
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.formats import dkms_conf
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.formats.dkms_conf import Question
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.formats.dkms_status import Status, statuses
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.formats.grub import environment, next_kernel
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.formats.make_log import compiler_lines
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.formats.modinfo import blocks
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.formats.module_file import file_of
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.model import Part

X86 = "x86_64"


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("it87, 1.0, 5.10.0-8-amd64, x86_64: installed", Status("it87", "1.0", "5.10.0-8-amd64", X86, "installed")),
        ("it87, 1.0, 5.10.0-8-amd64 : installed", Status("it87", "1.0", "5.10.0-8-amd64", "", "installed")),
        ("it87, 1.0: added", Status("it87", "1.0", "", "", "added")),
        ("it87/1.0: added", Status("it87", "1.0", "", "", "added")),
        (
            "toy/1.0, 6.1.0-47-amd64, x86_64: installed (WARNING! Diff between built and installed module!)",
            Status(
                "toy",
                "1.0",
                "6.1.0-47-amd64",
                X86,
                "installed",
                ("WARNING! Diff between built and installed module!",),
            ),
        ),
        (
            "toy/1.0, 6.12.107+deb13-amd64, x86_64: installed (Original modules exist)"
            " (Differences between built and installed modules)",
            Status(
                "toy",
                "1.0",
                "6.12.107+deb13-amd64",
                X86,
                "installed",
                ("Original modules exist", "Differences between built and installed modules"),
            ),
        ),
        ("toy/1.0: broken", Status("toy", "1.0", "", "", "broken")),
    ],
)
def test_a_line_of_dkms_status_is_read_in_every_wording(line: str, status: Status) -> None:
    assert statuses(line + "\n") == (status,)


def test_glued_lines_come_apart_and_warnings_are_left_out() -> None:
    text = "toy/1.0: brokenother/2.0, 6.1.0-47-amd64, x86_64: built\nDeprecated feature: REMAKE_INITRD (/x/dkms.conf)\n"
    assert [(each.name, each.state) for each in statuses(text)] == [("toy", "broken"), ("other", "built")]


def test_modinfo_tells_modules_apart_and_their_first_fields_count() -> None:
    text = (
        "filename:       /lib/modules/6.1.0-47-amd64/updates/dkms/toy.ko\nversion:        1.0\nname:           toy\n"
        "parm:           answer:a number (int)\nname:           (builtin)\n"
        "filename:       /lib/modules/6.1.0-47-amd64/updates/dkms/other.ko.xz\nsrcversion:     ABC\n"
    )
    first, second = blocks(text)
    assert (first["version"], first["name"]) == ("1.0", "toy")
    assert (second["filename"], second["srcversion"]) == ("/lib/modules/6.1.0-47-amd64/updates/dkms/other.ko.xz", "ABC")


def test_the_compilers_lines_go_before_those_of_make() -> None:
    log = (
        "DKMS make.log for toy-1.0 for kernel 6.1.0-47-amd64 (x86_64)\n"
        "make[1]: Entering directory '/usr/src/linux-headers-6.1.0-47-amd64'\n"
        "toy.c:6:2: error: #error toy is not made for this kernel\n    6 | #error toy is not made for this kernel\n"
        "make[2]: *** [scripts/Makefile.build:250: toy.o] Error 1\n"
    )
    assert compiler_lines(log) == ["toy.c:6:2: error: #error toy is not made for this kernel"]
    assert compiler_lines("one\ntwo\nthree\nfour\n") == ["two", "three", "four"]
    assert compiler_lines("") == []


# dkms.conf


def evaluated(text: str, folder: Path, kernel: str = "6.12.107+deb13-amd64") -> dkms_conf.Variables:
    path = folder / "dkms.conf"
    path.write_text(text)
    command = dkms_conf.command([Question(), Question("toy", "1.0", kernel, X86, str(path))])
    done = subprocess.run(command, input=dkms_conf.SCRIPT, capture_output=True, text=True, check=True)
    _framework, variables = dkms_conf.answers(done.stdout)
    return variables


CONF = 'PACKAGE_NAME="toy"\nPACKAGE_VERSION="1.0"\nDEST_MODULE_LOCATION[0]="/updates/dkms"\n'


def test_a_conf_is_evaluated_as_the_script_that_it_is(tmp_path: Path) -> None:
    text = (
        CONF + 'BUILT_MODULE_NAME[0]="toy_a"\nDEST_MODULE_LOCATION[1]="/extra"\nDEST_MODULE_NAME[1]="toy_$(echo b)"\n'
        "case $kernelver in 6.12.*) BUILT_MODULE_NAME[2]=toy_c; DEST_MODULE_LOCATION[2]=/kernel ;; esac\n"
    )
    conf = dkms_conf.conf_of(evaluated(text, tmp_path), "6.12.107+deb13-amd64", X86)
    assert (conf.name, conf.version, conf.excluded) == ("toy", "1.0", "")
    assert conf.parts == (Part("toy_a"), Part("toy_b", "/extra"), Part("toy_c", "/kernel"))
    conf = dkms_conf.conf_of(evaluated(text, tmp_path, "6.1.0-47-amd64"), "6.1.0-47-amd64", X86)
    assert [part.name for part in conf.parts] == ["toy_a", "toy_b"]


def test_a_conf_without_a_name_of_its_module_builds_that_of_the_package(tmp_path: Path) -> None:
    assert dkms_conf.conf_of(evaluated(CONF, tmp_path), "6.1.0", X86).parts == (Part("toy"),)


def test_a_conf_that_prints_fails_and_ends_the_shell_is_read_up_to_there(tmp_path: Path) -> None:
    text = CONF + "echo lots of words\nfalse\nls /nowhere\nexit 3\nPACKAGE_NAME=never\n"
    assert dkms_conf.conf_of(evaluated(text, tmp_path), "6.1.0", X86).name == "toy"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('BUILD_EXCLUSIVE_KERNEL="^6\\.1\\."', "BUILD_EXCLUSIVE_KERNEL is ^6\\.1\\."),
        ('BUILD_EXCLUSIVE_KERNEL="^6\\.12"', ""),
        ('BUILD_EXCLUSIVE_KERNEL_MIN="6.13"', "BUILD_EXCLUSIVE_KERNEL_MIN is 6.13"),
        ('BUILD_EXCLUSIVE_KERNEL_MIN="6.12.107"', ""),
        ('BUILD_EXCLUSIVE_KERNEL_MAX="6.11"', "BUILD_EXCLUSIVE_KERNEL_MAX is 6.11"),
        ('OBSOLETE_BY="6.2"', "OBSOLETE_BY is 6.2"),
        ('BUILD_EXCLUSIVE_ARCH="aarch64"', "BUILD_EXCLUSIVE_ARCH is aarch64, not x86_64"),
        ('BUILD_EXCLUSIVE_ARCH="x86.*"', ""),
    ],
)
def test_a_kernel_that_a_conf_excludes_is_told_with_the_reason(tmp_path: Path, line: str, reason: str) -> None:
    kernel = "6.12.107+deb13-amd64"
    assert dkms_conf.conf_of(evaluated(f"{CONF}{line}\n", tmp_path), kernel, X86).excluded == reason


def test_a_version_is_read_without_bash_where_it_can_be() -> None:
    assert dkms_conf.plain_version('PACKAGE_VERSION="1.0-rc1"\n') == "1.0-rc1"
    assert dkms_conf.plain_version('PACKAGE_VERSION="$(cat VERSION)"\n') == ""
    assert dkms_conf.plain_version("if x; then\nPACKAGE_VERSION=1\nPACKAGE_VERSION=2\n") == ""


# Files


def elf(tags: bytes) -> bytes:
    """A file of 64 bits with the sections that matter."""
    names = b"\0.modinfo\0.shstrtab\0"
    table = 64 + len(tags) + len(names)
    header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    sections = [(0, 0, 0), (1, 64, len(tags)), (10, 64 + len(tags), len(names))]
    rows = b"".join(
        struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, start, size, 0, 0, 1, 0) for name, start, size in sections
    )
    return header + tags + names + rows


TAGS = b"version=1.0\0srcversion=ABCDEF\0vermagic=6.1.0-47-amd64 SMP preempt mod_unload \0parm=answer:a number\0"


def test_a_modules_file_tells_what_modinfo_would_also_when_it_is_compressed() -> None:
    plain = elf(TAGS)
    for content in (plain, lzma.compress(plain)):
        file = file_of("/x/toy.ko", content)
        assert (file.version, file.srcversion, file.vermagic.split()[0]) == ("1.0", "ABCDEF", "6.1.0-47-amd64")
        assert not file.signed
    assert file_of("/x/toy.ko", plain + b"key~Module signature appended~\n").signed


@pytest.mark.parametrize("content", [b"", b"garbage", b"\x7fELF" + bytes(70), elf(TAGS)[:150], b"\xfd7zXZ\0broken"])
def test_a_damaged_file_tells_nothing_but_its_digest(content: bytes) -> None:
    file = file_of("/x/toy.ko", content)
    assert (file.version, file.srcversion, file.vermagic) == ("", "", "")
    assert len(file.digest) == 64


# The next boot

GRUB = """
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
else
   set default="DEFAULT"
fi
function savedefault {
  if [ -z "${boot_once}" ]; then
    save_env saved_entry
  fi
}
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple-1' {
    linux    /boot/vmlinuz-6.1.0-57-amd64 root=UUID=1 ro quiet
    initrd    /boot/initrd.img-6.1.0-57-amd64
}
submenu 'Advanced options for Debian GNU/Linux' $menuentry_id_option 'gnulinux-advanced-1' {
    menuentry 'Debian GNU/Linux, with Linux 6.1.0-57-amd64' $menuentry_id_option 'gnulinux-57' {
        linux    /boot/vmlinuz-6.1.0-57-amd64 root=UUID=1 ro
    }
    menuentry 'Debian GNU/Linux, with Linux 6.1.0-47-amd64' $menuentry_id_option 'gnulinux-47' {
        linux    /boot/vmlinuz-6.1.0-47-amd64 root=UUID=1 ro
    }
}
"""


@pytest.mark.parametrize(
    ("default", "variables", "number"),
    [
        ("0", {}, "57"),
        ("1", {}, "57"),
        ("1>1", {}, "47"),
        ("gnulinux-advanced-1>gnulinux-47", {}, "47"),
        ("gnulinux-47", {}, "47"),
        ("Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux 6.1.0-47-amd64", {}, "47"),
        ("${saved_entry}", {"saved_entry": "gnulinux-advanced-1>gnulinux-47"}, "47"),
        ("${saved_entry}", {}, "57"),
        ("0", {"next_entry": "gnulinux-47"}, "47"),
        ("of a kernel that is gone", {}, "57"),
    ],
)
def test_grub_is_read_as_it_chooses(default: str, variables: dict[str, str], number: str) -> None:
    config = GRUB.replace("DEFAULT", default)
    assert next_kernel(config, variables) == f"/boot/vmlinuz-6.1.0-{number}-amd64"


def test_without_entries_grub_tells_nothing() -> None:
    assert next_kernel("", {}) == ""
    assert environment("# GRUB Environment Block\nsaved_entry=x>y\n####") == {"saved_entry": "x>y"}


def test_the_script_is_one_process() -> None:
    assert os.path.basename(dkms_conf.command([Question()])[0]) == "bash"
