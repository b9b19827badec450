from __future__ import annotations

from tests.demo.watch import Sight, Work, parse


def test_work_is_named_after_the_array_and_not_its_kernel_number() -> None:
    output = (
        "/sys/block/md126/md/sync_action:idle\n"
        "/sys/block/md126/md/sync_completed:none\n"
        "/sys/block/md127/md/sync_action:reshape\n"
        "/sys/block/md127/md/sync_completed:50656 / 202624\n"
        "data-0 ../md126\n"
        "data-1 ../md127\n"
    )
    assert parse(output) == Sight((Work("data-1", "reshape", 25.0),))


def test_an_array_that_waits_its_turn_shows_no_progress() -> None:
    output = "/sys/block/md127/md/sync_action:recover\n/sys/block/md127/md/sync_completed:delayed\n"
    assert parse(output) == Sight()


def test_an_array_without_a_name_yet_goes_by_its_kernel_number() -> None:
    output = "/sys/block/md127/md/sync_action:resync\n/sys/block/md127/md/sync_completed:0 / 199680\n"
    assert parse(output).work == (Work("md127", "resync", 0.0),)


def test_a_program_that_takes_its_time_is_told() -> None:
    assert parse("systemd\nupdate-initramf\ncpio\n").busy_with == "the initramfs is rebuilt"
