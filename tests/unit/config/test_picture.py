"""What people see of a change."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.baremetal.fabric.plugins.module_utils._config.model import Entry, Generation, Host
from ansible_collections.baremetal.fabric.plugins.module_utils._config.picture import difference
from ansible_collections.baremetal.fabric.plugins.module_utils._config.steps import as_live

OLD, NEW = Entry("/etc/a", "1", 0, 0, 0o644), Entry("/etc/a", "2", 0, 7, 0o600)
CONTENTS = {"1": b"old\n", "2": b"new\n", "3": b"by hand\n", "b": b"\xff\xfe"}


def host(entry: Entry | None, number: int = 1, secret: bool = False) -> Host:
    kept = Generation(number, (replace(entry or OLD, secret=secret),), verified="then")
    return Host("toy", {"/etc/a": as_live("/etc/a", "/etc/a", entry)}, {number: kept}, number, contents=CONTENTS)


def test_a_change_shows_content_owner_and_mode() -> None:
    assert difference(host(OLD), host(NEW, 2), {}) == [
        {
            "before_header": "/etc/a 0:0 0644",
            "before": "old\n",
            "after_header": "/etc/a 0:7 0600",
            "after": "new\n",
        }
    ]


def test_what_does_not_change_is_not_shown() -> None:
    assert difference(host(OLD), host(OLD, 2), {}) == []


def test_a_secret_is_not_shown_but_that_it_changes_is() -> None:
    [shown] = difference(host(OLD, secret=True), host(NEW, 2, secret=True), {})
    assert (shown["before"], shown["after"]) == ("(secret)\n", "(another secret)\n")
    [shown] = difference(host(OLD, secret=True), host(replace(OLD, mode=0o600), 2, secret=True), {})
    assert (shown["before"], shown["after"]) == ("(secret)\n", "(secret)\n")


def test_what_was_no_secret_before_is_none_in_the_diff_any_more() -> None:
    [shown] = difference(host(OLD), host(NEW, 2, secret=True), {})
    assert "old" not in shown["before"]


def test_an_edit_by_hand_is_shown_before_what_becomes_of_it() -> None:
    edited = replace(host(OLD), live={"/etc/a": as_live("/etc/a", "/etc/a", replace(OLD, digest="3"))})
    first, second = difference(replace(edited, drift=("/etc/a",)), host(OLD, 2), {})
    assert (first["before"], first["after"]) == ("old\n", "by hand\n")
    assert "as verified in set 1" in first["before_header"]
    assert (second["before"], second["after"]) == ("by hand\n", "old\n")


def test_a_file_that_is_no_text_is_named_by_its_digest() -> None:
    [shown] = difference(host(OLD), host(replace(OLD, digest="b"), 2), {})
    assert shown["after"] == "(not text, 2 bytes, SHA-256 b)\n"
