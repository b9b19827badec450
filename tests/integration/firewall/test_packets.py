"""Which packets go through under a policy: all ways, all generations of Docker."""

from __future__ import annotations

import pytest

from tests.integration.firewall.declared import declare
from tests.integration.firewall.engines import on, settings
from tests.integration.firewall.matrix import WAYS, Way, measure, reached, set_up
from tests.integration.firewall.places import ALLOWED, DENIED
from tests.integration.firewall.stage import Stage


def closed(way: Way) -> bool:
    """Whether the policy closes a way: what it names to the denied client, what nobody names and containers to all."""
    outside = way.origin in (ALLOWED, DENIED)
    return outside and (way.kind in ("direct", "unnamed") or (way.kind == "published" and way.origin == DENIED))


@pytest.mark.proof(area="firewall", line=1, title="Packets: what is denied is dropped, all else is as it was")
@on(settings(), in_make_test=True)
def test_a_policy_closes_what_it_shall_and_changes_nothing_else(stage: Stage) -> None:
    set_up(stage)
    before = reached(measure(stage))
    assert sum(before[way] for way in before if closed(way)) >= 6, "there is little to close"
    declare(stage.dock, default="drop")
    after = reached(measure(stage))
    assert {str(way) for way in after if after[way]} == {str(way) for way in before if before[way] and not closed(way)}
    assert {way.kind for way in after if after[way]} >= {"published", "outbound", "host outbound", "own", "neighbour"}


@pytest.mark.proof(area="firewall", line=1, title="Packets: returned to Docker where the declaration says so")
@on(settings("26.1", proxy=True))
def test_what_is_left_to_docker_is_as_it_was(stage: Stage) -> None:
    set_up(stage)
    before = reached(measure(stage))
    declare(stage.dock, default="return", direct_access="return")
    after = reached(measure(stage))
    named = {way for way in WAYS if way.kind == "published" and way.origin == DENIED}
    assert {str(way) for way in after if after[way]} == {str(way) for way in before if before[way] and way not in named}


@pytest.mark.proof(area="firewall", line=1, title="Packets: no policy at all closes every published port")
@on(settings("26.1", proxy=True))
def test_without_policies_and_with_drop_nobody_outside_gets_in(stage: Stage) -> None:
    set_up(stage)
    declare(stage.dock, [], default="drop")
    after = reached(measure(stage))
    assert not [str(way) for way in after if after[way] and way.origin in (ALLOWED, DENIED)]
