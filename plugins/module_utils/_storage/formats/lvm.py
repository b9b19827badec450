# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Volume groups, physical and logical volumes, from one process (lvmreport(7), lvm-fullreport(8))."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

#: Which columns are asked for. Every part of the report has to be named, else it comes with all its columns.
_COLUMNS = (
    ("vg", "vg_name,vg_uuid,vg_extent_size,vg_missing_pv_count"),
    ("pv", "pv_name,pv_major,pv_minor,pv_missing,pe_start,pv_pe_count"),
    ("lv", "lv_name,lv_size,lv_kernel_major,lv_kernel_minor,lv_suspended"),
    ("pvseg", "pv_uuid"),
    ("seg", "lv_uuid"),
)


@dataclass(frozen=True)
class PhysicalVolumeReport:
    """A physical volume. Bytes; ``device`` is "MAJOR:MINOR", "" when LVM cannot find it."""

    name: str
    device: str
    pe_start: int
    extents: int


@dataclass(frozen=True)
class LogicalVolumeReport:
    """A logical volume. Bytes; ``device`` is "MAJOR:MINOR", "" when it is not active or is suspended."""

    name: str
    size: int
    device: str


@dataclass(frozen=True)
class GroupReport:
    """A volume group."""

    name: str
    uuid: str
    extent_size: int
    missing: int
    physical: tuple[PhysicalVolumeReport, ...]
    logical: tuple[LogicalVolumeReport, ...]


def report_command(group: str) -> tuple[str, ...]:
    """Return the command that reports everything about the volume groups named ``group``.

    A selection instead of the name as argument, because then a group that does not exist is no error.
    """
    argv = ["lvm", "fullreport", "--reportformat", "json", "--units", "b", "--nosuffix", "--select", f"vg_name={group}"]
    for part, columns in _COLUMNS:
        argv += ["--configreport", part, "--options", columns]
    return tuple(argv)


def _device(row: t.Mapping[str, str], prefix: str) -> str:
    major, minor = row.get(f"{prefix}_major", ""), row.get(f"{prefix}_minor", "")
    return f"{major}:{minor}" if major.isdigit() and minor.isdigit() else ""


def _physical(row: t.Mapping[str, str]) -> PhysicalVolumeReport:
    missing = row["pv_missing"] not in ("", "0")
    return PhysicalVolumeReport(
        name=row["pv_name"],
        device="" if missing else _device(row, "pv"),
        pe_start=int(row["pe_start"]),
        extents=int(row["pv_pe_count"]),
    )


def _logical(row: t.Mapping[str, str]) -> LogicalVolumeReport:
    suspended = row["lv_suspended"] not in ("", "0")
    return LogicalVolumeReport(
        name=row["lv_name"],
        size=int(row["lv_size"]),
        # A read of a suspended device would not return.
        device="" if suspended else _device(row, "lv_kernel"),
    )


def parse_report(text: str) -> tuple[GroupReport, ...]:
    """Return the groups in the JSON that :func:`report_command` prints: usually one or none.

    Raises ValueError when it is no such report.
    """
    try:
        parts = json.loads(text)["report"]
        groups = []
        for part in parts:
            # Physical volumes that belong to no group come in a part of their own.
            for row in part.get("vg", ()):
                groups.append(
                    GroupReport(
                        name=row["vg_name"],
                        uuid=row["vg_uuid"],
                        extent_size=int(row["vg_extent_size"]),
                        missing=int(row["vg_missing_pv_count"]),
                        physical=tuple(_physical(each) for each in part.get("pv", ())),
                        logical=tuple(_logical(each) for each in part.get("lv", ())),
                    )
                )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"LVM printed no report that can be read ({error!r})") from error
    return tuple(groups)
