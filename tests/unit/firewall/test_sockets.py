# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who listens, as proc_net(5) tells it; the lines are those of a host with Docker 26.1."""

from __future__ import annotations

import sys

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._firewall.auditing.sockets import (
    Listener,
    Process,
    Socket,
    bound_unix,
    listening,
    serving,
)

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
REST = "00000000:00000000 00:00000000 00000000     0        0"
TCP = [
    HEAD,
    f"   0: 00000000:20FB 00000000:0000 0A {REST} 812071 1 00000000631d9d2d 100 0 0 10 0",
    f"   1: 0100007F:2328 00000000:0000 0A {REST} 812072 1 00000000631d9d2d 100 0 0 10 0",
    f"   2: 0100007F:0016 0100007F:9999 01 {REST} 812073 1 00000000631d9d2d 100 0 0 10 0",
    f"   3: 00000000:0050 00000000:0000 0A {REST} 812074 1 00000000631d9d2d 100 0 0 10 0",
]
UDP6 = [
    HEAD,
    f"  426: B80D0120000001000000000001000000:14E9 00000000000000000000000000000000:0000 07 {REST} 811376 2 0 0",
    f"  427: 00000000000000000000000000000000:14EA B80D0120000001000000000002000000:0035 01 {REST} 811377 2 0 0",
    f"  428: 0000000000000000FFFF00000A00000A:14EB 00000000000000000000000000000000:0000 07 {REST} 811378 2 0 0",
]

pytestmark = pytest.mark.skipif(sys.byteorder != "little", reason="the lines are from a little-endian machine")


def test_tcp_is_read_as_far_as_it_listens() -> None:
    assert list(listening(TCP, "tcp")) == [
        Socket("tcp", 8443, "0.0.0.0", 812071),
        Socket("tcp", 9000, "127.0.0.1", 812072),
    ]


def test_udp_that_is_connected_takes_from_its_peer_only() -> None:
    assert list(listening(UDP6, "udp")) == [
        Socket("udp", 5353, "2001:db8:1::1", 811376),
        Socket("udp", 5355, "10.0.0.10", 811378),
    ]


def test_sockets_of_docker() -> None:
    lines = [
        "Num       RefCount Protocol Flags    Type St Inode Path",
        "0000000000000000: 00000002 00000000 00010000 0001 01 20418 /run/docker.sock\n",
        "0000000000000000: 00000003 00000000 00000000 0001 03 20419 /run/docker.sock\n",
        "0000000000000000: 00000002 00000000 00010000 0001 01 20420 /run/other.sock\n",
        "0000000000000000: 00000003 00000000 00000000 0001 03 20421\n",
    ]
    assert bound_unix(lines, {"/run/docker.sock", "/var/run/docker.sock"}) == {20418}


def test_who_serves_is_who_did_not_only_open_it() -> None:
    systemd, dockerd, proxy = Process(1, "systemd"), Process(200, "dockerd"), Process(900, "docker-proxy")

    assert serving([systemd, dockerd, proxy]) == proxy
    assert serving([systemd, dockerd]) == dockerd
    assert serving([systemd]) == systemd
    assert serving([]) is None


def test_loopback_is_reached_by_the_host_only() -> None:
    assert not Listener(Socket("tcp", 1, "127.0.0.53", 1), None).reachable
    assert not Listener(Socket("tcp", 1, "::1", 1), None).reachable
    assert Listener(Socket("tcp", 1, "::", 1), None).reachable
    assert [Socket("tcp", 1, each, 1).everywhere for each in ("::", "0.0.0.0", "192.0.2.1")] == [True, True, False]
