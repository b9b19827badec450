"""What is written down of sets."""

from __future__ import annotations

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._config.model import (
    TOLD,
    Entry,
    Exchange,
    Generation,
    Transaction,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._config.records import (
    BadRecord,
    manifest_of,
    manifest_text,
    state_of,
    state_text,
)

ENTRY = Entry("/etc/bird/bird.conf", "d" * 64, 0, 107, 0o640, True)
CHANGE = Transaction(
    generation=4,
    replaces=3,
    phase=TOLD,
    exchanges=(Exchange("/etc/a", "/srv/a", True, ENTRY), Exchange("/etc/b", "/etc/b", True, None)),
    directories=("/etc/c", "/etc/c/d"),
    starts=True,
    untold=True,
)


def test_a_kept_set_reads_back_as_it_was_written() -> None:
    kept = Generation(3, (ENTRY,), 2, "2026-01-31T12:00:00+00:00", ("/etc/c",), {"validate": ["bird", "-p"]})
    assert manifest_of(manifest_text(kept)) == kept


@pytest.mark.parametrize("under_way", [None, CHANGE])
def test_a_change_reads_back_as_it_was_written(under_way: Transaction | None) -> None:
    assert state_of(state_text(3, under_way)) == (3, under_way)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 2, "current": 1, "transaction": null}', '{"version": 1}'])
def test_what_is_no_record_of_this_version_is_refused(text: str) -> None:
    with pytest.raises(BadRecord):
        state_of(text)
    with pytest.raises(BadRecord):
        manifest_of(text)
