"""The papers of the role agree: argument specs, defaults, README, survey, and the module behind them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.parameters import RAID_POOL_SPEC

ROOT = Path(__file__).resolve().parents[3]
ROLE = ROOT / "roles" / "storage_pool"
PREFIX = "storage_pool_"
#: The role's own; everything else goes to the module.
OWN = {"storage_pool_install_packages"}
#: The role waits longer: it is run by people and schedulers who want the pool complete.
DIFFERENT_DEFAULTS = {"storage_pool_wait_timeout"}
PLAYBOOK_VARIABLES = {"storage_grow_hosts", "storage_grow_serial"}


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


SPECS: dict[str, Any] = _yaml(ROLE / "meta" / "argument_specs.yml")["argument_specs"]["main"]["options"]
DEFAULTS: dict[str, Any] = _yaml(ROLE / "defaults" / "main.yml")
SURVEY: list[dict[str, Any]] = json.loads((ROOT / "playbooks" / "awx" / "storage_grow_survey.json").read_text())["spec"]


def test_every_option_of_the_module_has_a_variable() -> None:
    assert {PREFIX + option for option in RAID_POOL_SPEC} | OWN == set(SPECS)


@pytest.mark.parametrize("option", sorted(RAID_POOL_SPEC))
def test_a_variable_takes_what_the_option_takes(option: str) -> None:
    module, role = RAID_POOL_SPEC[option], SPECS[PREFIX + option]
    assert role["type"] == module["type"]
    assert role.get("elements") == module.get("elements")
    assert role.get("required", False) == module.get("required", False)
    assert set(role.get("choices", [])) <= set(module.get("choices", []))
    assert set(role.get("options", {})) == set(module.get("options", {}))
    if PREFIX + option not in DIFFERENT_DEFAULTS:
        assert role.get("default") == module.get("default")


def test_defaults_are_those_that_are_documented() -> None:
    assert {name: spec["default"] for name, spec in SPECS.items() if "default" in spec} == DEFAULTS


def test_the_readme_lists_every_variable_once() -> None:
    listed = re.findall(r"^\| `(storage_pool_\w+)`", (ROLE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(SPECS)


def test_the_task_passes_every_variable_on() -> None:
    tasks = _yaml(ROLE / "tasks" / "main.yml")
    arguments = next(task for task in tasks if "baremetal.fabric.raid_pool" in task)["baremetal.fabric.raid_pool"]
    assert set(arguments) == set(RAID_POOL_SPEC)
    for option, value in arguments.items():
        assert PREFIX + option in value


@pytest.mark.parametrize("question", SURVEY, ids=lambda question: str(question["variable"]))
def test_the_survey_asks_for_variables_that_exist(question: dict[str, Any]) -> None:
    # awx/main/models/mixins.py, _survey_element_validation: these keys, or the answers are silently dropped.
    assert {"type", "question_name", "variable", "required", "default"} <= set(question)
    variable = question["variable"]
    assert variable in set(SPECS) | PLAYBOOK_VARIABLES
    if variable in DEFAULTS and DEFAULTS[variable] not in ([], None):
        assert str(question["default"]).lower() == str(DEFAULTS[variable]).lower()
