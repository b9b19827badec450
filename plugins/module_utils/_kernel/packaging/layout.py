# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""What is where in the tree in which a package is made. Pure.

It lies where DKMS has its own (see :mod:`.room`), and DKMS leaves names with a dot alone.
"""

from __future__ import annotations

ETC = ".etc"  #: what is to be seen in /etc/dkms
MODULES = ".modules"  #: what is to be seen of kernels in /lib/modules
SOURCE = ".source"  #: the source
SIGNING = ".signing"  #: where key and certificate are seen
PACKAGE = ".package"  #: the files of the package
RESULT = ".result"  #: the package
