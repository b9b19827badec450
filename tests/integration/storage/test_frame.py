"""What the proofs rely on to notice a defect, held against defects made on purpose."""

from __future__ import annotations

import pytest

from tests.integration.storage.pool_host import PoolHost
from tests.integration.storage.releases import every_release

pytestmark = [pytest.mark.qemu, pytest.mark.slow]


@every_release
def test_a_record_that_is_damaged_missing_or_outdated_is_noticed(store: PoolHost) -> None:
    store.run("mkdir", "/srv/records")
    store.start_writer("/srv/records")
    store.writer_goes_on(60)
    store.run("systemctl", "stop", "fabric-writer.service")
    assert store.check_records("/srv/records") > 60
    slot = "/srv/records/slot-20"
    for damage in (
        f"printf x | dd of={slot} bs=1 seek=40000 conv=notrunc status=none",
        f"rm {slot}",
        f"cp /srv/records/slot-19 {slot}",
        f"truncate -s -1 {slot}",
    ):
        store.sh(f"cp {slot} /root/kept; {damage}")
        with pytest.raises(AssertionError, match="slot 20"):
            store.check_records("/srv/records")
        store.run("cp", "/root/kept", slot)
    assert store.check_records("/srv/records") > 60


@every_release
def test_a_changed_byte_of_a_disk_changes_its_fingerprint(store: PoolHost) -> None:
    store.plug("a")
    before = store.fingerprint("a")
    assert store.fingerprint("a") == before
    store.sh(f"printf x | dd of={store.host.disks()['a']} bs=1 seek=100000000 conv=notrunc,fsync status=none")
    assert store.fingerprint("a") != before


@every_release
def test_a_snapshot_brings_back_disks_memory_and_programs(store: PoolHost) -> None:
    store.plug("a")
    path = store.host.disks()["a"]
    store.sh(f"echo kept | dd of={path} conv=fsync status=none; echo kept > /run/word")
    with store.returning():
        store.sh(f"echo gone | dd of={path} conv=fsync status=none; echo gone > /run/word")
        store.pull("a")
    assert store.sh(f"head -c 5 {path}; cat /run/word").split() == ["kept", "kept"]
    assert store.pool("a").failed  # the stand answers
