"""Which disks sit in which slots of a machine, and which were pulled and lie on the shelf. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from .errors import LabError
from .topology import Disk


@dataclass(frozen=True)
class Unit:
    """A disk as an object of its own: what it says about itself, and the file that holds its bytes."""

    disk: Disk
    file: str


@dataclass(frozen=True)
class Bays:
    """Slots (index -> unit) and the shelf. A pulled disk keeps its bytes and may come back."""

    count: int
    inserted: Mapping[int, Unit]
    shelf: tuple[Unit, ...] = ()

    def slot_of(self, name: str) -> int:
        """The slot that holds disk ``name``; raises LabError when none does."""
        for slot, unit in self.inserted.items():
            if unit.disk.id == name:
                return slot
        present = ", ".join(unit.disk.id for unit in self.inserted.values()) or "none"
        raise LabError(f"no disk {name!r} is inserted; inserted are: {present}")

    def shelved(self, name: str) -> Unit:
        """The disk of that name that was pulled last; raises LabError when there is none."""
        for unit in reversed(self.shelf):
            if unit.disk.id == name:
                return unit
        raise LabError(f"no disk {name!r} lies on the shelf; give a size to add a new one")

    def insert(self, unit: Unit, slot: int | None = None) -> Bays:
        """Insert into ``slot``, or into the lowest free one.

        Raises:
            LabError: a disk of that id or serial is there already, or no slot is free.
        """
        for other in self.inserted.values():
            if other.disk.id == unit.disk.id:
                raise LabError(f"disk {unit.disk.id!r} is inserted already")
            if other.disk.serial == unit.disk.serial:
                raise LabError(f"the serial {unit.disk.serial!r} belongs to the inserted disk {other.disk.id!r}")
        free = [index for index in range(self.count) if index not in self.inserted]
        chosen = slot if slot is not None else (free[0] if free else None)
        if chosen is None or chosen not in free:
            raise LabError(f"no free slot among the host's {self.count}; raise disk_slots in the topology")
        shelf = tuple(item for item in self.shelf if item.file != unit.file)
        return replace(self, inserted=dict(sorted({**self.inserted, chosen: unit}.items())), shelf=shelf)

    def remove(self, name: str) -> Bays:
        """Pull a disk and put it on the shelf."""
        slot = self.slot_of(name)
        rest = {index: unit for index, unit in self.inserted.items() if index != slot}
        return replace(self, inserted=rest, shelf=(*self.shelf, self.inserted[slot]))

    def change(self, name: str, disk: Disk) -> Bays:
        """The same bays with other properties of an inserted disk."""
        slot = self.slot_of(name)
        return replace(self, inserted={**self.inserted, slot: replace(self.inserted[slot], disk=disk)})

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units, inserted ones first."""
        return (*self.inserted.values(), *self.shelf)

    def to_json(self) -> dict[str, Any]:
        """For the state file; ``from_json`` reads it back."""
        return {
            "count": self.count,
            "inserted": {str(slot): asdict(unit) for slot, unit in self.inserted.items()},
            "shelf": [asdict(unit) for unit in self.shelf],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Bays:
        """The inverse of ``to_json``."""
        return Bays(
            count=data["count"],
            inserted={int(slot): _unit(item) for slot, item in data["inserted"].items()},
            shelf=tuple(_unit(item) for item in data["shelf"]),
        )


def _unit(data: Mapping[str, Any]) -> Unit:
    return Unit(disk=Disk(**data["disk"]), file=data["file"])
