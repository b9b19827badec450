# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The files that make a package of a tree of files: control, scripts, changelog (Debian Policy 5, 6 and 7). Pure."""

from __future__ import annotations

import textwrap
import time
import typing as t

from .model import Package
from .names import debian_name

_WIDTH = 78


def control(
    package: Package, name: str, version: str, maintainer: str, modules: t.Sequence[str], kibibytes: int
) -> str:
    """Return the control file. ``kibibytes`` is what the package takes when it is installed."""
    safe, kernel = debian_name(name), package.kernel
    what = "modules" if len(modules) > 1 else "module"
    return "\n".join(
        (
            f"Package: {package.name}",
            f"Source: {safe}",
            f"Version: {package.version}",
            f"Architecture: {package.architecture}",
            f"Maintainer: {maintainer}",
            f"Installed-Size: {kibibytes}",
            f"Depends: kmod, linux-image-{kernel} | linux-image-{kernel}-unsigned",
            f"Provides: {safe}-modules (= {package.version})",
            f"Conflicts: {safe}-dkms",
            "Section: kernel",
            "Priority: optional",
            f"Description: {safe} {what} for Linux {kernel}",
            *_folded(f"Built of the source {name} {version}. Installing it takes neither a compiler nor DKMS."),
            " .",
            *_folded(f"In it: {', '.join(modules)}."),
            "",
        )
    )


def _folded(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=" ", subsequent_indent=" ", break_long_words=False, break_on_hyphens=False
    )


def changelog(package: Package, name: str, version: str, maintainer: str) -> str:
    """Return the changelog (deb-changelog(5))."""
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(package.epoch))
    return (
        f"{debian_name(name)} ({package.version}) unstable; urgency=medium\n\n"
        f"  * Modules of {name} {version} for Linux {package.kernel}.\n\n"
        f" -- {maintainer}  {date}\n"
    )


def scripts(name: str, kernel: str, machine: str) -> dict[str, str]:
    """Return the maintainer scripts. What depmod writes is left alone while the kernel is not there."""
    there = f"/lib/modules/{kernel}/modules.builtin"
    return {
        "preinst": (
            "#!/bin/sh\nset -e\n\n"
            "# The file would have two owners, and go with either.\n"
            f'if [ "$1" != abort-upgrade ] && [ -L "/var/lib/dkms/{name}/kernel-{kernel}-{machine}" ]; then\n'
            f'    echo "DKMS has {name} installed for {kernel}. Remove it from DKMS first (dkms uninstall)." >&2\n'
            "    exit 1\n"
            "fi\n"
        ),
        "postinst": f'#!/bin/sh\nset -e\n\nif [ -e "{there}" ]; then\n    depmod -a "{kernel}"\nfi\n',
        "postrm": (
            "#!/bin/sh\nset -e\n\n"
            f'if [ "$1" != upgrade ] && [ -e "{there}" ] && command -v depmod >/dev/null; then\n'
            f'    depmod -a "{kernel}"\n'
            "fi\n"
        ),
    }
