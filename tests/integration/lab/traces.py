"""What a lab could leave on a machine, found by the names that it would carry."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.lab import addresses, processes
from tests.lab.state import LabState


def traces(lab: str) -> set[str]:
    """Processes, namespaces, control groups, interfaces, mounts, loop devices, nftables tables and files of one lab.

    Only of this one, because other labs may come and go on the machine meanwhile.
    """
    state = LabState(lab)
    prefix = addresses.namespace(lab, "")
    found = {f"process {pid} {processes.command_line(pid)}" for pid in processes.of_lab(lab, state.directory)}
    found |= {f"netns {path.name}" for path in Path("/run/netns").glob("*") if path.name.startswith(prefix)}
    found |= {f"interface {path.name}" for path in Path("/sys/class/net").glob(addresses.uplink_interface(lab))}
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found |= {f"mount {line}" for line in mounts if prefix in line or str(state.directory) in line}
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        if (file := backing.read_text().strip()).startswith(str(state.directory)):
            found.add(f"loop device on {file}")
    listed = subprocess.run(["nft", "-j", "list", "tables"], capture_output=True, text=True, check=True).stdout
    tables = [item["table"]["name"] for item in json.loads(listed)["nftables"] if "table" in item]
    found |= {f"nft table {name}" for name in tables if name == addresses.table_name(lab)}
    found |= {f"nspawn {path}" for path in Path("/run/systemd/nspawn").glob(f"*/*{prefix}*")}
    found |= {f"control group {path}" for path in Path("/sys/fs/cgroup").glob(f"**/{prefix}*")}
    found |= {f"lock {path}" for path in Path("/run/lock").glob(f"fabric-lab.lab-{lab}.lock")}
    if state.directory.exists():
        found.add(f"directory {state.directory}")
    return found


def forwarding() -> dict[str, str]:
    """Whether each lasting interface of the machine forwards IPv4."""
    settings = Path("/proc/sys/net/ipv4/conf").glob("*/forwarding")
    return {path.parent.name: path.read_text() for path in settings if not path.parent.name.startswith("lab")}
