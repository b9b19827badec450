"""The policy that most tests declare, and who it lets in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.integration.firewall.docker_host import DockerHost
from tests.integration.firewall.places import ADDRESSES, ALLOWED
from tests.integration.modules.result import Result

MODULE = "docker_firewall"
#: Who comes in: the allowed client, in both families.
WELCOME = (ADDRESSES[ALLOWED][4], ADDRESSES[ALLOWED][6])


def policy(name: str, *ports: Any, allow: Sequence[str] = WELCOME, **more: Any) -> dict[str, Any]:
    """One policy."""
    return {"name": name, "ports": [str(port) for port in ports], "allow_from": list(allow), **more}


#: The ports of the matrix that a policy names.
NAMED = (policy("web", 8443), policy("dns", 8053, protocol="udp"))


def declare(dock: DockerHost, policies: Sequence[dict[str, Any]] = NAMED, **options: Any) -> Result:
    """Run the module; it must do its work, and have nothing to do when it runs again."""
    first = run(dock, policies, **options)
    again = run(dock, policies, **options)
    assert (again.changed, again.titles) == (False, [])
    return first


def run(dock: DockerHost, policies: Sequence[dict[str, Any]] = NAMED, **options: Any) -> Result:
    """Run the module once; it must do its work."""
    result = attempt(dock, policies, **options)
    assert not result.failed, result.message
    return result


def attempt(dock: DockerHost, policies: Sequence[dict[str, Any]] = NAMED, **options: Any) -> Result:
    """Run the module, whatever comes of it."""
    ending = {key: options.pop(key) for key in ("check", "cut", "instead") if key in options}
    return dock.module(MODULE, {"policies": list(policies), **options}, **ending)
