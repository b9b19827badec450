"""Which kernels the archive has: never written down, as it keeps only a few at a time."""

from __future__ import annotations

import functools
import os
import re

from tests.lab import Lab

#: Debian's kernel is called after its version, ABI and flavour; others are for clouds and real time.
_HEADERS = re.compile(r"linux-headers-(?P<kernel>(?P<series>\d+\.\d+)[0-9.+deb~-]*-amd64)\b")


def series_of(kernel: str) -> str:
    """The first two numbers of a kernel's version."""
    return ".".join(kernel.split(".")[:2])


def kernels_in(listing: str, current: str) -> list[str]:
    """The kernels of the release's own series, the oldest first; ``current`` is what its metapackage depends on."""
    match = _HEADERS.search(current)
    assert match, current
    found = {each["kernel"] for each in _HEADERS.finditer(listing) if each["series"] == match["series"]}
    return sorted(found, key=lambda kernel: [int(number) for number in re.findall(r"\d+", kernel)])


@functools.cache
def archived_kernels(release: str) -> tuple[str, ...]:
    """Ask the archive, from a host of the release."""
    topology = {"hosts": {"asker": {"release": release}}, "uplink": True}
    with Lab.from_topology(topology, name=f"kernel-ask-{release}-{os.getpid()}") as lab:
        asker = lab["asker"]
        asker.run(["apt-get", "update", "-qq"], timeout=300)
        listing = asker.run(["apt-cache", "--names-only", "search", "^linux-headers-[0-9].*-amd64$"]).stdout
        current = asker.run(["apt-cache", "depends", "linux-headers-amd64"]).stdout
    found = kernels_in(listing, current)
    assert len(found) >= 2, f"the archive of {release} has {found}"
    return tuple(found)
