"""What happens to each disk, declared or not, present or absent, in every state: the documentation's table, walked.

Each row begins at a pool of four disks that is mounted and written to.
"""

from __future__ import annotations

import pytest

from tests.integration.storage.pool_host import POOL, PoolHost
from tests.integration.storage.pools import VOLUMES, check_data, four_in_use
from tests.integration.storage.releases import every_release

pytestmark = [
    pytest.mark.qemu,
    pytest.mark.slow,
    pytest.mark.proof(area="storage", line=8, title="What happens to each disk: every row of the table"),
]
WHOLE = [("raid5", 4, 292.5)]


class Row:
    """The pool of a row, and how to find it again unharmed."""

    def __init__(self, store: PoolHost) -> None:
        self.store = four_in_use(store)
        self.still = store.hash("/srv/bits/still")
        self.before = store.acknowledged()

    def check_data(self) -> None:
        """Everything written before and meanwhile is there."""
        check_data(self.store, self.still, self.before)

    def left_alone(self, disks: str) -> str:
        """A run changes nothing; returns what it tells the person on call."""
        result = self.store.at_rest(disks, volumes=VOLUMES)
        self.check_data()
        return "\n".join(result.values["findings"])

    def settled(self, disks: str, redundant: bool = True) -> list[str]:
        """A run, and a second that finds nothing; returns the first one's titles."""
        result = self.store.settled(disks, volumes=VOLUMES)
        assert result.values["pool"]["redundant"] == redundant
        self.check_data()
        return result.titles

    def refused(self, disks: str, new: str) -> str:
        """A refusal that touched neither the new disk nor the pool; returns its words."""
        untouched = self.store.fingerprint(new)
        words = self.store.refused(disks, volumes=VOLUMES)
        assert self.store.fingerprint(new) == untouched
        self.check_data()
        return words

    def fail(self, disk: str) -> None:
        """Have md give up on a member whose disk stays where it is."""
        self.store.sh(f"mdadm --manage /dev/md/{POOL}-0 --fail $(readlink -f {self.store.host.disks()[disk]})1")

    def node(self, disk: str) -> str:
        """The kernel's name of a disk's first partition."""
        return self.store.sh(f"readlink -f {self.store.host.disks()[disk]}").strip() + "1"


@pytest.fixture
def row(store: PoolHost) -> Row:
    return Row(store)


@every_release
class TestDeclaredAndPresent:
    def test_active_nothing_to_do(self, row: Row) -> None:
        assert row.left_alone("abcd") == ""

    def test_failed_stays_out_and_is_said(self, row: Row) -> None:
        row.fail("c")
        said = row.left_alone("abcd")
        assert f"{row.node('c')} failed in array data-0." in said
        assert "lacks 1 of 4 members: no further disk may fail" in said

    def test_returning_is_taken_back(self, row: Row) -> None:
        row.store.pull("c")
        row.store.writer_goes_on(row.store.acknowledged())
        row.store.plug_again("c")
        titles = row.settled("abcd")
        assert any(title.startswith("Take back") for title in titles), titles
        assert not any(title.startswith("Partition") for title in titles)

    def test_blank_beside_an_empty_slot_repairs(self, row: Row) -> None:
        row.store.pull("c")
        row.store.plug("e")
        titles = row.settled("abed")
        assert not any(title.startswith("Reshape") for title in titles)

    def test_blank_beside_a_whole_pool_widens(self, row: Row) -> None:
        row.store.plug("e")
        titles = row.settled("abcde")
        assert any(title.startswith("Reshape array data-0 to raid5 of 5") for title in titles), titles

    def test_a_spare_that_was_taken_out_counts_as_blank(self, row: Row) -> None:
        row.store.plug("e")
        assert row.store.pool("abcde", volumes=VOLUMES, cut={"pattern": "^Partition .*: done$"}).killed
        for verb in ("--add", "--remove"):
            row.store.sh(f"mdadm --manage /dev/md/{POOL}-0 {verb} {row.node('e')}; udevadm settle")
        titles = row.settled("abcde")
        assert titles[0] == f"Clear the superblock of {row.node('e')}, which holds no data", titles
        assert any(title.startswith("Reshape array data-0 to raid5 of 5") for title in titles), titles

    def test_foreign_is_refused_by_name_with_what_to_do(self, row: Row) -> None:
        row.store.plug("e")
        row.store.sh(f"mkfs.ext4 -q -L family {row.store.host.disks()['e']}")
        words = row.refused("abcde", "e")
        assert "virtio-e holds something that is not the pool's" in words
        assert "family" in words
        assert "add its serial 'e' to 'wipe'" in words

    def test_too_small_is_refused(self, row: Row) -> None:
        row.store.plug("e", size="20M")
        assert "virtio-e is too small: it offers" in row.refused("abcde", "e")

    def test_too_small_to_repair_is_refused(self, row: Row) -> None:
        row.store.pull("c")
        row.store.plug("e", size="90M")
        assert "virtio-e is too small to repair array data-0" in row.refused("abed", "e")

    def test_larger_repairs_and_its_room_waits_for_a_partner(self, row: Row) -> None:
        row.store.pull("c")
        row.store.plug("e", size="201M")
        row.settled("abed")
        assert "that wait for a partner of the same size" in row.left_alone("abed")


