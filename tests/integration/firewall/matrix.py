"""The ways that packets can take, and what goes through without a policy and with one.

Measured in one go: everybody asks all their targets at the same time, in bounded time.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.integration.firewall.clients import PATIENCE, Target
from tests.integration.firewall.docker_host import Service
from tests.integration.firewall.engines import Setting
from tests.integration.firewall.places import ADDRESSES, ALLOWED, DENIED, DOCK, SERVER
from tests.integration.firewall.stage import Stage

#: A port that the policies of tests name, in both protocols, and one that none names.
NAMED = {"tcp": 8443, "udp": 8053}
UNNAMED = 8500
#: The ports inside the container.
INSIDE = {"tcp": 443, "udp": 53}

WEB = Service("web", ("tcp:443", "udp:53"), ("8443:443", "8053:53/udp", "8500:443"))
#: On the same bridge, and on another one.
NEIGHBOUR = Service("neighbour")
REMOTE = Service("remote", network="other")
LOCALHOST = {4: "127.0.0.1", 6: "::1"}


@dataclass(frozen=True)
class Way:
    """From whom to whom, over what. ``kind`` says what it stands for."""

    kind: str
    origin: str
    target: str
    family: int
    protocol: str
    port: int

    def __str__(self) -> str:
        return f"{self.kind}: {self.origin} to {self.target} {self.protocol}/{self.port}, IPv{self.family}"


def _ways() -> Iterable[Way]:
    for family in (4, 6):
        for protocol in ("tcp", "udp"):
            named, inside = NAMED[protocol], INSIDE[protocol]
            for client in (DENIED, ALLOWED):
                yield Way("published", client, DOCK, family, protocol, named)
                yield Way("direct", client, WEB.name, family, protocol, inside)
            # Connections of containers and of the host to somebody else's port of the same number, and their replies.
            yield Way("outbound", WEB.name, SERVER, family, protocol, named)
            yield Way("host outbound", DOCK, SERVER, family, protocol, named)
            yield Way("own", DOCK, DOCK, family, protocol, named)
            yield Way("own container", DOCK, WEB.name, family, protocol, inside)
            yield Way("neighbour", NEIGHBOUR.name, WEB.name, family, protocol, inside)
        for client in (DENIED, ALLOWED):
            yield Way("unnamed", client, DOCK, family, "tcp", UNNAMED)
        yield Way("own", DOCK, "localhost", family, "tcp", NAMED["tcp"])
        for container in (WEB, NEIGHBOUR, REMOTE):
            yield Way("hairpin", container.name, DOCK, family, "tcp", NAMED["tcp"])


WAYS: tuple[Way, ...] = tuple(_ways())
Answers = Mapping[Way, str | None]


def set_up(stage: Stage) -> None:
    """Run the containers of the matrix."""
    stage.dock.create_network(REMOTE.network)
    stage.dock.run_services(WEB, NEIGHBOUR, REMOTE)


def measure(stage: Stage, ways: Sequence[Way] = WAYS) -> dict[Way, str | None]:
    """What is answered on each way; ways to addresses that do not exist are left out."""
    places = {**ADDRESSES, "localhost": LOCALHOST}
    for service in stage.dock.services:
        places[service] = stage.dock.addresses(service)
    askers: dict[str, Callable[..., list[str | None]]] = {
        DENIED: stage.denied.ask,
        ALLOWED: stage.allowed.ask,
        DOCK: stage.dock.ask_from_host,
        **{service: functools.partial(stage.dock.ask_from, service) for service in stage.dock.services},
    }
    asked: dict[str, list[Way]] = {}
    for way in ways:
        # A container without an address of the family has no way out of it either.
        if way.family in places[way.target] and way.family in places[way.origin]:
            asked.setdefault(way.origin, []).append(way)

    def answers(origin: str) -> list[str | None]:
        targets = [Target(places[way.target][way.family], way.port, way.protocol) for way in asked[origin]]
        return askers[origin](targets, again=2 * PATIENCE)

    ports = [f"{protocol}:{port}" for protocol, port in NAMED.items()]
    with stage.server.answering(SERVER, *ports), ThreadPoolExecutor(max_workers=8) as pool:
        found = zip(asked, pool.map(answers, asked), strict=True)
        answered = {way: text for origin, texts in found for way, text in zip(asked[origin], texts, strict=True)}
    return {way: answered[way] for way in ways if way in answered}


def reached(answers: Answers) -> dict[Way, bool]:
    """Which ways lead to the one that was meant, as its name in the answer tells."""
    return {way: text is not None and text.split()[0] in (SERVER, WEB.name) for way, text in answers.items()}


def gateways(stage: Stage) -> set[str]:
    """The addresses of Docker's bridges: what a container sees when docker-proxy asks it."""
    listed = json.loads(stage.dock.run("ip", "-json", "address", "show", "type", "bridge"))
    return {address["local"] for link in listed for address in link["addr_info"]}


def open_in_docker(setting: Setting, way: Way) -> bool:
    """Whether a way is open without a policy."""
    translated, proxied = setting.engine.translates(way.family), setting.userland_proxy
    if way.kind == "direct":
        return not setting.engine.guards_containers
    if way.kind == "hairpin" and way.origin == REMOTE.name:
        return proxied  # Docker keeps its bridges apart
    if way.kind == "own" and way.target == "localhost":
        return way.family == 4 or proxied  # the kernel routes 127.0.0.0/8 into a bridge (route_localnet), never ::1
    if way.kind in ("published", "unnamed", "own", "hairpin"):
        return translated or proxied
    return True


def goes_through_proxy(setting: Setting, way: Way) -> bool:
    """Whether what comes from outside on this way is served by docker-proxy."""
    return way.kind in ("published", "unnamed") and not setting.engine.translates(way.family)


def open_under_policy(setting: Setting, way: Way, default: str = "return", direct_access: str = "drop") -> bool:
    """Whether a way is open when the policy for the named ports allows ``allowed`` and nobody else.

    ``default`` and ``direct_access`` are the module's: ``drop`` or ``return``.
    """
    if way.kind == "published" and way.origin == DENIED:
        return False
    if way.kind == "unnamed" and default == "drop":
        return False
    if way.kind == "direct" and direct_access == "drop":
        return False
    return open_in_docker(setting, way)
