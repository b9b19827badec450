"""Which of the slow tests speak for the rest in ``make test``."""

from __future__ import annotations

import pytest

REPRESENTATIVE = (
    "test_a_machine_and_a_container_share_a_link",
    "test_a_second_up_does_nothing",
    "test_a_disk_is_swapped_under_the_running_host",
    "test_a_snapshot_brings_back_memory_disks_and_which_disks_there_were",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them on one release: one boot for all of them."""
    for item in items:
        if isinstance(item, pytest.Function) and item.originalname in REPRESENTATIVE and "trixie" in item.name:
            item.add_marker(pytest.mark.representative)
