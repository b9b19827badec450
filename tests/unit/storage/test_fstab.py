"""fstab: which lines are the pool's, and edits that leave every other byte alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats.fstab import (
    mapper_path,
    parse,
    pool_mounts,
    taken_mount_points,
    volume_of,
    with_mount,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._storage.model import Mount

TEXT = """\
# /etc/fstab: static file system information.
LABEL=root        /            ext4  errors=remount-ro   0  1
/dev/data/bits    /srv/bits    ext4  defaults,nofail     0  2
UUID=1234         /srv/uuid    xfs   defaults            0  2
tmpfs /tmp tmpfs size=1G 0 0
"""
BITS = Mount("/dev/data/bits", "/srv/bits", "ext4", "defaults,nofail")


def resolve(device: str) -> str:
    return "/dev/mapper/data-by--uuid" if device == "UUID=1234" else device


@pytest.mark.parametrize(
    ("device", "group", "volume"),
    [
        ("/dev/data/bits", "data", "bits"),
        ("/dev/mapper/data-bits", "data", "bits"),
        ("/dev/mapper/data-my--bits", "data", "my-bits"),
        ("/dev/mapper/my--data-bits", "my-data", "bits"),
        ("/dev/mapper/my--data-bits", "my", ""),
        ("/dev/mapper/data-bits-real", "data", ""),
        ("/dev/database/bits", "data", ""),
        ("/dev/sda1", "data", ""),
    ],
)
def test_both_names_of_a_volume_are_known(device: str, group: str, volume: str) -> None:
    assert volume_of(device, group) == volume


@given(st.from_regex(r"[a-z0-9_][a-z0-9_-]{0,8}", fullmatch=True), st.from_regex(r"[a-z0-9_-]{1,8}", fullmatch=True))
def test_a_mapper_path_leads_back_to_its_volume(group: str, volume: str) -> None:
    if volume.startswith("-"):
        volume = "v" + volume
    assert volume_of(mapper_path(group, volume), group) == volume


def test_the_lines_of_the_pool_are_found_however_they_name_the_device() -> None:
    assert pool_mounts(TEXT, "data", resolve) == (BITS, Mount("/dev/data/by-uuid", "/srv/uuid", "xfs", "defaults"))


def test_blanks_in_names_are_unescaped() -> None:
    (line,) = parse("/dev/data/a /srv/with\\040blank ext4\n")
    assert (line.mount_point, line.options) == ("/srv/with blank", "defaults")


def test_a_mount_point_of_somebody_else_is_taken() -> None:
    wanted = {"/srv/bits/": "bits", "/tmp": "pieces", "/srv/uuid": "by-uuid", "/srv/new": "new"}

    assert taken_mount_points(TEXT, wanted, "data", resolve) == (("/tmp", "tmpfs"),)
    assert taken_mount_points(TEXT, {"/srv/bits": "pieces"}, "data") == (("/srv/bits", "/dev/data/bits"),)


def test_a_line_that_is_right_is_left_alone() -> None:
    assert with_mount(TEXT, "data", BITS) == TEXT


def test_a_changed_line_keeps_its_columns() -> None:
    after = with_mount(TEXT, "data", Mount("/dev/data/bits", "/srv/b", "ext4", "noatime,nofail"))

    assert after == TEXT.replace(
        "/dev/data/bits    /srv/bits    ext4  defaults,nofail     0  2",
        "/dev/data/bits    /srv/b       ext4  noatime,nofail      0  2",
    )


def test_a_line_by_uuid_is_changed_and_keeps_its_uuid() -> None:
    after = with_mount(TEXT, "data", Mount("/dev/data/by-uuid", "/srv/uuid", "xfs", "defaults,nofail"), resolve)

    assert "UUID=1234         /srv/uuid    xfs   defaults,nofail     0  2\n" in after
    assert len(after.splitlines()) == len(TEXT.splitlines())


def test_a_new_line_stands_at_the_end_in_the_columns_of_the_last() -> None:
    head = "/dev/data/bits    /srv/bits    ext4  defaults,nofail     0  2\n"
    after = with_mount(head, "data", Mount("/dev/data/pieces", "/srv/pieces", "xfs", "defaults,nofail"))

    assert after == head + "/dev/data/pieces  /srv/pieces  xfs   defaults,nofail     0  0\n"


def test_an_empty_file_and_one_without_a_final_newline() -> None:
    assert with_mount("", "data", BITS) == "/dev/data/bits /srv/bits ext4 defaults,nofail 0 0\n"
    assert with_mount("# mine", "data", BITS) == "# mine\n/dev/data/bits /srv/bits ext4 defaults,nofail 0 0\n"


def test_tabs_stay_tabs() -> None:
    after = with_mount("proc\t/proc\tproc\tdefaults\t0\t0\n", "data", BITS)

    assert after.endswith("\n/dev/data/bits\t/srv/bits\text4\tdefaults,nofail\t0\t0\n")


LINES = st.text(st.sampled_from("ab#/ \t\\\"'=-,é\r\x0c\x85"), max_size=40).filter(lambda text: "/dev/data" not in text)
MOUNTS = st.builds(
    Mount,
    st.sampled_from(["/dev/data/bits", "/dev/data/pieces"]),
    st.sampled_from(["/srv/bits", "/srv/with blank", "/srv/b#"]),
    st.sampled_from(["ext4", "xfs"]),
    st.sampled_from(["defaults", "defaults,nofail"]),
)


@given(st.lists(LINES, max_size=6), st.booleans(), MOUNTS, MOUNTS)
def test_other_lines_stay_byte_for_byte(lines: list[str], newline: bool, first: Mount, second: Mount) -> None:
    text = "\n".join(lines) + ("\n" if newline else "")

    once = with_mount(text, "data", first)
    twice = with_mount(once, "data", second)

    assert once.startswith(text)
    assert first in pool_mounts(once, "data")
    assert with_mount(once, "data", first) == once
    assert twice.startswith(text)
    assert second in pool_mounts(twice, "data")
    assert len(pool_mounts(twice, "data")) == len({first.device, second.device})
