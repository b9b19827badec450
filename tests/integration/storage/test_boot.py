"""What a host finds after it was switched off and on."""

from __future__ import annotations

import pytest

from tests.integration.storage.pool_host import PoolHost
from tests.integration.storage.pools import VOLUMES, installed
from tests.integration.storage.releases import every_release_newest_always


@pytest.mark.proof(area="storage", line=7, title="Cold boot: same names, everything mounted, nothing left to do")
@pytest.mark.qemu
@pytest.mark.slow
@every_release_newest_always
def test_a_cold_boot_finds_the_pool_under_its_names_mounted_and_with_nothing_to_do(store: PoolHost) -> None:
    installed(store)
    still = store.hash("/srv/bits/still")
    before = _names(store)
    assert sorted(before) == ["data-0", "data-1"]
    store.host.power_off(clean=True)
    assert store.boot() == "running", store.sh("systemctl --failed", check=False)
    assert _names(store) == before
    assert store.sh("findmnt -n -o SOURCE /srv/bits; findmnt -n -o SOURCE /srv/rest").split() == [
        "/dev/mapper/data-bits",
        "/dev/mapper/data-rest",
    ]
    assert store.hash("/srv/bits/still") == still
    store.at_rest("abcd", volumes=VOLUMES)


def _names(store: PoolHost) -> dict[str, str]:
    """The names in /dev/md, and the UUID of the array that each leads to."""
    found = {}
    for name in store.run("ls", "/dev/md").split():
        if name == "md-device-map":
            continue
        export = store.run("mdadm", "--detail", "--export", f"/dev/md/{name}")
        found[name] = next(line for line in export.splitlines() if line.startswith("MD_UUID="))
    return found
