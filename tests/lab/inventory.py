"""The inventory that Ansible gets. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from .remote import CONNECT_TIMEOUT, Reach
from .topology import Topology


def inventory(topology: Topology, reaches: Sequence[Reach], ssh_config: Path) -> dict[str, Any]:
    """The inventory as data: every host in ``lab`` and in its declared groups.

    ``ansible_host`` is the machine's name, unique among labs; ssh_config says how to get there. The control path is
    the lab's own, so that Ansible and the lab share connections, and a reset of a host can end them.
    """
    by_name = {reach.host: reach for reach in reaches}
    hosts: dict[str, Mapping[str, Any]] = {}
    groups: dict[str, dict[str, Any]] = {}
    for host in topology.hosts:
        if host.name not in by_name:  # a netns host, which SSH cannot reach
            continue
        reach = by_name[host.name]
        hosts[host.name] = {
            "ansible_host": reach.machine,
            "ansible_control_path": str(reach.control_path),
            **host.variables,
        }
        for group in host.groups:
            groups.setdefault(group, {"hosts": {}})["hosts"][host.name] = {}
    variables = {
        "ansible_user": "root",
        "ansible_ssh_common_args": f"-F {ssh_config}",
        "ansible_ssh_pipelining": True,
        "ansible_ssh_timeout": CONNECT_TIMEOUT,
        "ansible_python_interpreter": "/usr/bin/python3",
    }
    lab: dict[str, Any] = {"hosts": hosts, "vars": variables}
    if groups:
        lab["children"] = groups
    return {"all": {"children": {"lab": lab}}}


def inventory_text(topology: Topology, reaches: Sequence[Reach], ssh_config: Path) -> str:
    """The inventory as YAML."""
    return yaml.safe_dump(inventory(topology, reaches, ssh_config), sort_keys=False, default_flow_style=False)
