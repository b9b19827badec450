# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What BIRD's replies mean; they are those of BIRD 2.0.12, 2.17.6 and 3.1.8."""

from __future__ import annotations

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.daemons.bird import (
    Activity,
    BirdRefused,
    Line,
    is_complete,
    parse_protocols,
    parse_reply,
    parse_status,
)
from tests.unit.config.replay import BIRD_VERSIONS, bird

every_version = pytest.mark.parametrize("version", BIRD_VERSIONS)


@every_version
def test_a_reply_ends_with_a_code_and_a_space(version: str) -> None:
    for scene in ("status", "protocols", "timeout", "shrink"):
        for reply in bird(version, scene):
            cuts = [position for position in range(len(reply)) if is_complete(reply[:position].encode())]
            assert cuts == []
            assert is_complete(reply.encode())


@every_version
def test_a_line_that_begins_with_a_space_has_the_code_before(version: str) -> None:
    reply = parse_reply(bird(version, "status")[1])
    assert reply.of(1000) == (f"BIRD {version}",)
    assert [text.split(" ", 2)[:2] for text in reply.of(1011)] == [
        ["Router", "ID"],
        ["Hostname", "is"],
        ["Current", "server"],
        ["Last", "reboot"],
        ["Last", "reconfiguration"],
    ]
    assert (reply.code, reply.words) == (13, "Daemon is up and running")


@every_version
def test_the_last_line_decides(version: str) -> None:
    last = {
        "check good": [20],
        "configure": [4],
        "check bad": [8002],
        "timeout": [4, 18, 19],
        "timeout expire": [3, 13],
        "confirm after expiry": [19, 19],
        "undo": [4],
        "undo2": [19],
        "nonsense": [9001],
        "shrink": [4, 13, 0, 5, 18, 17, 19, 13],
    }
    found = {scene: [parse_reply(text).code for text in bird(version, scene)[1:]] for scene in last}
    assert found == last


def test_echoes_of_the_log_are_left_out() -> None:
    assert parse_reply("+something is logged\n0003 Reconfigured\n").lines == (Line(3, "Reconfigured"),)


@pytest.mark.parametrize("text", ["", "HTTP/1.1 400 Bad request\n", " begins in the middle\n"])
def test_what_is_no_reply_is_told(text: str) -> None:
    with pytest.raises(ValueError, match="no reply of BIRD"):
        parse_reply(text)


@every_version
def test_status_tells_the_version_and_what_it_does(version: str) -> None:
    assert parse_status(parse_reply(bird(version, "status")[1])).version == version
    assert parse_status(parse_reply(bird(version, "status")[1])).activity is Activity.RUNNING
    assert parse_status(parse_reply(bird(version, "shrink")[2])).activity is Activity.RECONFIGURING


@pytest.mark.parametrize("version", ["2.0.12", "2.17.6"])
def test_status_tells_of_a_shutdown(version: str) -> None:
    assert parse_status(parse_reply(bird(version, "down")[2])).activity is Activity.SHUTTING_DOWN


def test_a_status_in_unknown_words_is_not_taken_for_running() -> None:
    with pytest.raises(BirdRefused, match="Daemon is asleep"):
        parse_status(parse_reply("1000-BIRD 4.0\n0013 Daemon is asleep\n"))


@every_version
def test_protocols_tell_their_states(version: str) -> None:
    found = {each.name: each for each in parse_protocols(parse_reply(bird(version, "protos")[1]))}
    assert {name: (each.kind, each.up) for name, each in found.items()} == {
        "device1": ("Device", True),
        "kernel1": ("Kernel", True),
        "static1": ("Static", True),
        "up": ("BGP", found["up"].more.endswith(" Established")),
        "silent": ("BGP", False),
        "resting": ("BGP", False),
        "many": ("Static", True),
    }
    assert found["silent"].state == "start"
    assert found["resting"].state == "down"


@pytest.mark.parametrize("version", ["2.17.6", "3.1.8"])
def test_an_established_session_is_up(version: str) -> None:
    found = {each.name: each for each in parse_protocols(parse_reply(bird(version, "protocols")[1]))}
    assert found["up"].up
    assert found["up"].more.endswith("Established")


@every_version
def test_a_protocol_that_ends_is_not_up(version: str) -> None:
    found = {each.name: each for each in parse_protocols(parse_reply(bird(version, "shrink")[3]))}
    assert found["many"].state == "flush"
    assert not found["many"].up
