"""Measures docker_firewall's engine against nft alone, in turn, on a host that has the collection's sources.

JSON comes in: ``policies``, ``sources`` (for each policy), ``repeat``. Lists of seconds go out, by name.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import converge
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.firewall import FirewallResource
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.parameters import (
    FIREWALL_SPEC,
    wanted_firewall,
)

TABLE = ("inet", "docker_firewall")
KEPT = "/var/lib/baremetal.fabric/docker_firewall/table.nft"


def declared(policies: int, sources: int, odd: str = "") -> dict[str, Any]:
    """Parameters with so many policies; ``odd`` is a further source of one of them."""
    options = {key: option.get("default") for key, option in FIREWALL_SPEC["policies"]["options"].items()}
    listed = []
    for number in range(policies):
        allowed = [f"10.{number >> 8}.{number & 255}.{16 * source}/29" for source in range(sources)]
        more = [odd] if odd and number == policies // 2 else []
        ports = [str(10000 + number)]
        listed.append({**options, "name": f"p{number}", "ports": ports, "allow_from": allowed + more})
    return {**{key: option.get("default") for key, option in FIREWALL_SPEC.items()}, "policies": listed}


def engine(parameters: dict[str, Any]) -> bool:
    """Observe, plan, apply, prove; returns whether something changed."""
    return converge(FirewallResource(wanted_firewall(parameters), Runner())).changed


def nft(*argv: str, text: str = "") -> None:
    """Run nft."""
    subprocess.run(["nft", *argv], input=text.encode(), stdout=subprocess.DEVNULL, check=True)


def timed(work: Callable[[], Any]) -> float:
    """The seconds that it takes."""
    started = time.monotonic()
    work()
    return time.monotonic() - started


def measure(policies: int, sources: int, repeat: int) -> dict[str, list[float]]:
    """Take all samples."""
    plain, odd = declared(policies, sources), declared(policies, sources, "192.0.2.1")
    engine(plain)
    found: dict[str, list[float]] = {}

    def note(name: str, work: Callable[[], Any]) -> None:
        found.setdefault(name, []).append(timed(work))

    def check(parameters: dict[str, Any], changes: bool) -> Callable[[], None]:
        def run() -> None:
            if engine(parameters) is not changes:
                raise AssertionError("it changed something" if not changes else "it changed nothing")

        return run

    element = f"element {' '.join(TABLE)} from4_p{policies // 2} {{ 192.0.2.1 }}\n"
    for _turn in range(repeat):
        nft("delete", "table", *TABLE)
        note("load by hand", lambda: nft("-f", KEPT))
        nft("delete", "table", *TABLE)
        note("load", check(plain, changes=True))
        note("reload by hand", lambda: nft("-f", KEPT))
        note("change one", check(odd, changes=True))
        engine(plain)
        note("element by hand", lambda: nft("-f", "-", text=f"add {element}"))
        nft("-f", "-", text=f"delete {element}")
        note("nothing", check(plain, changes=False))
        note("list by hand", lambda: nft("-j", "list", "table", *TABLE))
    return found


def main(argv: Sequence[str]) -> int:
    """Read, measure, print."""
    print(json.dumps(measure(**json.loads(argv[0]))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
