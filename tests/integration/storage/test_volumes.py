"""Volumes of every kind of size and file system: declared twice, done once."""

from __future__ import annotations

import pytest

from tests.integration.storage.pool_host import MIB, POOL, PoolHost, PoolResult, volume
from tests.integration.storage.releases import every_release

pytestmark = [pytest.mark.qemu, pytest.mark.slow]

EXTENT = 4 * MIB
#: A file system may leave less than this of its volume unused.
TAIL = 64 * 1024


def declared(media: str) -> list[dict[str, object]]:
    """A share, an xfs of some size, one that is not mounted, one without a file system, and the rest."""
    return [
        volume("share", "20%"),
        volume("media", media, "xfs"),
        volume("quiet", "30MB", mounted=False),
        {"name": "raw", "size": "9MiB"},
        volume("rest", "100%FREE"),
    ]


def check(store: PoolHost, result: PoolResult, media: int) -> None:
    """Sizes of volumes as declared, of file systems as of volumes, and the kernel of the same opinion."""
    pool = result.values["pool"]
    sizes = {each["name"]: each["size"] for each in pool["volumes"]}
    assert sizes["share"] == pool["capacity"] // EXTENT * 20 // 100 * EXTENT
    assert sizes["media"] == media
    assert sizes["quiet"] == 32 * MIB
    assert sizes["raw"] == 12 * MIB
    assert sizes["rest"] == pool["capacity"] - sum(size for name, size in sizes.items() if name != "rest")
    assert pool["free"] == 0
    for each in pool["volumes"]:
        if each["filesystem"]:
            assert 0 <= each["size"] - each["filesystem_size"] < TAIL, each
        device = f"/dev/{POOL}/{each['name']}"
        assert int(store.run("blockdev", "--getsize64", device)) == each["size"]
    mounted = store.sh("findmnt -rn -o TARGET,FSTYPE | grep ^/srv/ | sort").split("\n")[:-1]
    assert mounted == ["/srv/media xfs", "/srv/rest ext4", "/srv/share ext4"]
    # What statfs(2) says is what users get: nearly all of it.
    for name in ("media", "rest", "share"):
        blocks, size = (int(word) for word in store.run("stat", "-f", "-c", "%b %S", f"/srv/{name}").split())
        assert blocks * size > 0.75 * sizes[name]


@pytest.mark.proof(area="storage", line=6, title="100%FREE, percentages, ext4, xfs: the second run changes nothing")
@every_release
def test_volumes_are_made_grown_with_the_pool_and_then_left_alone(store: PoolHost) -> None:
    store.plug("a", "b", "c", size="512M")
    first = store.settled("abc", volumes=declared("320MiB"))
    check(store, first, 320 * MIB)
    hashes = {name: store.fill(f"/srv/{name}", 16) for name in ("share", "media", "rest")}
    store.sh(f"mkdir /mnt/q; mount /dev/{POOL}/quiet /mnt/q; echo kept > /mnt/q/word; umount /mnt/q")

    # The share and the rest follow the pool; the others stay as they are.
    store.plug("d", size="512M")
    grown = store.settled("abcd", volumes=declared("320MiB"))
    assert grown.capacity_mib > first.capacity_mib + 400
    check(store, grown, 320 * MIB)

    # A larger size is met online, from the room of nobody: the rest is never shrunk, so the pool must have it.
    store.plug("e", size="512M")
    later = store.settled("abcde", volumes=declared("400MiB"))
    check(store, later, 400 * MIB)
    for name, digest in hashes.items():
        assert store.hash(f"/srv/{name}/still") == digest
    assert store.sh(f"mount /dev/{POOL}/quiet /mnt/q; cat /mnt/q/word; umount /mnt/q").strip() == "kept"


@pytest.mark.proof(area="storage", line=6, title="A file system smaller than its volume is grown, mounted or not")
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
@pytest.mark.parametrize("mounted", [True, False], ids=["mounted", "not-mounted"])
@every_release
def test_a_file_system_that_was_left_behind_is_grown(store: PoolHost, filesystem: str, mounted: bool) -> None:
    store.plug("a", "b", size="1G")
    store.settled("ab", volumes=[volume("bits", "400MiB", filesystem, mounted)])
    # A run that was cut off between the two, or a person.
    store.run("lvextend", "-L", "600M", f"{POOL}/bits")
    result = store.settled("ab", volumes=[volume("bits", "600MiB", filesystem, mounted)])
    assert result.titles == [f"Grow the {filesystem} file system on bits to 600 MiB"]
    assert 0 <= 600 * MIB - result.volume("bits")["filesystem_size"] < TAIL
    assert bool(result.volume("bits")["mounted_on"]) == mounted
    assert store.sh("findmnt -rn -o TARGET | grep -c /srv/bits", check=False).strip() == str(int(mounted))
