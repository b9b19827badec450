"""Which array has the right to a name, and which members md would start it from."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats.superblock import Found
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import LINUX_RAID, Partition, Superblock
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.arrays import (
    Claim,
    choose,
    fresh,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.disks import Piece
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.observing.sysfs import KernelArray

SPARE, FAULTY = 0xFFFF, 0xFFFE


def kernel(state: str) -> KernelArray:
    return KernelArray(
        name="md0",
        node="/dev/md0",
        state=state,
        uuid="",
        level=5,
        devices=3,
        previous_devices=0,
        chunk=65536,
        component_size=1,
        degraded=0,
        bitmap=True,
        policy="bitmap",
        action="idle",
        activity=None,
        hidden_reshape=False,
        suspended=False,
        size=2,
        read_only=False,
        holders=(),
        members=(),
    )


def piece(number: int, events: int, roles: tuple[int, ...]) -> Piece:
    role = roles[number]
    superblock = Superblock(
        array_uuid="a",
        device_uuid=str(number),
        name="data-0",
        home_host="any",
        level=5,
        devices=3,
        events=events,
        role=role if role < SPARE - 2 else None,
        faulty=role == FAULTY,
        data_offset=0,
        component_size=1,
        chunk=65536,
        has_bitmap=True,
        has_bad_blocks=False,
        reshaping=False,
    )
    partition = Partition(1, 0, 2, "data-0", LINUX_RAID, f"/dev/sd{'abcdef'[number]}1")
    return Piece(f"/dev/sd{'abcdef'[number]}", partition, Found("1.2", superblock, device_number=number, roles=roles))


def nodes(pieces: tuple[Piece, ...]) -> list[str]:
    return sorted(each.partition.node for each in pieces)


STRONGER_FIRST = [
    (Claim(0, "b", kernel("inactive"), in_group=True), Claim(0, "a", kernel("clean")), {"a": 9}),
    (Claim(0, "b", kernel("clean")), Claim(0, "a", kernel("inactive")), {"a": 9}),
    (Claim(0, "b", kernel("inactive")), Claim(0, "a"), {"a": 9}),
    (Claim(0, "b"), Claim(0, "a"), {"a": 1, "b": 2}),
    (Claim(0, "a"), Claim(0, "b"), {"a": 2, "b": 2}),
]


@pytest.mark.parametrize(("winner", "loser", "members"), STRONGER_FIRST)
def test_the_better_claim_wins_in_either_order(winner: Claim, loser: Claim, members: dict[str, int]) -> None:
    assert choose([winner, loser], members) == {0: winner}
    assert choose([loser, winner], members) == {0: winner}


def test_different_names_do_not_compete() -> None:
    assert set(choose([Claim(0, "a"), Claim(1, "b")], {})) == {0, 1}


def test_event_counts_that_differ_by_one_are_fresh() -> None:
    roles = (0, 1, 2)

    assert nodes(fresh([piece(0, 10, roles), piece(1, 9, roles), piece(2, 8, roles)])) == ["/dev/sda1", "/dev/sdb1"]


@pytest.mark.parametrize("role", [SPARE, FAULTY])
def test_a_member_that_the_newest_superblock_gave_up_is_not_fresh(role: int) -> None:
    good, gone = piece(0, 10, (0, 1, role)), piece(2, 9, (0, 1, 2))

    assert nodes(fresh([gone, good])) == ["/dev/sda1"]


def test_a_spare_is_fresh() -> None:
    roles = (0, 1, SPARE)

    assert nodes(fresh([piece(0, 10, roles), piece(2, 10, roles)])) == ["/dev/sda1", "/dev/sdc1"]


def test_what_calls_itself_faulty_is_not_fresh() -> None:
    roles = (0, 1, FAULTY)

    assert nodes(fresh([piece(0, 10, roles), piece(2, 10, roles)])) == ["/dev/sda1"]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_the_newest_is_always_fresh(events: list[int]) -> None:
    roles = tuple(range(len(events)))
    found = fresh([piece(number, count, roles) for number, count in enumerate(events)])

    assert {each.found.superblock.events for each in found} <= {max(events), max(events) - 1}
    assert found[0].found.superblock.events == max(events)


def test_nothing_is_fresh_of_nothing() -> None:
    assert fresh([]) == ()
