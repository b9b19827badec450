# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What Debian calls things: names and versions of packages (Debian Policy 5.6). Pure."""

from __future__ import annotations

import re

_NOT_IN_NAME = re.compile(r"[^a-z0-9+.-]+")
_NOT_IN_VERSION = re.compile(r"[^A-Za-z0-9.+~]+")
#: A revision has no hyphen, so that it can be told from the version before it.
REVISION = re.compile(r"[A-Za-z0-9+.~]{1,64}")


def debian_name(name: str) -> str:
    """Return a name as packages may have it: small letters, digits, and some signs, with a letter or digit first."""
    safe = _NOT_IN_NAME.sub("-", name.lower()).strip("-+.")
    return safe if len(safe) > 1 else f"{safe}-module"


def package_name(name: str, kernel: str) -> str:
    """Return the name of the package with a module for a kernel."""
    return f"{debian_name(name)}-modules-{_NOT_IN_NAME.sub('-', kernel.lower())}"


def package_version(version: str, revision: str, headers: str) -> str:
    """Return the version of a package: it begins with a digit, and has no epoch.

    ``headers`` is the version of the kernel's headers, which changes under one release: a package that was built for
    newer ones is newer, too.
    """
    safe = _NOT_IN_VERSION.sub(".", version).strip(".")
    # A revision has no hyphen, and two dots at most (lintian, debian-revision-not-well-formed).
    kernel = _NOT_IN_VERSION.sub("+", headers.rpartition(":")[2])
    return f"{safe if safe[:1].isdigit() else '0+' + safe}-{revision}" + (f"+{kernel}" if kernel else "")
