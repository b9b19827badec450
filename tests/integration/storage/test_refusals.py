"""What is refused on real disks: with a sentence that helps, and not a byte changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.integration.storage.pool_host import POOL, PoolHost, by_id, volume
from tests.integration.storage.releases import every_release

pytestmark = [
    pytest.mark.qemu,
    pytest.mark.slow,
    pytest.mark.proof(area="storage", line=9, title="Refusals: one clear sentence, no byte changed"),
]

Z = by_id("z")
LUKS = r"printf 'LUKS\272\276\000\001' | dd of={z} conv=notrunc status=none"


@dataclass(frozen=True)
class Foreign:
    """Something of somebody else's on disk ``z``: how it comes there, and what the refusal calls it."""

    script: str
    words: str
    in_use: bool = False


FOREIGN = {
    "file-system": Foreign("mkfs.ext4 -q -L family {z}", "ext4"),
    "swap": Foreign("mkswap {z}", "swap"),
    "encrypted": Foreign(LUKS, "LUKS"),
    "empty-partition": Foreign("sgdisk -n 1:0:0 {z}; partx -u {z} || true", "partition"),
    "file-system-in-a-partition": Foreign(
        "sgdisk -n 1:0:0 {z}; partx -u {z} || true; udevadm settle; mkfs.xfs -q -f {z}-part1 || mkfs.ext4 -q {z}-part1",
        "partition",
    ),
    "mount": Foreign("mkfs.ext4 -q {z}; mkdir -p /mnt/z; mount -o ro {z} /mnt/z", "/mnt/z", in_use=True),
    "physical-volume": Foreign("pvcreate -q {z}", "LVM"),
    "other-group": Foreign("vgcreate -q other {z}; lvcreate -q -y -n home -l 4 other", "other", in_use=True),
    "device-mapper": Foreign(
        'dmsetup create held --table "0 2048 linear $(readlink -f {z}) 4096"', "held", in_use=True
    ),
    "running-array": Foreign(
        # Read-only, so that md itself has nothing to write.
        "mdadm -C /dev/md/other -R -e 1.2 -l 1 -n 2 -b internal {z} missing; udevadm settle;"
        "mdadm --readonly /dev/md/other",
        "other",
    ),
    "stopped-array": Foreign(
        "mdadm -C /dev/md/other -R -e 1.2 -l 1 -n 2 -b internal {z} missing; udevadm settle; mdadm -S /dev/md/other",
        "other",
    ),
    "array-behind-a-zapped-table": Foreign(
        "sgdisk -n 1:2048:0 {z}; partx -u {z} || true; udevadm settle;"
        "mdadm -C /dev/md/other -R -e 1.2 -l 1 -n 2 -b internal {z}-part1 missing; udevadm settle;"
        "mdadm -S /dev/md/other; sgdisk -Z {z}; partx -u {z} || true; udevadm settle",
        "other",
    ),
}


def three_blank(store: PoolHost) -> None:
    """Three blank disks, and ``z`` beside them."""
    store.plug("a", "b", "c", "z")


@pytest.fixture
def blank(store: PoolHost) -> PoolHost:
    return store.at("three-blank-and-one", three_blank)


def refused(store: PoolHost, disks: str | list[str], **options: object) -> str:
    """The words of a refusal after which every byte of every disk is as it was."""
    inserted = sorted(store.host.disks())
    before = store.fingerprint(*inserted)
    words = store.refused(disks, **options)
    assert store.fingerprint(*inserted) == before
    return words


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN.keys())
@every_release
def test_a_disk_of_somebody_else_is_refused_until_it_is_named_in_wipe(blank: PoolHost, foreign: Foreign) -> None:
    blank.sh(foreign.script.format(z=Z))
    blank.run("udevadm", "settle")
    words = refused(blank, "abcz")
    assert Z in words
    assert foreign.words in words
    refused(blank, "abcz", wipe=["a", "b", "c"])
    if foreign.in_use:
        assert "in use" in refused(blank, "abcz", wipe=["z"])
        return
    wiped = blank.settled("abcz", wipe=["z"])
    assert wiped.array(0)["devices"] == 4
    assert [step["title"] for step in wiped.values["plan"] if step["destructive"]] == [f"Wipe {Z}"]


@every_release
def test_wipe_takes_a_wwn_and_keeps_what_is_not_declared(blank: PoolHost) -> None:
    wwn = "0x5000c50000000002"
    blank.plug("w", size="101M", bus="scsi", wwn=wwn)
    path = blank.host.disks()["w"]
    blank.sh(f"mkfs.ext4 -q {path}; mkfs.ext4 -q {Z}; udevadm settle")
    untouched = blank.fingerprint("z")
    assert path in refused(blank, [by_id("a"), by_id("b"), path])
    blank.settled([by_id("a"), by_id("b"), path], wipe=[wwn, "z"])
    assert blank.fingerprint("z") == untouched


@dataclass(frozen=True)
class Mistake:
    """A declaration, or a host, with something wrong that is no disk of somebody else."""

    words: str
    prepare: Callable[[PoolHost], object] = lambda _store: None
    disks: str | tuple[str, ...] = "abcz"
    options: tuple[tuple[str, object], ...] = ()


def _sectors(store: PoolHost) -> None:
    store.plug("k", size="101M", logical_block_size=4096)


