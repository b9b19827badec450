"""What the action plugin hands to the module."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.baremetal.fabric.plugins.action.guarded_config import sent
from ansible_collections.baremetal.fabric.plugins.module_utils._config.contents import decoded


def never(name: str) -> bytes:
    raise AssertionError(f"{name} is not on the controller")


@pytest.mark.parametrize(
    ("content", "expected"),
    [("listen 80\n", b"listen 80\n"), ("", b""), (80, b"80"), ({"a": [1]}, b'{"a": [1]}'), ("\udcff", b"\xff")],
)
def test_contents_go_out_encoded_and_come_back_as_they_were(content: Any, expected: bytes) -> None:
    file = sent({"path": "/etc/a", "content": content}, never)
    assert file["path"] == "/etc/a"
    assert decoded(file["content"]) == expected
    assert str(content) not in file["content"] or not content


def test_a_file_of_the_controller_is_sent_as_content() -> None:
    file = sent({"path": "/etc/a", "src": "a.pem"}, lambda name: name.encode())
    assert decoded(file["content"]) == b"a.pem"
    assert "src" not in file


@pytest.mark.parametrize("value", [True, "yes", "true"])
def test_a_file_of_the_host_stays_there(value: Any) -> None:
    given = {"path": "/etc/a", "src": "/root/a", "remote_src": value}
    assert sent(given, never) == given
