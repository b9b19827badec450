"""Which releases and families a test is run for."""

from __future__ import annotations

import pytest

from tests.lab.recipe import RELEASES

#: Every release, as a host with that kernel.
every_guest = pytest.mark.parametrize("guest", RELEASES, indirect=True)
both_families = pytest.mark.parametrize("family", ["ipv4", "ipv6"])
#: Every release; none of it in ``make test``.
every_release = pytest.mark.parametrize("router", RELEASES, indirect=True)
#: Every release; the newest in ``make test`` too.
every_release_newest_always = pytest.mark.parametrize(
    "router",
    [*RELEASES[:-1], pytest.param(RELEASES[-1], marks=pytest.mark.representative)],
    indirect=True,
)
