# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From what a task declares to checks, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.bird import BirdCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.check import Check
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.command import CommandCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.file import FileCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.haproxy import HaproxyCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.http import HttpCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.keepalived import KeepalivedCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.parse import check_of
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.tcp import TcpCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.tls import TlsCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.checks.unit import UnitCheck
from ansible_collections.baremetal.fabric.plugins.module_utils._config.options import CHECK_SPEC
from ansible_collections.baremetal.fabric.plugins.module_utils._converge.converge import Refusal

URL = "http://127.0.0.1/healthcheck"


@pytest.mark.parametrize(
    ("given", "check"),
    [
        ({"unit": "haproxy.service"}, UnitCheck("haproxy.service")),
        ({"command": ["ping", "-c1", "192.0.2.1"]}, CommandCheck(("ping", "-c1", "192.0.2.1"))),
        ({"tcp": {"host": "localhost", "port": 80}}, TcpCheck("localhost", 80)),
        ({"tcp": {"port": 65535}}, TcpCheck("localhost", 65535)),
        (
            {"tls": {"host": "::1", "port": 443, "server_name": "www.example.com", "ca_file": "/etc/ca.pem"}},
            TlsCheck("::1", 443, "www.example.com", "/etc/ca.pem"),
        ),
        ({"tls": {"host": "localhost", "port": 1, "server_name": None, "ca_file": None}}, TlsCheck("localhost", 1)),
        (
            {"http": {"url": URL, "host_header": None, "status": 200, "contains": None, "ca_file": None}},
            HttpCheck(URL),
        ),
        (
            {"http": {"url": URL, "host_header": "a.example", "status": 301, "contains": "x", "ca_file": "/ca"}},
            HttpCheck(URL, "a.example", 301, "x", "/ca"),
        ),
        ({"http": {"url": "https://[::1]:8443"}}, HttpCheck("https://[::1]:8443")),
        ({"file": {"path": "/run/state", "contains": "MASTER"}}, FileCheck("/run/state", "MASTER")),
        ({"haproxy": "/run/haproxy-master.sock"}, HaproxyCheck("/run/haproxy-master.sock")),
        ({"bird": {"socket": "/run/bird/bird.ctl", "protocols": []}}, BirdCheck("/run/bird/bird.ctl")),
        ({"bird": {"protocols": ["rr1", "rr2"]}}, BirdCheck("/run/bird/bird.ctl", ("rr1", "rr2"))),
        ({"keepalived": "/run/keepalived.pid"}, KeepalivedCheck("/run/keepalived.pid")),
    ],
)
def test_each_kind_of_check_is_made(given: dict[str, Any], check: Check) -> None:
    # AnsibleModule hands over what was not given as None.
    assert check_of({**dict.fromkeys(CHECK_SPEC), **given}) == check
    # What was kept with a set has it left out.
    assert check_of(given) == check


def test_every_kind_that_a_task_may_declare_is_known() -> None:
    with pytest.raises(Refusal) as refused:
        check_of({})
    assert str(refused.value) == (f"A check in 'verify' says nothing; give it one of {', '.join(sorted(CHECK_SPEC))}.")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"unit": None}, "says nothing"),
        ({"unit": "a.service", "haproxy": "/run/x"}, "has unit and haproxy; give each a check of its own"),
        ({"unit": ""}, "has '', which is no name of a unit"),
        ({"unit": "--user"}, "has '--user', which is no name of a unit"),
        ({"command": []}, "The check 'command' is empty"),
        ({"command": [""]}, "The check 'command' is empty"),
        ({"tcp": {"host": "localhost", "port": 0}}, "'tcp' has the port 0; it has to be from 1 to 65535"),
        ({"tls": {"host": "localhost", "port": 65536}}, "'tls' has the port 65536"),
        ({"tcp": {"host": "", "port": 80}}, "'tcp' has an empty host"),
        ({"tls": {"port": 443, "ca_file": "ca.pem"}}, "'tls.ca_file' has the path 'ca.pem'; it has to be absolute"),
        ({"http": {"url": "ftp://localhost/"}}, "URL 'ftp://localhost/'; it has to begin with http:// or https://"),
        ({"http": {"url": "localhost"}}, "it has to begin with http:// or https:// and name a host"),
        ({"http": {"url": "http://"}}, "and name a host"),
        ({"http": {"url": "http://localhost:99999/"}}, "and name a host"),
        ({"http": {"url": "http://[::1/"}}, "and name a host"),
        ({"http": {"url": URL, "status": 99}}, "the status 99; it has to be from 100 to 599"),
        ({"http": {"url": URL, "host_header": "a\r\nX: y"}}, "no space can be in it"),
        ({"http": {"url": URL, "ca_file": "ca.pem"}}, "'http.ca_file' has the path 'ca.pem'"),
        ({"file": {"path": "run/state"}}, "'file.path' has the path 'run/state'"),
        ({"haproxy": "haproxy.sock"}, "'haproxy' has the path 'haproxy.sock'"),
        ({"haproxy": ""}, "'haproxy' has the path ''"),
        ({"bird": {"socket": "bird.ctl"}}, "'bird.socket' has the path 'bird.ctl'"),
        ({"bird": {"protocols": ["rr1", ""]}}, "a protocol without a name"),
        ({"keepalived": "keepalived.pid"}, "'keepalived' has the path 'keepalived.pid'"),
    ],
)
def test_mistakes_are_refused_in_one_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_of(given)
    assert words in str(refused.value)
    assert str(refused.value).endswith(".")
