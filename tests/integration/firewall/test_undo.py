"""A policy that cuts off the controller, as an operator meets it: through Ansible, over SSH from outside."""

from __future__ import annotations

import json
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.firewall.declared import declare, policy, run
from tests.integration.firewall.docker_host import DockerHost, Service
from tests.integration.firewall.engines import on, settings
from tests.integration.firewall.loaded import loaded_at_boot, seen, without_handles
from tests.integration.firewall.places import ADDRESSES, ALLOWED, DOCK
from tests.integration.firewall.stage import Stage
from tests.lab import addresses
from tests.playbook import COLLECTIONS, ansible_environment, playbook_argv

WEB = Service("web", ("tcp:443",), ("8443:443",))
OLD = [policy("web", 8443)]
#: Long enough for the confirmation on a busy machine, short enough to wait for.
SECONDS = 30
#: Everybody but the client from which the controller comes.
LOCKED_OUT = [policy("web", 8443), policy("ssh", 22, allow=["192.0.2.3"])]
LET_IN = [policy("web", 8443), policy("ssh", 22)]


def play(stage: Stage, folder: Path, policies: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """Run the module by ansible-playbook, from where the allowed client is; returns its result, and all output."""
    host = stage.dock.host
    book = [
        {
            "hosts": host.name,
            "gather_facts": False,
            "tasks": [
                {
                    "name": "Published ports obey the policies",
                    "baremetal.fabric.docker_firewall": {"policies": policies, "confirm_timeout": SECONDS},
                    "register": "result",
                    "ignore_errors": True,
                },
                {
                    "name": "The result is kept",
                    "ansible.builtin.copy": {
                        "content": "{{ result | to_json }}",
                        "dest": str(folder / "result.json"),
                        "mode": "0600",
                    },
                    "delegate_to": "localhost",
                },
            ],
        }
    ]
    file = folder / "play.yml"
    file.write_text(json.dumps(book))
    inside = f"ip netns exec {addresses.namespace(stage.lab.name, ALLOWED)} nc {ADDRESSES[DOCK][4]} 22"
    common = f"-F {stage.lab.state.directory / 'ssh_config'} -o ConnectTimeout=8 -o ProxyCommand={shlex.quote(inside)}"
    variables = {
        "ansible_ssh_common_args": common,
        "ansible_control_path": str(folder / "ssh"),
        "ansible_ssh_timeout": 8,
    }
    argv = playbook_argv(str(file), [stage.lab.inventory], "-e", json.dumps(variables))
    environment = ansible_environment(ANSIBLE_COLLECTIONS_PATH=str(COLLECTIONS))
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=180, check=False)
    output = done.stdout + done.stderr
    assert (folder / "result.json").exists(), output
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return result, output


def wait_undone(dock: DockerHost, old: str) -> None:
    """Wait until the timer has put the old policy back."""
    deadline = time.monotonic() + SECONDS + 30
    while without_handles(seen(dock)) != without_handles(old):
        assert time.monotonic() < deadline, seen(dock)
        time.sleep(0.5)


@pytest.mark.proof(
    area="firewall", line=3, title="A policy that cuts off the controller is undone; the next run says so"
)
@on(settings("26.1", "20.10", proxy=True), in_make_test=True)
def test_a_policy_that_locks_out_the_controller_is_undone_and_said(stage: Stage, tmp_path: Path) -> None:
    dock = stage.dock
    declare(dock, OLD)
    old, boot = seen(dock), loaded_at_boot(dock)
    result, output = play(stage, tmp_path, LOCKED_OUT)
    assert result["failed"], output
    assert "does not answer over a new connection" in result["msg"]
    assert without_handles(seen(dock)) != without_handles(old)
    assert loaded_at_boot(dock) == boot
    wait_undone(dock, old)

    result, output = play(stage, tmp_path, LET_IN)
    assert not result.get("failed"), output
    assert any("was undone" in warning for warning in result["warnings"])
    assert any("was undone" in step["title"] for step in result["plan"])
    assert result["changed"]
    assert not result["pending"]
    assert without_handles(loaded_at_boot(dock)) == without_handles(seen(dock))
    again = run(dock, LET_IN)
    assert (again.changed, again.titles, again.values["findings"]) == (False, [], [])


@pytest.mark.proof(area="firewall", line=3, title="A first policy that cuts off the controller leaves no policy")
@on(settings("26.1", proxy=True))
def test_a_first_policy_is_undone_to_none(stage: Stage, tmp_path: Path) -> None:
    result, output = play(stage, tmp_path, LOCKED_OUT)
    assert result["failed"], output
    wait_undone(stage.dock, "")
    assert stage.dock.table() is None


@pytest.mark.proof(area="firewall", line=3, title="An unconfirmed policy is undone by a reboot, too")
@on(settings("26.1", "20.10", proxy=True))
def test_a_reboot_undoes_what_nobody_confirmed(stage: Stage) -> None:
    dock = stage.dock
    dock.run_services(WEB)
    declare(dock, OLD)
    old = seen(dock)
    waiting = run(dock, LET_IN, confirm_timeout=600)
    assert [each["what"] for each in waiting.values["pending"]]
    assert without_handles(seen(dock)) != without_handles(old)
    dock.reboot()
    assert without_handles(seen(dock)) == without_handles(old)
    late = dock.module(
        "docker_firewall",
        {"policies": LET_IN, "confirm_timeout": 600, "confirm": waiting.values["firewall"]["unconfirmed"]["token"]},
    )
    assert late.failed
    assert "is undone already" in late.message
    told = run(dock, OLD)
    assert any("was undone" in title for title in told.titles)
    again = run(dock, OLD)
    assert (again.changed, again.titles) == (False, [])
