"""What a host needs to run the collection's modules without a controller: Ansible's module library and ours."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import ansible.module_utils

from tests.conftest import ROOT

#: Where it goes on the host; a package ``on_host`` in it holds the programs.
FOLDER = "/opt/fabric-proof"
COLLECTION = Path("ansible_collections/baremetal/fabric")
PROGRAMS = Path(__file__).parent / "on_host"
_NOT_NEEDED = {"facts", "powershell", "csharp", "__pycache__"}


def _sources(programs: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Yield each file and the place that it gets below :data:`FOLDER`."""
    plugins = ROOT / "plugins"
    for base, target in (
        (Path(ansible.module_utils.__path__[0]), Path("ansible/module_utils")),
        (plugins / "module_utils", COLLECTION / "plugins/module_utils"),
        (plugins / "modules", COLLECTION / "plugins/modules"),
        *((folder, Path("on_host")) for folder in (PROGRAMS, *programs)),
    ):
        for path in sorted(base.rglob("*.py")):
            inside = path.relative_to(base)
            if not _NOT_NEEDED & set(inside.parts):
                yield path, target / inside


def payload(*programs: Path) -> bytes:
    """A tar archive to unpack in :data:`FOLDER`, with the programs of these folders beside our own."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("ansible/__init__.py"))
        for path, place in _sources(programs):
            archive.add(path, str(place))
    return memory.getvalue()
