"""The policy below DOCKER-USER as the kernel has it, what the next boot will load, and what belongs to others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tests.integration.firewall.docker_host import DockerHost
from tests.integration.firewall.loaded import STATE
from tests.integration.firewall.matrix import Way

PROGRAM = "/usr/local/lib/baremetal.fabric/docker_firewall.pyz"
SAVE = {4: "iptables-save", 6: "ip6tables-save"}
LOAD = f"python3 -I {PROGRAM} load {STATE}/rules.v4 {STATE}/rules.v6"
#: Built-in chains that are empty and let everything pass are what iptables makes when it looks.
_EMPTY = re.compile(r"\*\w+\n(:\w+ ACCEPT\n)*COMMIT\n")


def _plain(saved: str) -> str:
    """A listing without what changes by itself: comments, and counters."""
    lines = (line for line in saved.splitlines(keepends=True) if not line.startswith("#"))
    return "".join(re.sub(r" \[\d+:\d+\]$", "", line.rstrip("\n")) + "\n" for line in lines)


def _ours(line: str) -> bool:
    return "FABRIC-" in line


def user_rules(dock: DockerHost, before: str = "") -> dict[int, str]:
    """Our chains, and the jumps to them with their places; ``before`` runs first, where it leaves no trace."""
    where = ("unshare", "--net") if before else ()
    found = {}
    for version, program in SAVE.items():
        listing = _plain(dock.run(*where, "sh", "-euc", f"{before or ':'}; {program} -t filter"))
        user = [line for line in listing.splitlines() if line.startswith("-A DOCKER-USER ")]
        jumps = [f"{number}: {line}" for number, line in enumerate(user, 1) if _ours(line)]
        chains = [line for line in listing.splitlines() if line.startswith((":FABRIC-", "-A FABRIC-"))]
        found[version] = "\n".join([*chains, *jumps])
    return found


def kept_rules(dock: DockerHost) -> dict[int, str]:
    """What a boot would load."""
    return user_rules(dock, LOAD)


def rules_of_others(dock: DockerHost) -> str:
    """Everything that the kernel has and that is not ours, as those list it whose it is."""
    parts = []
    for program in SAVE.values():
        lines = [line for line in _plain(dock.run(program)).splitlines(keepends=True) if not _ours(line)]
        if not any("DOCKER-USER" in line for line in lines if line.startswith("-A ")):
            # Made for the jump, where Docker has none and nobody else uses it.
            lines = [line for line in lines if not line.startswith(":DOCKER-USER ")]
        parts.append(_EMPTY.sub("", "".join(lines)))
    tables = [line.split()[1:3] for line in dock.run("nft", "list", "tables").splitlines()]
    names = sorted((family, name) for family, name in tables if family == "inet" and name != "docker_firewall")
    parts += [dock.run("nft", "--stateless", "list", "table", family, name) for family, name in names]
    return "\n".join(parts)


def past(way: Way, gaps: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the module says of a way that its policy does not see it."""
    port = f"{way.protocol} {way.port}"
    for gap in gaps:
        if gap["ip_version"] != way.family:
            continue
        if way.kind in ("published", "unnamed") and gap["kind"] in ("docker_proxy", "no_jump") and port in gap["ports"]:
            return True
        if way.kind == "direct" and gap["kind"] == "no_jump":
            return True
    return False
