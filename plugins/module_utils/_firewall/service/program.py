# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The watcher as one file: the modules that it needs, in an archive that Python runs (zipapp)."""

from __future__ import annotations

import hashlib
import io
import pkgutil
import zipfile

from . import on_host

#: Below module_utils. What it imports, and the empty files that make packages.
MODULES = (
    "_converge/__init__.py",
    "_converge/command.py",
    "_converge/converge.py",
    "_converge/files.py",
    "_converge/lock.py",
    "_converge/plan.py",
    "_firewall/__init__.py",
    "_firewall/difference.py",
    "_firewall/docker_facts.py",
    "_firewall/docker_user.py",
    "_firewall/gaps.py",
    "_firewall/model.py",
    "_firewall/places.py",
    "_firewall/ruleset.py",
    "_firewall/surroundings.py",
    "_firewall/applying/__init__.py",
    "_firewall/applying/files.py",
    "_firewall/applying/restore.py",
    "_firewall/auditing/__init__.py",
    "_firewall/auditing/daemon_settings.py",
    "_firewall/auditing/forward_order.py",
    "_firewall/auditing/sockets.py",
    "_firewall/formats/__init__.py",
    "_firewall/formats/iptables_text.py",
    "_firewall/formats/nft_json.py",
    "_firewall/formats/nft_text.py",
    "_firewall/formats/restore_text.py",
    "_firewall/observing/__init__.py",
    "_firewall/observing/docker.py",
    "_firewall/observing/docker_api.py",
    "_firewall/observing/iptables.py",
    "_firewall/observing/kernel.py",
    "_firewall/observing/processes.py",
    "_firewall/service/__init__.py",
    "_firewall/service/guard.py",
    "_firewall/service/on_host.py",
    "_firewall/service/watch.py",
)
_PACKAGE = "fabric"
#: Imported here, because Ansible sends to a host what is imported, and nothing else.
_ENTRY = on_host.__name__.partition("._firewall.")[2]
_MAIN = f"import sys\n\nfrom {_PACKAGE}._firewall.{_ENTRY} import main\n\nsys.exit(main(sys.argv[1:]))\n"
#: zip's first day, so that the same sources give the same bytes.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def program() -> bytes:
    """Return the archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, "__main__.py", _MAIN.encode())
        _add(archive, f"{_PACKAGE}/__init__.py", b"")
        for name in MODULES:
            _add(archive, f"{_PACKAGE}/{name}", _source(name))
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _EPOCH), content)


def _source(name: str) -> bytes:
    root = __name__.rpartition("._firewall.")[0]
    folder, file = name.rsplit("/", 1)
    package = ".".join((root, *folder.split("/")))
    return pkgutil.get_data(package, file) or b""


def digest(content: bytes) -> str:
    """Return what tells one version of the program from another."""
    return hashlib.sha256(content).hexdigest()
