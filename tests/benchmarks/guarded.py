"""guarded_config with nothing to do against ansible.builtin.copy of the same files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import ansible.modules.copy

from tests.integration.modules.module_host import ModuleHost
from tests.integration.modules.payload import FOLDER
from tests.lab import Lab, take_down

from .figures import Figure, Sample

BOUND = 1.5
FILES, BYTES = 20, 4096
_GUEST = Path(__file__).resolve().parent / "guest"


def measure(lab_name: str, release: str, repeat: int) -> Iterator[Figure]:
    """Yield the figure, on a host of its own."""
    take_down(lab_name)
    with Lab.from_topology({"hosts": {"edge": {"kind": "nspawn", "release": release}}}, lab_name) as lab:
        host = ModuleHost(lab["edge"])
        host.install()
        host.host.put((_GUEST / "config_runs.py").read_bytes(), f"{FOLDER}/config_runs.py")
        host.host.put(Path(ansible.modules.copy.__file__).read_bytes(), f"{FOLDER}/copy_module.py")
        order = json.dumps({"files": FILES, "bytes": BYTES, "repeat": repeat})
        argv = ["env", f"PYTHONPATH={FOLDER}", "python3", f"{FOLDER}/config_runs.py", order]
        samples: dict[str, list[float]] = json.loads(host.run(*argv, timeout=600))
    found = {name: Sample(tuple(seconds)) for name, seconds in samples.items()}
    whole = found["our process"].median / found["their processes"].median
    one = found["ours"].median / (found["theirs"].median / FILES)
    notes = f"{FILES} runs of copy's module, imports not counted; with them {whole:.2f} x; against one run {one:.1f} x"
    yield Figure(f"{FILES} files as declared", found["ours"], found["theirs"], BOUND, notes=notes)
