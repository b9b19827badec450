"""The papers of each role agree: argument specs, defaults, README, task, and the module behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.parameters import FIREWALL_SPEC
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.parameters import BENCHMARK_SPEC
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.deploying.options import BINARY_SPEC
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.dkms.options import DKMS_SPEC
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.packaging.options import PACKAGE_SPEC
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.parameters import RAID_POOL_SPEC

ROOT = Path(__file__).resolve().parents[3]


def _yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _flat(tasks: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each task, also those of blocks."""
    for task in tasks:
        yield task
        yield from _flat(task.get("block", []))


@dataclass(frozen=True)
class Role:
    """A role around one module. ``own`` are its variables that no option has, ``unused`` options without a variable."""

    name: str
    module: str
    options: Mapping[str, Mapping[str, Any]]
    own: frozenset[str]
    unused: frozenset[str] = frozenset()
    #: Where the role's default is another one, because it is run by people and schedulers.
    different: frozenset[str] = frozenset()
    #: Options without a variable that get an element of a list each time.
    looped: frozenset[str] = frozenset()
    #: The file with the module's task.
    tasks: str = "main.yml"

    @property
    def folder(self) -> Path:
        return ROOT / "roles" / self.name

    @property
    def specs(self) -> dict[str, Any]:
        found: dict[str, Any] = _yaml(self.folder / "meta" / "argument_specs.yml")["argument_specs"]["main"]["options"]
        return found

    @property
    def defaults(self) -> dict[str, Any]:
        found: dict[str, Any] = _yaml(self.folder / "defaults" / "main.yml")
        return found

    def variable(self, option: str) -> str:
        return f"{self.name}_{option}"


STORAGE_POOL = Role(
    name="storage_pool",
    module="baremetal.fabric.raid_pool",
    options=RAID_POOL_SPEC,
    own=frozenset({"storage_pool_install_packages"}),
    different=frozenset({"wait_timeout"}),
)
DOCKER_FIREWALL = Role(
    name="docker_firewall",
    module="baremetal.fabric.docker_firewall",
    options=FIREWALL_SPEC,
    own=frozenset({"docker_firewall_install_packages"}),
    unused=frozenset({"confirm"}),
    different=frozenset({"confirm_timeout"}),
)
KERNEL_BENCHMARK = Role(
    name="kernel_benchmark",
    module="baremetal.fabric.kernel_benchmark",
    options=BENCHMARK_SPEC,
    own=frozenset(f"kernel_benchmark_{name}" for name in ("sizes", "keep_module", "install_packages")),
    unused=frozenset({"routes"}),
    looped=frozenset({"routes"}),
)
KERNEL_MODULE = Role(
    name="kernel_module",
    module="baremetal.fabric.dkms_module",
    options=DKMS_SPEC,
    own=frozenset(
        f"kernel_module_{each}"
        for each in (
            *("build", "archive", "install_packages", "builder", "chroot", "maintainer", "revision", "signing"),
            *("destination", "cache"),
        )
    ),
    different=frozenset({"kernels", "hook"}),
    tasks="on_host.yml",
)
ROLES = (STORAGE_POOL, DOCKER_FIREWALL, KERNEL_BENCHMARK, KERNEL_MODULE)
OPTIONS = [(role, option) for role in ROLES for option in sorted(set(role.options) - role.unused)]

each_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


def test_every_role_is_looked_at() -> None:
    assert {role.name for role in ROLES} == {path.name for path in (ROOT / "roles").iterdir()}


@each_role
def test_every_option_of_the_module_has_a_variable(role: Role) -> None:
    assert {role.variable(option) for option in set(role.options) - role.unused} | role.own == set(role.specs)


@pytest.mark.parametrize(("role", "option"), OPTIONS, ids=[role.variable(option) for role, option in OPTIONS])
def test_a_variable_takes_what_the_option_takes(role: Role, option: str) -> None:
    module, variable = role.options[option], role.specs[role.variable(option)]
    assert variable["type"] == module["type"]
    assert variable.get("elements") == module.get("elements")
    assert variable.get("required", False) == module.get("required", False)
    assert set(variable.get("choices", [])) <= set(module.get("choices", []))
    assert set(variable.get("options", {})) == set(module.get("options", {}))
    if option not in role.different:
        assert variable.get("default") == module.get("default")


@each_role
def test_defaults_are_those_that_are_documented(role: Role) -> None:
    assert {name: spec["default"] for name, spec in role.specs.items() if "default" in spec} == role.defaults


@each_role
def test_the_readme_lists_every_variable_once(role: Role) -> None:
    readme = (role.folder / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(rf"^\| `({role.name}_\w+)`", readme, re.MULTILINE)) == sorted(role.specs)


def _arguments(file: Path, module: str) -> dict[str, Any]:
    """What the task that calls a module gives it; it may be one of a block."""
    arguments: dict[str, Any] = next(task for task in _flat(_yaml(file)) if module in task)[module]
    return arguments


@each_role
def test_the_task_passes_every_variable_on(role: Role) -> None:
    arguments = _arguments(role.folder / "tasks" / role.tasks, role.module)
    assert set(arguments) == set(role.options) - role.unused | role.looped
    for option, value in arguments.items():
        assert ("item" if option in role.looped else role.variable(option)) in value


def test_a_builder_is_told_all_that_packages_depend_on() -> None:
    tasks = KERNEL_MODULE.folder / "tasks" / "packages.yml"
    arguments = _arguments(tasks, "baremetal.fabric.kernel_module_package")
    # The date of the kernel is the same on every builder.
    assert set(arguments) == set(PACKAGE_SPEC) - {"source_date_epoch"}
    signing = KERNEL_MODULE.specs["kernel_module_signing"]["options"]
    assert {key: value["required"] for key, value in signing.items()} == {
        key: value["required"] for key, value in PACKAGE_SPEC["signing"]["options"].items()
    }


def test_a_host_is_told_all_that_its_packages_depend_on() -> None:
    arguments = _arguments(KERNEL_MODULE.folder / "tasks" / "packages.yml", "baremetal.fabric.kernel_module_binary")
    assert set(arguments) == set(BINARY_SPEC) - {"state"}


SURVEYS = [
    (STORAGE_POOL, "storage_grow_survey.json", {"storage_grow_hosts", "storage_grow_serial"}),
    (DOCKER_FIREWALL, "docker_firewall_survey.json", {"docker_firewall_hosts", "docker_firewall_serial"}),
]


@pytest.mark.parametrize(("role", "file", "of_playbook"), SURVEYS, ids=[file for _role, file, _more in SURVEYS])
def test_a_survey_asks_for_variables_that_exist(role: Role, file: str, of_playbook: set[str]) -> None:
    questions: list[dict[str, Any]] = json.loads((ROOT / "playbooks" / "awx" / file).read_text())["spec"]
    assert questions
    for question in questions:
        # awx/main/models/mixins.py, _survey_element_validation: these keys, or the answers are silently dropped.
        assert {"type", "question_name", "variable", "required", "default"} <= set(question)
        variable = question["variable"]
        assert variable in set(role.specs) | of_playbook
        if variable in role.defaults and role.defaults[variable] not in ([], None):
            assert str(question["default"]).lower() == str(role.defaults[variable]).lower()
