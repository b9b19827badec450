# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Where DKMS, the kernel and we keep things. Pure."""

from __future__ import annotations

import re

DKMS = "/usr/sbin/dkms"
#: dkms(8), --dkmstree, --sourcetree and --installtree.
TREE = "/var/lib/dkms"
SOURCES = "/usr/src"
MODULES = "/lib/modules"
LOADED = "/sys/module"
BOOT = "/boot"

#: One for all: DKMS has none, and installing runs depmod on what the modules of a kernel share.
LOCK = "dkms"

STATE = "/var/lib/baremetal.fabric/kernel"
MODULES_LOAD = "/etc/modules-load.d"
MODPROBE = "/etc/modprobe.d"
#: What Debian's kernel packages, and those of headers, run after they were installed.
HOOKS = ("/etc/kernel/postinst.d", "/etc/kernel/header_postinst.d")
#: dkms(8): framework.conf, and what hosts add to the dkms.conf of a package.
CONFIGURATION = "/etc/dkms"

#: Module files, plain and as kernels want them compressed (CONFIG_MODULE_COMPRESS_*).
SUFFIXES = (".ko", ".ko.xz", ".ko.zst", ".ko.gz")


def source(name: str, version: str) -> str:
    """Where DKMS looks for a source."""
    return f"{SOURCES}/{name}-{version}"


def staged_source(name: str, version: str) -> str:
    """Where a source waits until it is complete."""
    return f"{SOURCES}/.{name}-{version}.fabric-new"


def replaced_source(name: str, version: str) -> str:
    """Where the former source is while it is replaced."""
    return f"{SOURCES}/.{name}-{version}.fabric-old"


def added(name: str, version: str) -> str:
    """What DKMS has of a version."""
    return f"{TREE}/{name}/{version}"


def built(name: str, version: str, kernel: str, arch: str) -> str:
    """What DKMS has built of a version for a kernel."""
    return f"{TREE}/{name}/{version}/{kernel}/{arch}"


def active(name: str, kernel: str, arch: str) -> str:
    """DKMS's link to the version that is installed for a kernel."""
    return f"{TREE}/{name}/kernel-{kernel}-{arch}"


def record(name: str, version: str) -> str:
    """What we know of a source that we have put in place."""
    return f"{STATE}/{name}-{version}.json"


def workshop(name: str, version: str, kernel: str) -> str:
    """The tree of its own in which a version is built for a kernel."""
    return f"{STATE}/build/{name}-{version}-{kernel}"


def log(name: str, version: str, kernel: str) -> str:
    """What the compiler said of a build that failed; it is gone with the next that does not."""
    return f"{STATE}/logs/{name}-{version}-{kernel}.log"


def package_shop(name: str, version: str, kernel: str) -> str:
    """The directory in which a package with the modules for a kernel is made."""
    return f"{STATE}/packages/{name}-{version}-{kernel}"


def package_log(name: str, version: str, kernel: str) -> str:
    """What the compiler said of a package that could not be made."""
    return f"{STATE}/logs/{name}-{version}-{kernel}.package.log"


def loading(name: str) -> str:
    """The file that has a module loaded at boot (modules-load.d(5))."""
    return f"{MODULES_LOAD}/{name}.conf"


def options(name: str) -> str:
    """The file with a module's parameters (modprobe.d(5))."""
    return f"{MODPROBE}/{name}.conf"


def hooks(name: str) -> tuple[str, ...]:
    """The programs that build a module for new kernels: before ``dkms``, with what run-parts(8) takes for a name."""
    plain = re.sub(r"[^A-Za-z0-9-]", lambda match: f"_{ord(match[0]):02x}", name)
    return tuple(f"{folder}/baremetal-fabric-{plain}" for folder in HOOKS)
