# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The key that DKMS signs modules with, and whether this host's firmware trusts it. Makes none."""

from __future__ import annotations

import os

from ..formats.dkms_conf import Variables, first
from ..model import Signing

#: dkms(8): made by DKMS with the first build, silently, where openssl is there.
_KEY, _CERTIFICATE = "/var/lib/dkms/mok.key", "/var/lib/dkms/mok.pub"
_EFI = "/sys/firmware/efi"
#: shim's list of enrolled certificates, and the firmware's state (UEFI specification, 8.2 and 32.3).
_ENROLLED = f"{_EFI}/efivars/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23"
_SECURE_BOOT = f"{_EFI}/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def signing_of(framework: Variables) -> Signing:
    """Return the key as framework.conf names it."""
    key = first(framework, "mok_signing_key") or _KEY
    certificate = first(framework, "mok_certificate") or _CERTIFICATE
    present = (key.startswith("pkcs11:") or os.path.isfile(key)) and os.path.isfile(certificate)
    return Signing(key, certificate, present, _enrolled(certificate), _secure_boot())


def _enrolled(certificate: str) -> bool | None:
    if not os.path.isdir(_EFI):
        return None
    enrolled, ours = _content(_ENROLLED), _content(certificate)
    return bool(ours) and ours in enrolled


def _secure_boot() -> bool | None:
    if not os.path.isdir(_EFI):
        return None
    return _content(_SECURE_BOOT)[4:5] == b"\1"  # four bytes of attributes come first (efivarfs)


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
