"""The engine that is a kernel module, on the kernels of both releases; the role brings it, and takes it away again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.integration.kernel_benchmark.benchmark_host import until
from tests.integration.kernel_benchmark.guest import DEVICE, NAME, PACKAGE, SHORT, SOURCE, Guest
from tests.integration.kernel_benchmark.test_answers import EVEN, PARTS, WHOLE
from tests.integration.kernel_benchmark.variants import both_families, every_guest

pytestmark = [pytest.mark.slow, pytest.mark.qemu]

ENGINES = ("bpf", "module")


@pytest.mark.proof(area="kernel", line=7, title="The role builds the kernel module, and measures with it")
@every_guest
def test_the_role_brings_the_module(machine: Guest) -> None:
    assert machine.unequipped.startswith(f"The kernel module {NAME} is not installed for the running kernel ")
    assert "kernel_benchmark_engine set to module" in machine.unequipped
    assert machine.first is not None
    results = machine.first.of("baremetal.fabric.kernel_benchmark")["results"]
    assert [each["return_codes"] for each in results] == [{"NO_ROUTE": 60000}, {"SUCCESS": 60000}]
    kernel = machine.run("uname", "-r").strip()
    assert results[0]["kernel"] == kernel
    assert (
        machine.run("modinfo", "--field", "filename", NAME)
        .rsplit("/", 1)[0]
        .endswith(f"/lib/modules/{kernel}/updates/dkms")
    )
    assert "installed" in machine.run("dkms", "status", PACKAGE)
    assert not machine.is_loaded()
    again = machine.play_role(engine="module", sizes=[1], **SHORT)
    assert again.changed == 0


@pytest.mark.proof(area="kernel", line=7, title="Both engines find the pure lookup to cost about the same")
@both_families
@every_guest
def test_both_engines_agree(machine: Guest, family: str) -> None:
    found = {engine: machine.measured(engine=engine, family=family, routes=10000).values for engine in ENGINES}
    for values in found.values():
        assert values["return_codes"] == {"SUCCESS": 300000}
        assert 0 < values["empty_loop"]["p50"] < values["raw"]["p50"]
    bpf, module = (found[engine]["net"]["p50"] for engine in ENGINES)
    assert bpf / 10 < module < bpf * 10


@pytest.mark.proof(area="kernel", line=7, title="The kernel module, too, counts what lookups return to the last one")
@both_families
@every_guest
def test_every_kind_of_route_is_counted_by_the_module(machine: Guest, family: str) -> None:
    # What is thrown out of the table is not found by a default route either.
    kinds = dict(zip(("blackhole", "unreachable", "prohibit", "throw"), PARTS[family], strict=True))
    for kind, network in kinds.items():
        machine.route(family, "add", kind, network)
    try:
        result = machine.measured(engine="module", family=family, network=WHOLE[family], **EVEN)
    finally:
        for network in kinds.values():
            machine.route(family, "del", network)
    assert result.values["return_codes"] == {
        "BLACKHOLE": 256000,
        "UNREACHABLE": 128000,
        "PROHIBIT": 64000,
        "NO_ROUTE": 64000,
    }
    assert not result.values.get("warnings")


@pytest.mark.proof(area="kernel", line=7, title="Routing rules see the source and the interface, with the module too")
@every_guest
@pytest.mark.parametrize("which", ["source", "interface"])
def test_rules_see_source_and_interface_of_the_module(machine: Guest, which: str) -> None:
    condition, options = {
        "source": ("from 198.51.100.7", {"source": "198.51.100.7"}),
        "interface": ("iif beside", {"interface": "beside"}),
    }[which]
    plain = {"engine": "module", "network": WHOLE["ipv4"], **EVEN}
    machine.sh("ip link add beside type dummy; ip link set beside up")
    try:
        machine.route("ipv4", "add", "throw", WHOLE["ipv4"])
        machine.route("ipv4", "add", "blackhole", WHOLE["ipv4"], "table", "77")
        machine.sh(f"ip rule add priority 77 {condition} lookup 77")
        assert machine.measured(**plain).values["return_codes"] == {"NO_ROUTE": 512000}
        assert machine.measured(**plain, **options).values["return_codes"] == {"BLACKHOLE": 512000}
    finally:
        for command in ("rule del priority 77", "route flush table 77", "route flush type throw", "link del beside"):
            machine.run("ip", *command.split(), check=False)


@pytest.mark.proof(
    area="kernel", line=7, title="Nothing is left of the kernel module, also after a run that was killed"
)
@every_guest
def test_nothing_is_left_of_the_module(machine: Guest) -> None:
    machine.measured(engine="module", routes=1)  # the kernel's own veth stays loaded
    before = machine.state()
    machine.measured(engine="module", routes=1000)
    assert machine.state() == before
    long: dict[str, Any] = {"engine": "module", "routes": 1000, "loops": 1000000, "runs": 100}
    for everything in (False, True):
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit(machine.attempt, **long)
            until(machine.is_loaded, 180)
            # The run, and the process that waits for its end.
            until(lambda: len(machine.holders()) == 2, 180)
            run_itself, keeper = sorted(machine.holders(), key=int)
            machine.run("kill", "-KILL", run_itself, *([keeper] if everything else []))
            assert run.result().killed
        if not everything:
            until(lambda: not machine.is_loaded(), 60)
    # Nobody was left to unload it. The next run knows whose it is.
    assert machine.is_loaded()
    assert machine.read(f"/sys/module/{NAME}/parameters/for_one_run") == "Y"
    machine.measured(engine="module", routes=10)
    until(lambda: machine.state() == before, 60)
    # What somebody else has loaded stays.
    machine.run("modprobe", NAME)
    machine.measured(engine="module", routes=10)
    assert machine.is_loaded()
    machine.run("rmmod", NAME)


#: Orders, how writing them ends, and the beginning of what is read then.
ORDERS = [
    ("", "EINVAL", "refused network is missing"),
    ("network=192.0.2.0/24 batch=0", "EINVAL", "refused batch is 0, but must be a number from 1 to 64"),
    ("network=192.0.2.0/24 batch=65", "EINVAL", "refused batch is 65, but"),
    ("network=192.0.2.0/24 batch=-1", "EINVAL", "refused batch is -1, but"),
    ("network=192.0.2.0/24 batch=many", "EINVAL", "refused batch is many, but"),
    ("network=192.0.2.0/24 batch", "EINVAL", "refused batch has no value"),
    ("network=192.0.2.0/24 lookups=1000000001", "EINVAL", "refused lookups is 1000000001, but"),
    ("network=192.0.2.0/24 lookups=99999999999999999999999", "EINVAL", "refused lookups is 9999"),
    ("network=192.0.2.0/24 lookups=5 batch=6", "EINVAL", "refused lookups is 5, less than one batch of 6"),
    (
        "network=192.0.2.1/24",
        "EINVAL",
        "refused network begins with 192.0.2.1, which is not the first address of a /24",
    ),
    ("network=192.0.2.0/33", "EINVAL", "refused the length of the prefix is 33, but must be a number from 0 to 32"),
    ("network=192.0.2.0/", "EINVAL", "refused the length of the prefix is , but"),
    ("network=192.0.2", "EINVAL", "refused network begins with 192.0.2, which is no address"),
    ("network=2001:db8::1/32", "EINVAL", "refused network begins with 2001:db8::1, which is not"),
    ("network=2001:db8::/129", "EINVAL", "refused the length of the prefix is 129, but"),
    ("network=" + "2001:db8:" * 40, "EINVAL", "refused network begins with 2001:db8:"),
    ("network=192.0.2.0/24 source=::1", "EAFNOSUPPORT", "refused source is ::1, of another family"),
    ("network=192.0.2.0/24 source=here", "EINVAL", "refused source is here, which is no address"),
    ("network=192.0.2.0/24 interface=0", "EINVAL", "refused interface is 0, but"),
    ("network=192.0.2.0/24 interface=77", "ENODEV", "refused interface is 77, but this network has none"),
    ("network=2001:db8::/32 interface=1", "ENOTSUP", "refused interface is for IPv4"),
    ("network=192.0.2.0/24 look_up=2", "EINVAL", "refused look_up is 2, but"),
    ("network=192.0.2.0/24 colour=red", "EINVAL", "refused colour is no key"),
    ('lookups=10 network="192.0.2.0/24', "done", "state "),
    ("=", "EINVAL", "refused"),
    ("\x01\x7f%s%n" * 20, "EINVAL", "refused"),
    ("network=192.0.2.0/24 " + "x" * 600, "E2BIG", ""),
    ("network=0.0.0.0/0 lookups=1", "done", "state "),
    ("network=192.0.2.7 lookups=64 batch=64", "done", "state 0"),
    ("network=::/0 lookups=1000", "done", "state "),
    ("network=fe80::/10 lookups=1000 batch=7 state=18446744073709551615", "done", "state "),
    ("network=ff00::/8 lookups=1000 source=::1", "done", "state "),
    ("network=2001:db8::1/128 look_up=0", "done", "state 0"),
]


@pytest.mark.proof(
    area="kernel", line=7, title="The kernel module refuses nonsense in words, and its kernel stays sound"
)
@every_guest
def test_nonsense_gets_an_error_number_and_a_reason(machine: Guest) -> None:
    machine.run("modprobe", NAME)
    try:
        for (order, ended, begins), told in zip(ORDERS, machine.told(*(each[0] for each in ORDERS)), strict=True):
            number, _space, answer = told.partition(" ")
            assert (order[:60], number) == (order[:60], ended)
            assert answer.startswith(begins), f"{order[:60]}: {answer}"
        # Who asks nothing is told so; who may not is not let in; who uses it keeps it from being unloaded.
        assert not machine.succeeds("cat", DEVICE)
        assert "ENODATA" in machine.told("x" * 600)[0]
        assert "Permission denied" in machine.sh(
            f"setpriv --reuid=65534 --clear-groups --inh-caps=-all cat {DEVICE} 2>&1 || true"
        )
        assert "in use" in machine.sh(f"exec 3<>{DEVICE}; rmmod {NAME} 2>&1 || true")
        # A signal ends it; two at once take turns.
        order = "network=0.0.0.0/0 lookups=1000000000"
        assert not machine.succeeds("timeout", "-s", "KILL", "2", "sh", "-c", f"echo {order} > {DEVICE}")
        script = f"echo network=0.0.0.0/0 lookups=300000 > {DEVICE}"
        machine.sh(f"({script}) & ({script}) & wait; {script}")
    finally:
        machine.run("rmmod", NAME)


@pytest.mark.proof(area="kernel", line=7, title="A sweep to a million routes with the kernel module")
@both_families
@every_guest
def test_a_million_routes_cost_more_than_one(machine: Guest, family: str) -> None:
    found = [machine.measured(engine="module", family=family, routes=size).values for size in (1, 1000, 1000000)]
    assert [values["return_codes"] for values in found] == [{"SUCCESS": 300000}] * 3
    # Whoever emulates the host stops it now and then, which is in averages and not in medians.
    medians = [values["net"]["p50"] for values in found]
    assert 0 < medians[0] < medians[1] < medians[2]


@pytest.mark.proof(area="kernel", line=7, title="The role takes the kernel module away again")
@every_guest
def test_the_role_takes_the_module_away(machine: Guest) -> None:
    machine.play_role(engine="module", sizes=[1], keep_module=False, **SHORT)
    assert not machine.succeeds("modinfo", NAME)
    assert PACKAGE not in machine.run("dkms", "status")
    assert not machine.succeeds("test", "-e", SOURCE)
    assert not machine.is_loaded()
    assert not machine.sh("ls -d /usr/src/fabric-route-lookup-* 2>/dev/null || true")
    assert machine.refused(engine="module").startswith(f"The kernel module {NAME} is not installed")