MISTAKES = {
    "too-small": Mistake("too small", lambda store: store.plug("s", size="20M"), "abcs"),
    "sector-sizes": Mistake("different logical sector sizes", _sectors, "abck"),
    "foreign-group": Mistake("is not this pool's", lambda store: store.sh(f"vgcreate -q {POOL} {Z}"), "abc"),
    "two-paths": Mistake("are the same disk", disks=(by_id("a"), by_id("b"), "/dev/disk/by-diskseq/a")),
    "read-only": Mistake("read-only", lambda store: store.sh(f"blockdev --setro {Z}")),
    "one-disk": Mistake("at least two disks", disks="a"),
    "three-disks-for-two": Mistake("at least four disks", disks="abc", options=(("redundancy", 2),)),
    "absent-disk": Mistake("a new pool needs every disk declared", disks="abcx"),
    "partial-parity-log": Mistake("partial parity log", options=(("bitmap", "ppl"),)),
    "no-sgdisk": Mistake("gdisk", lambda store: store.sh("mv /usr/sbin/sgdisk /usr/sbin/sgdisk.gone")),
    "volume-too-large": Mistake("but the pool has", options=(("volumes", [volume("bits", "4GiB")]),)),
    "small-xfs": Mistake("xfs", options=(("volumes", [volume("bits", "100MiB", "xfs")]),)),
    "two-rests": Mistake(
        "Only one volume can take 100%FREE",
        options=(("volumes", [volume("bits", "100%FREE"), volume("more", "100%FREE")]),),
    ),
    "taken-mount-point": Mistake(
        "fstab uses /srv/bits",
        lambda store: store.sh("echo 'LABEL=other /srv/bits ext4 nofail 0 0' >> /etc/fstab"),
        options=(("volumes", [volume("bits", "100MiB")]),),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
@every_release
def test_a_declaration_that_cannot_be_met_safely_is_refused(blank: PoolHost, mistake: Mistake) -> None:
    mistake.prepare(blank)
    disks = [disk if disk.startswith("/") else by_id(disk) for disk in mistake.disks]
    if mistake.words == "are the same disk":
        disks[-1] = blank.sh(f"readlink -f {by_id('a')}").strip()
    assert mistake.words in refused(blank, disks, **dict(mistake.options))


def three_at_rest(store: PoolHost) -> None:
    """A pool on three disks whose volume is not mounted, so that nothing writes to it; ``z`` is blank."""
    store.plug("a", "b", "c", "z")
    store.settled("abc", volumes=[volume("bits", "100MiB", mounted=False)])
    # md clears its bitmap and marks the array clean some seconds after the last write.
    for _attempt in range(10):
        before = store.fingerprint(*"abc")
        store.run("sleep", "11")
        if store.fingerprint(*"abc") == before:
            return
    raise AssertionError("md goes on writing to an array that nobody uses")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        pytest.param("redundancy of a pool cannot be changed", {"redundancy": 2}, id="redundancy"),
        pytest.param("never shrunk", {"volumes": [volume("bits", "50MiB", mounted=False)]}, id="smaller-volume"),
        pytest.param("nothing is ever reformatted", {"volumes": [volume("bits", "100MiB", "xfs")]}, id="reformat"),
    ],
)
@every_release
def test_a_change_that_would_destroy_is_refused(store: PoolHost, words: str, options: dict[str, object]) -> None:
    store.at("three-at-rest", three_at_rest)
    assert words in refused(store, "abc", **options)


@every_release
def test_a_disk_whose_bad_blocks_md_has_listed_does_not_come_back(store: PoolHost) -> None:
    store.at("three-at-rest", three_at_rest)
    store.sh(f"""
        part=$(readlink -f {by_id("c")})1; md=$(basename $(readlink -f /dev/md/{POOL}-0))
        echo '2048 8' > /sys/block/$md/md/dev-$(basename $part)/bad_blocks
        # With the next write md puts the list into the superblocks.
        dd if=/dev/zero of=/dev/{POOL}/bits bs=4k count=1 seek=20000 conv=notrunc,fsync status=none
        mdadm --examine-badblocks $part | grep -q '2048 for 8'
        mdadm --manage /dev/$md --fail $part
        mdadm --manage /dev/$md --remove $part""")
    words = refused(store, "abc", volumes=[volume("bits", "100MiB", mounted=False)])
    assert f"{by_id('c')} has blocks that md has listed as bad; replace the disk." in words


@pytest.mark.parametrize(
    ("replace", "disks", "words"),
    [
        pytest.param(("c", "z"), "abcz", "is also listed in 'disks'", id="old-still-listed"),
        pytest.param(("c", "z"), "ab", "is not listed in 'disks'", id="new-not-listed"),
        pytest.param(("c", "x"), "abx", "is not there", id="new-absent"),
        pytest.param(("c", "s"), "abs", "use a larger disk", id="new-too-small"),
    ],
)
@every_release
def test_a_replacement_that_cannot_work_is_refused(
    store: PoolHost, replace: tuple[str, str], disks: str, words: str
) -> None:
    store.at("three-at-rest", three_at_rest)
    if "s" in disks:
        store.plug("s", size="60M")
    old, new = replace
    assert words in refused(
        store,
        disks,
        replace=[{"old": by_id(old), "new": by_id(new)}],
        volumes=[volume("bits", "100MiB", mounted=False)],
    )
