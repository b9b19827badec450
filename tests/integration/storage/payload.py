"""What a host needs to run the collection's modules without a controller: Ansible's module library and ours."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import ansible.module_utils

from tests.conftest import ROOT

#: Where it goes on the host.
FOLDER = "/opt/fabric-proof"
COLLECTION = Path("ansible_collections/baremetal/fabric")
_NOT_NEEDED = {"facts", "powershell", "csharp", "__pycache__"}


def _sources() -> Iterator[tuple[Path, Path]]:
    """Yield each file and the place that it gets below :data:`FOLDER`."""
    library = Path(ansible.module_utils.__path__[0])
    plugins = ROOT / "plugins"
    scripts = Path(__file__).parent / "on_host"
    for base, target in (
        (library, Path("ansible/module_utils")),
        (plugins / "module_utils", COLLECTION / "plugins/module_utils"),
        (plugins / "modules", COLLECTION / "plugins/modules"),
        (scripts, Path("on_host")),
    ):
        for path in sorted(base.rglob("*.py")):
            inside = path.relative_to(base)
            if not _NOT_NEEDED & set(inside.parts):
                yield path, target / inside


def payload() -> bytes:
    """A tar archive to unpack in :data:`FOLDER`."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("ansible/__init__.py"))
        for path, place in _sources():
            archive.add(path, str(place))
    return memory.getvalue()
