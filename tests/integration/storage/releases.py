"""On which releases a proof runs."""

from __future__ import annotations

import pytest

from tests.lab.recipe import RELEASES

#: Every release; none of it in ``make test``.
every_release = pytest.mark.parametrize("release_host", RELEASES, indirect=True, scope="session")
#: Every release; the newest in ``make test`` too.
every_release_newest_always = pytest.mark.parametrize(
    "release_host",
    [*RELEASES[:-1], pytest.param(RELEASES[-1], marks=pytest.mark.representative)],
    indirect=True,
    scope="session",
)
