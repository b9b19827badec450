"""mdadm.conf: which ARRAY lines concern the pool, and edits that leave every other byte alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats.mdadm_conf import (
    array_line,
    parse,
    recorded,
    with_arrays,
    without_arrays,
)

UUID = "c728379e:fd2c0f51:a3b9406c:c1879e03"
OTHER = "11111111:22222222:33333333:44444444"
LINE = f"ARRAY /dev/md/data-0 metadata=1.2 name=any:data-0 UUID={UUID}\n"
TEXT = f"""\
# mdadm.conf
HOMEHOST <system>
MAILADDR root

array /dev/md/other metadata=1.2
   # a comment inside
   UUID={OTHER}
ARRAY <ignore> UUID=99999999:99999999:99999999:99999999
"""


@pytest.mark.parametrize(
    ("text", "device", "uuid"),
    [
        (LINE, "/dev/md/data-0", UUID),
        (f"array data-0 uuid={UUID.upper()}", "/dev/md/data-0", UUID),
        (f"ARR /dev/md/data-0\n\tUUID={UUID}\n", "/dev/md/data-0", UUID),
        (f"ARRAY /dev/md/data-0\n# between\n\n UUID={UUID}\n", "/dev/md/data-0", UUID),
        (f'ARRAY "/dev/md/data-0" "UUID={UUID}" # end', "/dev/md/data-0", UUID),
        ("ARRAY UUID=c728379e-fd2c0f51-a3b9406c-c1879e03", "", UUID),
        (f" ARRAY /dev/md127 UUID={UUID.replace(':', '')}", "/dev/md127", UUID),
    ],
)
def test_a_line_is_understood_as_mdadm_does(text: str, device: str, uuid: str) -> None:
    (entry,) = parse(text)
    assert (entry.device, entry.uuid) == (device, uuid)


@pytest.mark.parametrize("text", ["# " + LINE, "AR /dev/md/x", "DEVICE /dev/sd*\n ARRAY /dev/md/data-0\n"])
def test_what_is_no_array_line(text: str) -> None:
    assert parse(text) == ()


def test_only_the_pools_lines_are_reported() -> None:
    text = TEXT + LINE + f"ARRAY /dev/md5 UUID={OTHER}\nARRAY /dev/md/data-10 UUID=\nARRAY /dev/md/data-x-0\n"

    assert recorded(text, "data") == (("/dev/md/data-0", UUID), ("/dev/md/data-10", ""))
    assert recorded(text, "data", [OTHER]) == (
        ("/dev/md/other", OTHER),
        ("/dev/md/data-0", UUID),
        ("/dev/md5", OTHER),
        ("/dev/md/data-10", ""),
    )


def test_new_lines_are_added_at_the_end() -> None:
    assert with_arrays(TEXT, "data", {0: UUID}) == TEXT + LINE
    assert with_arrays("MAILADDR root", "data", {0: UUID}) == "MAILADDR root\n" + LINE
    assert with_arrays("", "data", {0: UUID}) == LINE


def test_duplicates_and_outdated_lines_go_and_the_rest_stays() -> None:
    text = (
        "# mine\n"
        f"ARRAY /dev/md/data-0 UUID={OTHER}\n"
        "   # inside\n"
        "   spares=1\n"
        "MAILADDR root\n"
        f"ARRAY /dev/md127 UUID={UUID}\n"
        "# end"
    )

    after = with_arrays(text, "data", {0: UUID, 1: OTHER})

    assert after == "# mine\n" + LINE + array_line("data", 1, OTHER) + "   # inside\nMAILADDR root\n# end"


def test_writing_what_is_there_changes_nothing() -> None:
    text = with_arrays(TEXT, "data", {0: UUID, 1: "1" * 8 + UUID[8:]})

    assert with_arrays(text, "data", {0: UUID, 1: "1" * 8 + UUID[8:]}) == text


LINES = st.one_of(
    st.text(st.sampled_from("aArR#/ \t\\\"'=:é"), max_size=30),
    st.sampled_from(
        [f"ARRAY /dev/md/other UUID={OTHER}", "  spares=1", "", "HOMEHOST <system>", "# ARRAY /dev/md/data-0"]
    ),
)


@given(st.lists(LINES, max_size=6), st.booleans(), st.dictionaries(st.integers(0, 3), st.just(UUID), min_size=1))
def test_other_lines_stay_byte_for_byte(lines: list[str], newline: bool, arrays: dict[int, str]) -> None:
    text = "\n".join(lines) + ("\n" if newline else "")
    wanted = {index: f"{index:08x}{uuid[8:]}" for index, uuid in arrays.items()}

    once = with_arrays(text, "data", wanted)

    assert once.startswith(text)
    assert recorded(once, "data") == tuple((f"/dev/md/data-{index}", wanted[index]) for index in sorted(wanted))
    assert with_arrays(once, "data", wanted) == once
    gone = with_arrays(once, "data", {})
    assert gone == (text if text.endswith("\n") or not text else text + "\n")


def test_lines_of_the_pool_are_taken_out_and_nothing_else() -> None:
    assert without_arrays(TEXT, "data", [UUID]) == TEXT
    assert without_arrays(LINE + TEXT + f"ARRAY /dev/md7 UUID={UUID}\n", "data", [UUID]) == TEXT
    assert without_arrays(f"ARRAY /dev/md/data-3\n# kept\n UUID={OTHER}\n", "data", []) == "# kept\n"
