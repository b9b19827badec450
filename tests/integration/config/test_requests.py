"""What clients see of changes: nothing."""

from __future__ import annotations

import pytest

from tests.integration.config.asking import asking
from tests.integration.config.daemons import HAPROXY, NGINX, SITE_PORT, Daemon
from tests.integration.config.places import SITE
from tests.integration.config.stage import Stage, every_release_of

ROUNDS = 2
#: Over all rounds.
MANY = 2000


@pytest.mark.proof(
    area="config", line=1, title="No request fails through a good change, a refused one and one that is taken back"
)
@every_release_of([HAPROXY, NGINX], always=[HAPROXY])
def test_no_request_fails_whatever_comes_of_a_change(stage: Stage, daemon: Daemon) -> None:
    edge = stage.edge
    edge.has(NGINX)
    edge.has(HAPROXY)
    with asking(stage.client, SITE, SITE_PORT) as found:
        for _round in range(ROUNDS):
            assert edge.done(**daemon.set("new")).changed
            assert edge.serves(daemon) == "new"
            before = edge.content(*daemon.folders)
            refused = edge.refused(**daemon.set("invalid"))
            assert not refused.changed
            assert refused.values["rolled_back"] is False
            failing = edge.refused(**daemon.set("failing"))
            assert failing.values["rolled_back"] is True
            assert edge.content(*daemon.folders) == before
            assert edge.serves(daemon) == "new"
            edge.done(**daemon.set("old"))
    assert found.failures == 0, f"{found.failures} of {found.attempts}: {found.told}"
    assert found.attempts > MANY
