"""Contents on their way to the module, and secrets on their way out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._config.contents import MASK, decoded, encoded, masked


@given(st.binary())
def test_what_is_encoded_comes_back_byte_for_byte(content: bytes) -> None:
    assert decoded(encoded(content)) == content


def test_plain_text_stands_for_itself() -> None:
    assert decoded("listen 80\n") == b"listen 80\n"


def test_lines_of_a_secret_are_masked_where_a_daemon_quotes_them() -> None:
    secret = b"userlist\n  user admin password  hunter22\n}\n"
    text = "line 2: unknown keyword in 'user admin password  hunter22' }"
    assert masked(text, [secret]) == f"line 2: unknown keyword in '{MASK}' }}"


def test_a_line_within_a_longer_secret_line_leaves_nothing_of_it() -> None:
    assert masked("key abcdefgh", [b"abcdef\nkey abcdefgh\n"]) == MASK
