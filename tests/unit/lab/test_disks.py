"""Slots and the shelf."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.lab.disks import Bays, Unit
from tests.lab.errors import LabError
from tests.lab.topology import parse_disk


def unit(name: str, serial: str | None = None) -> Unit:
    return Unit(parse_disk(name, {"size": "101M", "serial": serial or name}, name), f"{name}-{serial}.qcow2")


BAYS = Bays(count=3, inserted={}).insert(unit("d1")).insert(unit("d2"))


def test_a_disk_goes_to_the_lowest_free_slot() -> None:
    assert BAYS.remove("d1").insert(unit("d3")).slot_of("d3") == 0


def test_a_pulled_disk_lies_on_the_shelf_until_it_is_inserted_again() -> None:
    pulled = BAYS.remove("d1")
    assert pulled.shelved("d1") == unit("d1")
    back = pulled.insert(pulled.shelved("d1"))
    assert back.shelf == ()
    assert back.inserted == BAYS.inserted


def test_the_disk_that_was_pulled_last_comes_back() -> None:
    twice = BAYS.remove("d1").insert(unit("d1", "new")).remove("d1")
    assert twice.shelved("d1").disk.serial == "new"


@pytest.mark.parametrize(
    ("added", "message"),
    [(unit("d1", "x"), "d1' is inserted already"), (unit("d9", "d2"), "belongs to the inserted disk 'd2'")],
)
def test_two_disks_cannot_have_one_name_or_serial(added: Unit, message: str) -> None:
    with pytest.raises(LabError, match=message):
        BAYS.insert(added)


def test_a_full_machine_says_so() -> None:
    with pytest.raises(LabError, match="no free slot among the host's 3"):
        BAYS.insert(unit("d3")).insert(unit("d4"))


def test_unknown_disks_are_named_with_the_known_ones() -> None:
    with pytest.raises(LabError, match="no disk 'd7' is inserted; inserted are: d1, d2"):
        BAYS.remove("d7")
    with pytest.raises(LabError, match="no disk 'd7' lies on the shelf"):
        BAYS.shelved("d7")


def test_the_state_file_holds_everything() -> None:
    bays = BAYS.remove("d1").change("d2", replace(unit("d2").disk, iops=50))
    assert Bays.from_json(bays.to_json()) == bays
