"""The kernel module is asked in its own words, and its answers are read for what they say."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.model import Loop
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.module_orders import (
    FOR_ONE_RUN,
    NAME,
    VERSION,
    BadAnswer,
    order,
    refusal_in,
    sample_of,
)
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.parameters import MOST_LOOPS
from ansible_collections.baremetal.fabric.plugins.module_utils._kernel.benchmark.shared_memory import (
    BUCKETS,
    MOST_PER_BATCH,
)

ROLE = Path(__file__).parents[3] / "roles" / "kernel_benchmark"
SOURCE = ROLE / "files" / "route-lookup"

ANSWER = """\
state 77
batches 4
total 1000
minimum 100
maximum 500
code 0 5
code -101 3
took 100 1
took 200 2
took 500 1
"""


def loop(network: str, source: str, look_up: bool = True) -> Loop:
    return Loop(ipaddress.ip_network(network), ipaddress.ip_address(source), 3, 2, 5, look_up)


def test_an_order_says_all_that_is_wanted() -> None:
    assert order(loop("192.0.2.0/24", "192.0.2.1"), 8) == (
        "network=192.0.2.0/24 source=192.0.2.1 lookups=8 batch=2 state=5 look_up=1 interface=3\n"
    )
    assert order(loop("2001:db8::/32", "::", look_up=False), 8) == (
        "network=2001:db8::/32 source=:: lookups=8 batch=2 state=5 look_up=0\n"
    )


def test_every_word_of_an_order_is_known_to_the_module() -> None:
    known = set(re.findall(r'strcmp\(key, "(\w+)"\)', (SOURCE / "order.c").read_text(encoding="utf-8")))
    asked = {word.split("=")[0] for word in order(loop("192.0.2.0/24", "192.0.2.1"), 8).split()}
    assert asked == known


def test_an_answer_is_read_for_what_it_says() -> None:
    sample, state = sample_of(ANSWER, 2)
    assert state == 77
    assert (sample.batch, sample.batches, sample.total, sample.minimum, sample.maximum) == (2, 4, 1000, 100, 500)
    assert sample.histogram == {100: 1, 200: 2, 500: 1}
    assert sample.return_codes == {"SUCCESS": 5, "NO_ROUTE": 3}
    assert (sample.errors, sample.last_error) == (0, 0)


def test_codes_have_the_names_that_the_other_engine_gives_them() -> None:
    codes = "".join(f"code -{number} 1\n" for number in (22, 113, 13, 11))
    sample, _state = sample_of(ANSWER + codes + "other 2 -512\n", 2)
    assert set(sample.return_codes) == {"SUCCESS", "NO_ROUTE", "BLACKHOLE", "UNREACHABLE", "PROHIBIT", "EAGAIN"}
    assert (sample.errors, sample.last_error) == (2, -512)


def test_why_an_order_was_refused_is_found() -> None:
    assert refusal_in("refused batch is 0, but must be a number from 1 to 64\n") == (
        "batch is 0, but must be a number from 1 to 64"
    )
    assert refusal_in(ANSWER) == ""


@pytest.mark.parametrize("answer", ["", "state 5\n", ANSWER + "took 5\n", ANSWER + "took 5 many\n", ANSWER + "code\n"])
def test_another_answer_is_not_taken_for_one(answer: str) -> None:
    with pytest.raises(BadAnswer, match=NAME):
        sample_of(answer, 1)


def test_module_and_collection_are_of_one_version() -> None:
    conf = dict(line.split("=", 1) for line in (SOURCE / "dkms.conf").read_text(encoding="utf-8").splitlines())
    device = (SOURCE / "device.c").read_text(encoding="utf-8")
    assert conf["PACKAGE_VERSION"].strip('"') == VERSION
    assert re.findall(r'MODULE_VERSION\("(.*)"\)', device) == [VERSION]
    assert conf["BUILT_MODULE_NAME[0]"].strip('"') == NAME == re.findall(r'\.name = "(.*)"', device)[0]
    assert f"module_param({FOR_ONE_RUN}, bool" in device
    variables = yaml.safe_load((ROLE / "vars" / "main.yml").read_text(encoding="utf-8"))
    assert conf["PACKAGE_NAME"].strip('"') == variables["__kernel_benchmark_package"]


def test_both_engines_have_the_same_bounds() -> None:
    header = (SOURCE / "route_lookup.h").read_text(encoding="utf-8")
    defined = dict(re.findall(r"^#define (\w+) (\d+)", header, re.MULTILINE))
    assert int(defined["BUCKETS"]) == BUCKETS
    assert int(defined["MOST_PER_BATCH"]) == MOST_PER_BATCH
    assert int(defined["MOST_LOOKUPS"]) == MOST_LOOPS


def test_both_engines_take_the_same_steps() -> None:
    constants = r"(\d{19})ULL \+ (\d{19})ULL"
    measure = (SOURCE / "measure.c").read_text(encoding="utf-8")
    program = (ROLE.parents[1] / "bpf" / "route_lookup.c").read_text(encoding="utf-8")
    assert re.findall(constants, measure) == re.findall(constants, program) != []
