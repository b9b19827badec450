"""Replaces the policy again and again, by the module's own steps.

An object of JSON comes in: ``wishes``, parameters of docker_firewall that take turns, and ``loads``, how often. How
often the table was loaded goes out.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.firewall import FirewallResource
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.parameters import (
    FIREWALL_SPEC,
    wanted_firewall,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.steps import LoadTable


def resource(parameters: dict[str, Any]) -> FirewallResource:
    """What the module makes of its parameters."""
    spec, options = FIREWALL_SPEC, FIREWALL_SPEC["policies"]["options"]
    defaults = {key: option.get("default") for key, option in options.items()}
    policies = [{**defaults, **policy} for policy in parameters["policies"]]
    given = {**{key: option.get("default") for key, option in spec.items()}, **parameters, "policies": policies}
    return FirewallResource(wanted_firewall(given), Runner())


def main() -> None:
    """Carry out one order; the policy that is there is that of the first wish, before and after an even number."""
    order = json.load(sys.stdin)
    resources = [resource(wish) for wish in order["wishes"]]
    state = resources[0].observe()
    loads = 0
    for turn in range(1, order["loads"] + 1):
        chosen = resources[turn % len(resources)]
        for step in chosen.plan(state):
            chosen.apply(step)
            state = chosen.simulate(state, step)
            loads += isinstance(step, LoadTable)
    print(loads)


if __name__ == "__main__":
    main()
