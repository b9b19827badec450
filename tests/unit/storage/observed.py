"""What tests ask of an observed pool."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import (
    Array,
    Disk,
    Pool,
)

MIB = 1024 * 1024
FOUR = ("/dev/vdb", "/dev/vdc", "/dev/vdd", "/dev/vde")
FIVE = (*FOUR, "/dev/vdf")
SIX = (*FIVE, "/dev/vdg")
RELEASES = pytest.mark.parametrize("release", ["trixie", "bookworm"])


def only_array(pool: Pool) -> Array:
    (array,) = pool.arrays
    return array


def disk(pool: Pool, node: str) -> Disk:
    found = pool.disk(node)
    assert found is not None
    return found


def slots(array: Array) -> dict[str, int | None]:
    return {member.node: member.slot for member in array.members}


def said(sentences: Iterable[str], *words: str) -> bool:
    """Whether one of the sentences has all the words."""
    return any(all(word in sentence for word in words) for sentence in sentences)
