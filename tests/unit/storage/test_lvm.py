"""LVM's report, as version 2.03.16 and 2.03.31 print it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.baremetal.fabric.plugins.module_utils._storage.formats.lvm import (
    GroupReport,
    LogicalVolumeReport,
    PhysicalVolumeReport,
    parse_report,
    report_command,
)

from .host_capture import lay_out

MIB = 1024 * 1024


def report(name: str, root: Path) -> GroupReport:
    _host, runner = lay_out(name, root)
    (group,) = parse_report(runner.run(report_command("data")))
    return group


@pytest.mark.parametrize("release", ["trixie", "bookworm"])
def test_a_group_with_its_physical_and_logical_volumes(release: str, tmp_path: Path) -> None:
    group = report(f"{release}-whole", tmp_path)

    assert (group.name, group.extent_size, group.missing) == ("data", 4 * MIB, 0)
    assert group.physical == (PhysicalVolumeReport("/dev/md127", "9:127", 1572864, 70),)
    assert [(volume.name, volume.size) for volume in group.logical] == [("bits", 100 * MIB), ("pieces", 100 * MIB)]
    assert all(volume.device.partition(":")[1] for volume in group.logical)


def test_no_such_group_is_no_error() -> None:
    assert parse_report('{"report": [], "log": []}') == ()


ROW = (
    '{"report": [{"vg": [{"vg_name":"data", "vg_uuid":"u", "vg_extent_size":"4194304", "vg_missing_pv_count":"1"}],'
    '"pv": [{"pv_name":"[unknown]", "pv_major":"-1", "pv_minor":"-1", "pv_missing":"missing", "pe_start":"1048576",'
    '"pv_pe_count":"70"}], "lv": [{"lv_name":"bits", "lv_size":"104857600", "lv_kernel_major":"%s",'
    '"lv_kernel_minor":"%s", "lv_suspended":"%s"}], "pvseg": [], "seg": []}], "log": []}'
)


def test_a_missing_physical_volume_has_no_device() -> None:
    (group,) = parse_report(ROW % ("252", "0", ""))

    assert group.missing == 1
    assert group.physical == (PhysicalVolumeReport("[unknown]", "", MIB, 70),)


@pytest.mark.parametrize(
    ("major", "minor", "suspended", "device"),
    [("252", "0", "", "252:0"), ("-1", "-1", "", ""), ("252", "0", "suspended", "")],
)
def test_a_volume_that_is_inactive_or_suspended_has_no_device(
    major: str, minor: str, suspended: str, device: str
) -> None:
    (group,) = parse_report(ROW % (major, minor, suspended))

    assert group.logical == (LogicalVolumeReport("bits", 100 * MIB, device),)


@pytest.mark.parametrize("text", ["", "{}", '{"report": [{"vg": [{}]}]}', "[]", '{"report": [{"vg": null}]}'])
def test_what_is_no_report_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_report(text)
