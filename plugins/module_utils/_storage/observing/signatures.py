# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Signatures of other owners on devices, as wipefs(8) and blkid(8) find them, and in words."""

from __future__ import annotations

import json
import typing as t
from dataclasses import dataclass

from ..._converge.command import CommandError, Runner

_NOTHING_FOUND = 2
_AMBIVALENT = 8

_WORDS = {
    "LVM2_member": "LVM physical volume",
    "linux_raid_member": "md member",
    "crypto_LUKS": "LUKS volume",
    "dos": "MBR partition table",
    "gpt": "GUID partition table",
    "PMBR": "protective MBR",
    "swap": "swap area",
    "zfs_member": "ZFS member",
    "bcache": "bcache device",
}


@dataclass(frozen=True)
class Signature:
    """One signature. ``offset`` in bytes from the start of the device, -1 when not told."""

    kind: str  #: libblkid's name of the type
    usage: str  #: filesystem, raid, crypto, partition-table, other
    label: str = ""
    uuid: str = ""
    offset: int = -1

    def __str__(self) -> str:
        words = _WORDS.get(self.kind)
        if words is None:
            words = f"{self.kind} {'file system' if self.usage == 'filesystem' else 'signature'}"
        return f"{words} '{self.label}'" if self.label else words


def scan_command(nodes: t.Sequence[str]) -> tuple[str, ...]:
    """Return the one command that lists the signatures on all ``nodes``. It writes nothing."""
    return ("wipefs", "--no-act", "--json", "--output", "DEVICE,OFFSET,TYPE,UUID,LABEL,USAGE", *nodes)


def parse_scan(text: str) -> dict[str, tuple[Signature, ...]]:
    """Return the signatures in wipefs' JSON by device name without /dev; it prints nothing when there are none."""
    found: dict[str, tuple[Signature, ...]] = {}
    for row in json.loads(text)["signatures"] if text.strip() else ():
        signature = Signature(
            kind=row["type"],
            usage=row["usage"] or "",
            label=row["label"] or "",
            uuid=row["uuid"] or "",
            offset=int(row["offset"], 16),
        )
        found[row["device"]] = (*found.get(row["device"], ()), signature)
    return found


def scan(runner: Runner, nodes: t.Sequence[str]) -> tuple[dict[str, tuple[Signature, ...]], dict[str, str]]:
    """Return the signatures on ``nodes`` by node, and for nodes that cannot be read what wipefs said of them.

    wipefs gives up at the first device that it cannot read, so then each is asked by itself.
    """
    if not nodes:
        return {}, {}
    try:
        return _by_node(runner.run(scan_command(nodes))), {}
    except CommandError as error:
        if len(nodes) == 1:
            return {}, {nodes[0]: error.stderr.strip() or str(error)}
    found: dict[str, tuple[Signature, ...]] = {}
    failed: dict[str, str] = {}
    for node in nodes:
        more, problems = scan(runner, (node,))
        found.update(more)
        failed.update(problems)
    return found, failed


def _by_node(text: str) -> dict[str, tuple[Signature, ...]]:
    return {f"/dev/{name}": signatures for name, signatures in parse_scan(text).items()}


def parse_export(text: str) -> Signature | None:
    """Return what blkid -o export prints, one KEY=VALUE a line with blanks escaped; None for nothing."""
    values = {}
    for line in text.splitlines():
        key, _equals, value = line.partition("=")
        values[key] = value.replace("\\ ", " ")
    kind = values.get("TYPE") or values.get("PTTYPE")
    if not kind:
        return None
    usage = values.get("USAGE") or ("partition-table" if "TYPE" not in values else "")
    return Signature(kind, usage, values.get("LABEL", ""), values.get("UUID", ""))


def probe(runner: Runner, node: str, offset: int = 0, size: int = 0) -> Signature | None:
    """Return what blkid's low-level probe finds on ``node``, or in ``size`` bytes from ``offset`` of it.

    Several signatures at once come back as one of kind "ambivalent".
    """
    place = ("--offset", str(offset), "--size", str(size)) if size else ()
    argv = ("blkid", "--probe", "--output", "export", *place, node)
    try:
        return parse_export(runner.run(argv, accept=(0, _NOTHING_FOUND)))
    except CommandError as error:
        if error.rc == _AMBIVALENT:
            return Signature("ambivalent", "other")
        raise
