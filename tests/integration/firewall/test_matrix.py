"""What packets can do without a policy, and that a table of our own decides about just that and nothing else."""

from __future__ import annotations

import contextlib

import pytest

from tests.integration.firewall import matrix, stand_in
from tests.integration.firewall.clients import Target
from tests.integration.firewall.engines import Setting, on, settings
from tests.integration.firewall.places import ADDRESSES, DOCK
from tests.integration.firewall.stage import Stage


@on(settings())
def test_without_a_policy_everything_is_open_that_docker_opens(stage: Stage, setting: Setting) -> None:
    matrix.set_up(stage)
    answers = matrix.measure(stage)
    assert matrix.reached(answers) == {way: matrix.open_in_docker(setting, way) for way in answers}
    families = {way.family for way in answers if way.kind == "direct"}
    assert families == ({4, 6} if setting.engine.ipv6 else {4})
    bridges = matrix.gateways(stage)
    for way, answer in answers.items():
        if answer and way.kind == "published":
            peer = answer.split()[1].removeprefix("::ffff:")
            seen = bridges if matrix.goes_through_proxy(setting, way) else {ADDRESSES[way.origin][way.family]}
            assert peer in seen, f"{way}: seen by the container as {peer}"


@on(settings())
def test_a_table_of_our_own_closes_what_it_names_and_nothing_else(stage: Stage, setting: Setting) -> None:
    matrix.set_up(stage)
    others = stage.dock.rules_of_others()
    for default in ("return", "drop"):
        stage.dock.load(stand_in.table(stage.dock.bridges(), default))
        reached = matrix.reached(matrix.measure(stage))
        assert reached == {way: matrix.open_under_policy(setting, way, default) for way in reached}
    assert stage.dock.rules_of_others() == others


@pytest.mark.slow
@on(settings(proxy=True))
def test_with_address_translation_lost_docker_proxy_serves_both_families_and_the_table_decides(stage: Stage) -> None:
    matrix.set_up(stage)
    published = [way for way in matrix.WAYS if way.kind == "published"]
    bridges = matrix.gateways(stage)
    stage.dock.flush_nat()
    answers = matrix.measure(stage, published)
    peers = {(answer or "nobody nobody").split()[1].removeprefix("::ffff:") for answer in answers.values()}
    assert peers <= bridges
    stage.dock.load(stand_in.table(stage.dock.bridges()))
    reached = matrix.reached(matrix.measure(stage, published))
    assert reached == {way: way.origin == "allowed" for way in published}


@pytest.mark.slow
@on(settings(proxy=True))
def test_firewalld_reloads_beside_the_table(stage: Stage, setting: Setting) -> None:
    stage.dock.start_firewalld()
    stage.dock.run("systemctl", "restart", "docker.service")  # which gives its bridges to firewalld's zone
    matrix.set_up(stage)
    stage.dock.load(stand_in.table(stage.dock.bridges()))
    with contextlib.ExitStack() as stack:
        targets = [Target(address, matrix.NAMED["tcp"]) for address in ADDRESSES[DOCK].values()]
        knocks = [stack.enter_context(stage.denied.knocking(target, per_second=500)) for target in targets]
        for _time in range(2):
            stage.dock.reload_firewalld()
    assert [knock.successes for knock in knocks] == [0, 0]
    assert min(knock.attempts for knock in knocks) > 500
    reached = matrix.reached(matrix.measure(stage))
    assert reached == {way: matrix.open_under_policy(setting, way) for way in reached}


@pytest.mark.slow
@on(settings(proxy=True))
def test_docker_goes_on_beside_the_table_and_nobody_slips_through(stage: Stage, setting: Setting) -> None:
    matrix.set_up(stage)
    stage.dock.load(stand_in.table(stage.dock.bridges()))
    with contextlib.ExitStack() as stack:
        knocks = [
            stack.enter_context(stage.denied.knocking(Target(ADDRESSES[DOCK][family], port, protocol), per_second=500))
            for family in (4, 6)
            for protocol, port in matrix.NAMED.items()
        ]
        for number in range(2, 6):
            stage.dock.create_network(f"passing-{number}", number)
            stage.dock.remove_network(f"passing-{number}")
        stage.dock.recreate("web")
        stage.dock.restart_docker()
        for program in ("iptables", "ip6tables"):
            stage.dock.run(program, "--list", "--numeric")
    assert [(knock.successes, knock.attempts > 1000) for knock in knocks] == [(0, True)] * 4
    assert stage.allowed.can(DOCK, matrix.NAMED["tcp"])
    reached = matrix.reached(matrix.measure(stage))
    assert reached == {way: matrix.open_under_policy(setting, way) for way in reached}