@every_release
class TestDeclaredAndAbsent:
    def test_the_pool_stays_degraded_and_says_so(self, row: Row) -> None:
        row.store.pull("c")
        row.store.writer_goes_on(row.store.acknowledged())
        said = row.left_alone("abcd")
        assert "Array data-0 lacks 1 of 4 members: no further disk may fail." in said
        assert "Declared disk /dev/disk/by-id/virtio-c is not there." in said

    def test_a_disk_that_never_was_there_is_said(self, row: Row) -> None:
        assert "Declared disk /dev/disk/by-id/virtio-x is not there." in row.left_alone("abcdx")


@every_release
class TestNotDeclaredAndPresent:
    def test_active_is_left_alone_and_said(self, row: Row) -> None:
        assert "is a member of the pool and not declared." in row.left_alone("abd")

    def test_active_beside_a_new_disk_is_refused_and_points_to_replace(self, row: Row) -> None:
        row.store.plug("e")
        words = row.refused("abed", "e")
        assert "'replace'" in words
        assert "new: /dev/disk/by-id/virtio-e" in words

    def test_failed_gives_way_to_a_blank_disk(self, row: Row) -> None:
        row.fail("c")
        row.store.plug("e")
        failed = row.node("c")
        titles = row.settled("abed")
        assert f"Remove {failed} from array data-0" in titles

    def test_returning_is_not_taken_back(self, row: Row) -> None:
        row.store.pull("c")
        row.store.writer_goes_on(row.store.acknowledged())
        row.store.plug_again("c")
        untouched = row.store.fingerprint("c")
        assert "lacks 1 of 4" in row.left_alone("abd")
        assert row.store.fingerprint("c") == untouched

    def test_blank_and_wrong_size_are_never_touched(self, row: Row) -> None:
        row.store.plug("e", size="201M")
        row.store.plug("f", size="20M")
        untouched = row.store.fingerprint("e", "f")
        assert row.left_alone("abcd") == ""
        assert row.store.fingerprint("e", "f") == untouched

    def test_foreign_is_never_touched_not_even_to_repair(self, row: Row) -> None:
        row.store.plug("e", size="201M")
        row.store.sh(f"mkfs.ext4 -q {row.store.host.disks()['e']}")
        untouched = row.store.fingerprint("e")
        row.store.pull("c")
        assert "lacks 1 of 4" in row.left_alone("abd")
        assert row.store.fingerprint("e") == untouched

    def test_an_outdated_copy_beside_a_whole_pool_is_left_alone_and_said_when_declared(self, row: Row) -> None:
        row.store.pull("c")
        row.store.plug("e")
        row.settled("abed")
        row.store.plug_again("c")
        untouched = row.store.fingerprint("c")
        assert "virtio-c holds an outdated copy" in row.left_alone("abedc")
        assert "virtio-c" not in row.left_alone("abed")
        assert row.store.fingerprint("c") == untouched
        wiped = row.store.settled("abedc", volumes=VOLUMES, wipe=["c"])
        assert wiped.array(0)["devices"] == 5


@every_release
def test_not_declared_and_absent_is_said_as_what_the_arrays_lack(row: Row) -> None:
    row.store.pull("c")
    row.store.writer_goes_on(row.store.acknowledged())
    said = row.left_alone("abd")
    assert "lacks 1 of 4" in said
    assert "virtio-c" not in said
