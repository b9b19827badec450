# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a running dockerd is set up."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.auditing.daemon_settings import (
    CONFIG_FILE,
    Daemon,
    config_file,
    flags,
    open_hosts,
    running,
)

DEBIAN = ["/usr/sbin/dockerd", "-H", "fd://", "--containerd=/run/containerd/containerd.sock"]


def daemon(*argv: str, file: dict[str, t.Any] | None = None, version: str = "26.1.5+dfsg1", **more: t.Any) -> Daemon:
    newer = more.pop("newer", False)
    config = config_file(CONFIG_FILE, None if file is None else json.dumps(file), newer)
    return running(7, flags(["dockerd", *argv]), config, {"ServerVersion": version, **more} if version else {})


def test_defaults_are_those_of_the_version() -> None:
    old, new = daemon(), daemon(version="27.0.1")

    assert (old.iptables, old.userland_proxy, old.firewall_backend) == (True, True, "iptables")
    assert (old.ip6tables, new.ip6tables) == (False, True)
    assert (old.hosts, old.tls, old.tls_verify) == (("unix:///var/run/docker.sock",), False, False)
    assert daemon(version="").ip6tables is None


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (DEBIAN[1:], {"hosts": ["fd://"]}),
        (["-H=fd://", "--host", "tcp://:2375", "-Htcp://:1"], {"hosts": ["fd://", "tcp://:2375", "tcp://:1"]}),
        (
            ["--iptables=false", "--ip6tables", "--tlsverify=0"],
            {"iptables": False, "ip6tables": True, "tlsverify": False},
        ),
        (["--userland-proxy=F", "--config-file", "/x"], {"userland-proxy": False, "config-file": "/x"}),
        (["--config-file=/y", "--debug", "false"], {"config-file": "/y"}),
    ],
)
def test_flags(argv: list[str], found: dict[str, t.Any]) -> None:
    assert flags(["dockerd", *argv]) == found


def test_the_file_and_the_command_line_each_set_their_own() -> None:
    found = daemon("--iptables=false", file={"userland-proxy": False, "hosts": ["tcp://0.0.0.0:2375"]})

    assert (found.iptables, found.userland_proxy, found.hosts) == (False, False, ("tcp://0.0.0.0:2375",))
    assert found.firewall_backend == "none"
    assert found.conflicts == ()


def test_what_is_set_twice_keeps_docker_from_starting() -> None:
    assert daemon(*DEBIAN[1:], file={"hosts": ["tcp://:1"], "iptables": True}).conflicts == ("hosts",)


def test_a_file_that_is_newer_than_the_daemon_tells_nothing() -> None:
    found = daemon("--iptables=false", file={"ip6tables": True}, newer=True)

    assert (found.iptables, found.ip6tables, found.userland_proxy, found.tls, found.hosts) == (False, *[None] * 4)


@pytest.mark.parametrize("text", ["{", "[]", "\0"])
def test_a_file_that_is_no_object(text: str) -> None:
    config = config_file(CONFIG_FILE, text)

    assert config.error
    assert running(1, {}, config, {}).iptables is None
    assert not config_file(CONFIG_FILE, " \n").error


def test_what_docker_tells_of_itself_comes_first() -> None:
    answers: dict[str, t.Any] = {"EnableUserlandProxy": False, "FirewallBackend": {"Driver": "nftables+firewalld"}}
    found = daemon(version="29.5.0", **answers)

    assert (found.userland_proxy, found.firewall_backend) == (False, "nftables+firewalld")
    assert daemon(file={"firewall-backend": "nftables"}, version="29.0.0").firewall_backend == "nftables"
    assert daemon(file={"firewall-backend": "nftables"}, version="").firewall_backend is None


def test_tls_is_implied_where_certificates_are_asked_for() -> None:
    asking = daemon("--tlsverify")

    assert (asking.tls, asking.tls_verify) == (True, True)
    assert (daemon("--tls").tls, daemon("--tls").tls_verify) == (True, False)


def test_hosts_that_others_reach() -> None:
    local = [
        "fd://",
        "unix:///run/docker.sock",
        "tcp://127.0.0.1:2375",
        "tcp://:2375",
        "tcp://localhost:1",
        "tcp://[::1]:1",
    ]
    others = {"tcp://0.0.0.0:2376": 2376, "tcp://192.0.2.1": 2375, "tcp://[::]:1": 1, "tcp://host.example:2/": 2}

    assert open_hosts([*local, *others]) == tuple(others.items())
