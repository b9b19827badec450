"""Runs the module as a person does: by ansible-playbook, over SSH, from where the controller is."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

from tests.integration.config.places import CONTROLLER, LOOPBACK
from tests.integration.config.stage import Stage
from tests.lab import addresses
from tests.playbook import COLLECTIONS, ansible_environment, playbook_argv


def play(stage: Stage, folder: Path, arguments: dict[str, Any], *options: str) -> tuple[dict[str, Any], str]:
    """Run the module over the way that BIRD keeps; returns its result, and all that Ansible printed."""
    kept = folder / "result.json"
    kept.unlink(missing_ok=True)
    keep = {"content": "{{ result | to_json }}", "dest": str(kept), "mode": "0600"}
    tasks = [
        {
            "name": "The daemon runs as declared",
            "baremetal.fabric.guarded_config": arguments,
            "register": "result",
            "ignore_errors": True,
        },
        {
            "name": "The result is kept",
            "ansible.builtin.copy": keep,
            "delegate_to": "localhost",
            "no_log": True,
            "check_mode": False,
            "diff": False,
        },
    ]
    file = folder / "play.yml"
    file.write_text(json.dumps([{"hosts": stage.edge.host.name, "gather_facts": False, "tasks": tasks}]))
    inside = f"ip netns exec {addresses.namespace(stage.lab.name, CONTROLLER)} nc {LOOPBACK} 22"
    common = f"-F {stage.lab.state.directory / 'ssh_config'} -o ConnectTimeout=8 -o ProxyCommand={shlex.quote(inside)}"
    variables = {
        "ansible_ssh_common_args": common,
        "ansible_control_path": str(folder / "ssh"),
        "ansible_ssh_timeout": 8,
    }
    argv = playbook_argv(str(file), [stage.lab.inventory], "-e", json.dumps(variables), *options)
    environment = ansible_environment(ANSIBLE_COLLECTIONS_PATH=str(COLLECTIONS))
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=180, check=False)
    output = done.stdout + done.stderr
    assert kept.exists(), output
    result: dict[str, Any] = json.loads(kept.read_text())
    return result, output
