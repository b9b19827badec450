"""The generations of Docker, and how each is set up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

TOOLS = ("conntrack", "firewalld", "ipset", "iptables", "iptables-persistent", "netfilter-persistent", "nftables")
#: Tests start what they need. Most of them need neither of the last two.
UNITS = (
    "containerd.service",
    "docker.service",
    "docker.socket",
    "firewalld.service",
    "netfilter-persistent.service",
)
#: The IPv6 prefixes of Docker's networks: the default bridge has the first, further networks the next ones.
CONTAINER_PREFIX = "2001:db8:c{:x}::/64"


@dataclass(frozen=True)
class Engine:
    """A version of dockerd as it is set up."""

    name: str
    version: str
    release: str
    packages: tuple[str, ...]
    #: Whether dockerd writes rules for IPv6, and translates IPv6 addresses.
    ip6tables: bool
    #: Whether containers have IPv6 addresses.
    ipv6: bool
    options: Mapping[str, Any]
    #: Whether dockerd itself drops what is routed to a container from outside.
    guards_containers: bool = False

    def translates(self, family: int) -> bool:
        """Whether dockerd translates the addresses of published ports; else only docker-proxy serves them."""
        return family == 4 or self.ip6tables

    @property
    def image(self) -> tuple[str, tuple[str, ...]]:
        """What decides on which host it can run."""
        return self.release, self.packages

    def daemon(self, userland_proxy: bool) -> str:
        """The text of daemon.json."""
        ipv6 = {"ipv6": True, "fixed-cidr-v6": CONTAINER_PREFIX.format(0)} if self.ipv6 else {}
        # vfs, because the host's root is an overlay, on which no other can be stacked.
        common = {"storage-driver": "vfs", "log-driver": "none", "userland-proxy": userland_proxy}
        return json.dumps({**common, **ipv6, **self.options}, indent=1) + "\n"


_IP6TABLES = {"experimental": True, "ip6tables": True}
_BOOKWORM = ("docker.io",)
_TRIXIE = ("docker-cli", "docker.io")
_SID = ("docker-cli/sid", "docker.io/sid")

#: 20.10 as installed has no IPv6 in containers, so docker-proxy serves it from outside. 26.1 without ip6tables has
#: addresses, but no rules.
ENGINES = (
    Engine("20.10", "20.10.", "bookworm", _BOOKWORM, ip6tables=False, ipv6=False, options={}),
    Engine("20.10-ip6tables", "20.10.", "bookworm", _BOOKWORM, ip6tables=True, ipv6=True, options=_IP6TABLES),
    Engine("26.1", "26.1.", "trixie", _TRIXIE, ip6tables=True, ipv6=True, options=_IP6TABLES),
    Engine("26.1-ip6tables-off", "26.1.", "trixie", _TRIXIE, ip6tables=False, ipv6=True, options={}),
    Engine("28.5", "28.5.", "trixie", _SID, ip6tables=True, ipv6=True, options={}, guards_containers=True),
)


@dataclass(frozen=True)
class Setting:
    """An engine, with docker-proxy or without."""

    engine: Engine
    userland_proxy: bool = True

    @property
    def id(self) -> str:
        """For the name of a test."""
        return f"{self.engine.name}-{'proxy' if self.userland_proxy else 'no-proxy'}"


SETTINGS = tuple(Setting(engine, proxy) for engine in ENGINES for proxy in (True, False))
#: The one that speaks for the rest in ``make test``.
REPRESENTATIVE = "26.1-proxy"


def settings(*engines: str, proxy: bool | None = None) -> list[Setting]:
    """The settings of these engines, of all when none is named; with docker-proxy, without, or (None) both."""
    unknown = set(engines) - {engine.name for engine in ENGINES}
    assert not unknown, f"no engine is named {', '.join(sorted(unknown))}"
    return [
        setting
        for setting in SETTINGS
        if (not engines or setting.engine.name in engines) and proxy in (None, setting.userland_proxy)
    ]


def on(chosen: list[Setting], in_make_test: bool = False) -> pytest.MarkDecorator:
    """Run a test of ``stage`` in each of these settings; with ``in_make_test`` in one of them always."""
    speaks = [pytest.mark.representative] if in_make_test else []
    settings_of_test = [
        pytest.param(setting, id=setting.id, marks=speaks if setting.id == REPRESENTATIVE else []) for setting in chosen
    ]
    return pytest.mark.parametrize("setting", settings_of_test, indirect=True)
