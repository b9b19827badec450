# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit looks at this very machine: its sockets and processes are real, only commands are not run."""

from __future__ import annotations

import os
import socket
import time
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._converge.command import Runner
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.host import Host
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.observing import processes
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.observing.audit import observe_audit
from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.ruleset import blueprint

from .declared import declared, policy


class Recorder(Runner):
    """Runs nothing and remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def run(self, argv: t.Sequence[str], *_how: t.Any, **_more: t.Any) -> str:
        self.asked.append(" ".join((os.path.basename(argv[0]), *argv[1:])))
        return '{"nftables": []}' if "--json" in argv else ""


@pytest.fixture(params=["tcp", "udp"])
def bound(request: pytest.FixtureRequest) -> Iterator[tuple[str, socket.socket]]:
    """A socket of this process, and its protocol."""
    kind = socket.SOCK_STREAM if request.param == "tcp" else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as own:
        own.bind(("127.0.0.1", 0))
        if request.param == "tcp":
            own.listen(1)
        yield request.param, own


def test_a_policy_finds_who_listens_on_its_port(bound: tuple[str, socket.socket], tmp_path: Path) -> None:
    protocol, own = bound
    port = own.getsockname()[1]
    table = blueprint(declared(policy(ports=[port], protocol=protocol)), {}).table
    found = observe_audit(str(tmp_path / "docker.sock"), Host(table=table), Recorder()).listeners

    (mine,) = [each for each in found if each.socket.address == "127.0.0.1"]
    assert (mine.socket.protocol, mine.socket.port, mine.reachable) == (protocol, port, False)
    assert mine.process is not None
    assert mine.process.pid == os.getpid()


def test_three_processes_at_most_and_none_of_them_makes_a_table(tmp_path: Path) -> None:
    runner = Recorder()
    audit = observe_audit(str(tmp_path / "docker.sock"), Host(), runner)

    assert set(runner.asked) <= {"iptables-save", "ip6tables-save", "nft --json list flowtables"}
    assert len(runner.asked) <= 3
    assert (audit.answers, audit.flowtables) == (None, ())


def test_a_path_is_known_by_its_other_names(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as own:
        path = tmp_path / "docker.sock"
        own.bind(str(path))
        own.listen(1)
        link = tmp_path / "link.sock"
        link.symlink_to(path)
        (inode,) = processes.unix_sockets(str(link))
        assert [each.pid for each in processes.owners(frozenset((inode,)))[inode]] == [os.getpid()]


def test_the_start_of_a_process() -> None:
    assert 0 <= time.time() - processes.started(os.getpid()) < 24 * 3600
    assert processes.command_line(os.getpid())[0]
