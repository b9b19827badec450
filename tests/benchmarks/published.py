"""docker_firewall against nft and iptables by hand: 1,000 policies, one that changes, nothing to do, and packets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.integration.firewall.docker_host import DockerHost, Service
from tests.integration.firewall.engines import settings
from tests.integration.firewall.places import ADDRESSES, DOCK, topology
from tests.integration.firewall.stage import Stage, on_lab
from tests.integration.modules.payload import FOLDER
from tests.lab import Lab, take_down
from tests.playbook import CACHE, play, playbook_argv

from .figures import Figure, Sample

BOUND = 2.0
POLICIES, SOURCES = 1000, 10
#: Rules of the loop; a playbook with more of them takes minutes.
LOOPED = 50
SETTING = settings("26.1", proxy=True)[0]
_GUEST = Path(__file__).resolve().parent / "guest"
ECHO = Service("echo", ("tcp:443", "echo:7"), ("10500:7",))
ROUNDS = 4000


def measure(lab_name: str, repeat: int) -> Iterator[Figure]:
    """Yield the figures, on a Docker host of their own."""
    take_down(lab_name)
    with Lab.from_topology(topology(SETTING.engine), lab_name) as lab:
        stage = on_lab(lab)
        stage.dock.start_over(SETTING)
        yield from _engine(stage.dock, repeat)
        yield _loop(stage, repeat)
        yield from _packets(stage, repeat)


def _engine(dock: DockerHost, repeat: int) -> Iterator[Figure]:
    program = f"{FOLDER}/firewall_runs.py"
    dock.host.put((_GUEST / "firewall_runs.py").read_bytes(), program)
    order = json.dumps({"policies": POLICIES, "sources": SOURCES, "repeat": repeat})
    samples: dict[str, list[float]] = json.loads(
        dock.run("env", f"PYTHONPATH={FOLDER}", "python3", program, order, timeout=600)
    )
    found = {name: Sample(tuple(seconds)) for name, seconds in samples.items()}
    one = found["change one"].median / found["element by hand"].median
    yield Figure(f"{POLICIES:,} policies", found["load"], found["load by hand"], BOUND, notes="nft -f of the same text")
    notes = f"nft -f of the whole text; of the one element: {one:.1f} x"
    yield Figure("one of them changes", found["change one"], found["reload by hand"], BOUND, notes=notes)
    yield Figure("none changes", found["nothing"], found["list by hand"], BOUND, notes="one nft -j list table")


def _loop(stage: Stage, repeat: int) -> Figure:
    """A playbook with one task for all ports, against one with a loop of ansible.builtin.iptables."""
    ports = [20000 + number for number in range(LOOPED)]
    policies = [{"name": f"p{port}", "ports": [port], "allow_from": ["192.0.2.2"]} for port in ports]
    ours = {"baremetal.fabric.docker_firewall": {"policies": policies}}
    rule = {
        "chain": "DOCKER-USER",
        "action": "insert",
        "protocol": "tcp",
        "source": "!192.0.2.2",
        "match": ["conntrack"],
        "ctstate": ["DNAT"],
        "destination_port": "{{ item }}",
        "jump": "DROP",
    }
    theirs = {"ansible.builtin.iptables": rule, "loop": ports}
    seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _turn in range(min(repeat, 2)):
        for name, task in (("theirs", theirs), ("ours", ours)):
            seconds[name].append(_play(stage, name, task))
    notes = f"a loop of ansible.builtin.iptables, {LOOPED} rules, over SSH"
    samples = {name: Sample(tuple(found)) for name, found in seconds.items()}
    return Figure(f"{LOOPED} ports by playbook", samples["ours"], samples["theirs"], 1.0, notes=notes)


def _play(stage: Stage, name: str, task: dict[str, Any]) -> float:
    file = CACHE / "benchmarks" / f"published-{name}.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    book = [{"hosts": DOCK, "gather_facts": False, "tasks": [{"name": "Ports are closed", **task}]}]
    file.write_text(yaml.safe_dump(book))
    return play(playbook_argv(str(file), [stage.lab.inventory]), file.with_suffix(".log")).seconds


def _packets(stage: Stage, repeat: int) -> Iterator[Figure]:
    """Words there and back over one connection that every packet of is looked up, against no policy at all."""
    stage.dock.module("docker_firewall", {"state": "absent"})
    stage.dock.run_services(ECHO)
    samples: dict[str, list[float]] = {"none": [], "sets": [], "chain": []}
    allowed = ADDRESSES["allowed"][4]
    port = int(ECHO.publish[0].split(":")[0])
    others = [number for number in range(10000, 10000 + POLICIES) if number != port]
    policies = [{"name": f"p{number}", "ports": [str(number)], "allow_from": [allowed]} for number in [*others, port]]
    published = "meta l4proto tcp ct direction original ct status dnat ct original proto-dst"
    linear = "".join(f"    {published} {number} ip saddr != {allowed} drop\n" for number in [*others, port])
    chain = f"table inet linear {{\n  chain c {{\n    type filter hook forward priority filter - 1;\n{linear}  }}\n}}\n"
    for _turn in range(repeat):
        with stage.allowed.talking(DOCK, port) as talk:
            samples["none"].append(talk.time(ROUNDS))
        stage.dock.module("docker_firewall", {"policies": policies, "cut_existing": True})
        with stage.allowed.talking(DOCK, port) as talk:
            samples["sets"].append(talk.time(ROUNDS))
        stage.dock.module("docker_firewall", {"state": "absent"})
        stage.dock.load(chain)
        with stage.allowed.talking(DOCK, port) as talk:
            samples["chain"].append(talk.time(ROUNDS))
        stage.dock.run("nft", "delete", "table", "inet", "linear")
    found = {name: Sample(tuple(seconds)) for name, seconds in samples.items()}
    walk = found["chain"].median / found["none"].median
    notes = f"{ROUNDS} words there and back, no policy; a chain of {POLICIES:,} rules: {walk:.2f} x"
    yield Figure(f"packets, {POLICIES:,} policies", found["sets"], found["none"], 1.2, notes=notes)
