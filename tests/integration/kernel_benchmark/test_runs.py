"""How runs behave: two at once, killed ones, check mode, nonsense."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.kernel_benchmark.benchmark_host import BenchmarkHost, nothing_is_loaded, until
from tests.integration.kernel_benchmark.kernel_objects import loaded
from tests.integration.kernel_benchmark.variants import both_families, every_release, every_release_newest_always

#: Long enough to be met at work; short enough to be waited for.
LONG = {"routes": 1000, "loops": 1000000, "runs": 3}


@pytest.mark.proof(
    area="kernel", line=7, title="Nothing is left after a run: programs, maps, routes, namespaces, modules"
)
@both_families
@every_release_newest_always
def test_nothing_is_left_after_a_run(router: BenchmarkHost, family: str) -> None:
    router.measured(family=family, routes=1)  # the kernel's own veth may be loaded for good
    until(nothing_is_loaded, 10)
    before = router.state()
    router.measured(family=family, routes=1000)
    until(nothing_is_loaded, 10)
    assert router.state() == before
    assert router.holders() == []


@pytest.mark.proof(area="kernel", line=7, title="Nothing is left after a run that was killed, and the next one works")
@pytest.mark.parametrize("moment", ["loading routes", "measuring"])
@every_release
def test_nothing_is_left_after_a_run_that_was_killed(router: BenchmarkHost, moment: str) -> None:
    until(nothing_is_loaded, 10)
    before = router.state()
    options: dict[str, Any] = {"routes": 1000000} if moment == "loading routes" else {**LONG, "runs": 100}
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(router.attempt, **options)
        until(lambda: bool(router.holders()), 30)
        if moment == "loading routes":
            until(lambda: len(router.sh("lsns -n -t net").splitlines()) > 1, 30)
            assert nothing_is_loaded()
        else:
            until(lambda: loaded("programs") == loaded("maps") == 1, 30)
        router.kill_holders()
        assert run.result().killed
    until(nothing_is_loaded, 10)
    until(lambda: router.state() == before, 30)
    assert router.measured(routes=10).values["return_codes"] == {"SUCCESS": 300000}


@pytest.mark.proof(area="kernel", line=7, title="Runs at the same time take turns, or say who is at work")
@every_release
def test_runs_take_turns(router: BenchmarkHost) -> None:
    until(nothing_is_loaded, 10)
    most, over = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(0.01):
            most = max(most, loaded("programs"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with ThreadPoolExecutor(3) as pool:
            runs = [pool.submit(router.measured, **LONG) for _number in range(3)]
            until(lambda: loaded("programs") == 1, 30)
            message = router.refused(routes=1, wait_timeout=0)
            assert all(run.result().values["looked_up"] == 3000000 for run in runs)
    finally:
        over.set()
        watcher.join()
    assert most == 1
    assert message.startswith("Another run works on kernel-benchmark: python3")


@pytest.mark.proof(area="kernel", line=7, title="Check mode measures nothing, and says so")
@every_release
def test_check_mode_measures_nothing(router: BenchmarkHost) -> None:
    before = router.state()
    result = router.attempt(check=True, routes=1000000)
    assert (result.failed, result.changed, result.values["ran"]) == (False, False, False)
    assert "nothing was measured" in result.message
    assert "raw" not in result.values
    assert result.seconds < 5
    assert router.state() == before
    assert not router.succeeds("test", "-e", "/run/baremetal.fabric")


@pytest.mark.proof(area="kernel", line=7, title="Bad parameters get one clear sentence")
@every_release
def test_bad_parameters_get_one_sentence(router: BenchmarkHost) -> None:
    assert router.refused(interface="nowhere") == "The host has no interface 'nowhere'; it has lo, outside."
    assert "must be from 0 to 1000000" in router.refused(routes=1000001)
    assert "must be from 1 to 64" in router.refused(batch=65)
    assert "is no network" in router.refused(network="203.0.113.1/24")
    assert "does not belong to the family ipv6" in router.refused(network="203.0.113.0/24", family="ipv6")
    assert "is no IP address" in router.refused(source="here")
    assert "at most" in router.refused(routes=100000, network="203.0.113.0/24")
    assert "they come in nowhere" in router.refused(engine="module", family="ipv6", interface="lo")
    assert "is not installed for the running kernel" in router.refused(engine="module")
    assert not router.succeeds("test", "-e", "/run/baremetal.fabric")


@pytest.mark.proof(area="kernel", line=7, title="Who may not load programs is told what is missing")
@every_release
def test_who_may_not_is_told_what_is_missing(router: BenchmarkHost) -> None:
    order = '{"module": "kernel_benchmark", "arguments": %s}'
    for arguments, missing in (
        ("{}", "CAP_BPF and CAP_NET_ADMIN"),
        ('{"routes": 10}', "CAP_SYS_ADMIN"),
        ('{"engine": "module"}', "CAP_SYS_MODULE"),
    ):
        as_nobody = [
            "setpriv",
            "--reuid=65534",
            "--clear-groups",
            "--inh-caps=-all",
            "env",
            "PYTHONPATH=/opt/fabric-proof",
        ]
        told = router.run(*as_nobody, "python3", "-m", "on_host.module", stdin=order % arguments)
        assert missing in told
        assert "set become to true" in told
