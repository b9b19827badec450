"""A router on which route lookups are timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.integration.kernel_benchmark.kernel_objects import loaded
from tests.integration.kernel_benchmark.places import OUTSIDE
from tests.integration.modules.module_host import ModuleHost
from tests.integration.modules.result import Result

MODULE = "kernel_benchmark"
LOCK = "/run/baremetal.fabric/locks/kernel-benchmark.lock"
#: Processes that have the lock open.
HOLDERS = f"""\
for each in /proc/[0-9]*/fd/*; do
    if [ "$(readlink "$each")" = {LOCK} ]; then echo "$each"; fi
done | cut -d/ -f3 | sort -u
"""
#: All that a run could leave on the host.
STATE = """\
for family in -4 -6; do ip $family route show table all; ip $family rule; done
ip -brief link
ip netns list
sysctl -a 2>/dev/null | grep -E '^net\\.ipv[46]\\.conf\\.[a-z]+\\.forwarding'
for each in /proc/[0-9]*/ns/net; do readlink "$each"; done | sort -u
if [ -e /proc/modules ]; then cut -d' ' -f1 /proc/modules | sort; fi
cat /proc/sys/kernel/tainted
ls /tmp /var/tmp
"""


def until(come_true: Callable[[], bool], seconds: float) -> None:
    """Wait until something has come true."""
    deadline = time.monotonic() + seconds
    while not come_true():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s"
        time.sleep(0.02)


@dataclass
class BenchmarkHost(ModuleHost):
    """The router. It forwards, or not, as a test says."""

    patience: ClassVar[float] = 1800.0
    telling: ClassVar[tuple[str, ...]] = ("ip address; ip route; ip -6 route; ip rule", HOLDERS, "ps -ef")

    def attempt(self, check: bool = False, **options: Any) -> Result:
        """Run the module, whatever comes of it. Short, unless the options say otherwise."""
        return self.module(MODULE, {"loops": 100000, "warm_up": 20000, "runs": 3, **options}, check=check)

    def measured(self, **options: Any) -> Result:
        """Run the module; it must measure, and change nothing."""
        result = self.attempt(**options)
        assert not result.failed, result.message
        assert result.values["ran"] is True
        assert result.changed is False
        return result

    def refused(self, **options: Any) -> str:
        """Run the module; it must fail with one sentence."""
        result = self.attempt(**options)
        assert result.failed, f"it measured: {result.values}"
        assert result.message.endswith("."), result.message
        assert result.stderr == ""
        return result.message

    def forward(self, family: str, forwards: bool) -> None:
        """Let packets be forwarded, or not."""
        self.run("sysctl", "-qw", f"net.{family}.conf.all.forwarding={int(forwards)}")

    def route(self, family: str, *words: str) -> None:
        """Change the host's own table."""
        self.run("ip", f"-{family[-1]}", "route", *words)

    def start_over(self) -> None:
        """Make it a router as it was after its start."""
        self.history.clear()
        self.last = None
        for family in ("ipv4", "ipv6"):
            self.forward(family, False)
            for kind in ("unreachable", "blackhole", "prohibit", "unicast"):
                self.run("ip", f"-{family[-1]}", "route", "flush", "type", kind, "proto", "boot", check=False)
            self.run("ip", f"-{family[-1]}", "rule", "del", "priority", "77", check=False)
            self.run("ip", f"-{family[-1]}", "route", "flush", "table", "77", check=False)
            self.run("ip", f"-{family[-1]}", "neighbour", "flush", "dev", OUTSIDE, check=False)
        self.run("rm", "-rf", "/run/baremetal.fabric")

    def state(self) -> str:
        """All that a run could leave on the host."""
        return self.sh(STATE)

    def holders(self) -> list[str]:
        """The processes that hold the lock, or wait for it."""
        return self.sh(HOLDERS, check=False).split()

    def kill_holders(self) -> None:
        """Kill the run that holds the lock, with all that it has started."""
        self.run("kill", "-KILL", *self.holders())


def nothing_is_loaded() -> bool:
    """Whether no program and no map of the benchmark is there, on any host that shares the kernel."""
    return loaded("programs") == loaded("maps") == 0
