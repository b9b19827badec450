#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_benchmark
short_description: Time how long the kernel takes to look a route up
version_added: 0.1.0
description:
  - Looks routes up in the kernel, a million times and more, and returns how long that takes in nanoseconds, as
    percentiles and as a histogram.
  - By default needs no compiler, no kernel module and no package on the host, and does not taint its kernel. The
    lookups are made by a BPF program with C(bpf_fib_lookup), which Linux runs on request; it sees no packet of the
    host. With O(engine=module) a kernel module makes them, which has to be installed before.
  - Measures either the tables that the host has, which it only reads, or with O(routes) a table of so many routes in
    a network namespace of its own, which the host's routing never meets.
  - What was made for a run is gone after it, also when the run is killed. Only when a run with O(engine=module) is
    killed with all of its processes at once, its module stays loaded, and the next run unloads it.
  - The guide R(Timing the kernel's route lookup, ansible_collections.baremetal.fabric.docsite.guide_kernel_benchmark)
    tells what is measured, and what is not.
options:
  engine:
    description:
      - What makes the lookups. V(bpf) is a BPF program, which calls C(bpf_fib_lookup).
      - V(module) is the kernel module C(fabric_route_lookup), which calls C(fib_lookup) or C(ip6_route_output). The
        role P(baremetal.fabric.kernel_benchmark#role) builds and installs it with M(baremetal.fabric.dkms_module). It
        is loaded for the run, and taints the kernel.
    type: str
    choices: [bpf, module]
    default: bpf
  family:
    description:
      - Whether IPv4 or IPv6 routes are looked up.
    type: str
    choices: [ipv4, ipv6]
    default: ipv4
  routes:
    description:
      - How many routes to make and to measure, from 0 to 1000000, in a network namespace of their own. V(0) is the
        empty table.
      - They are O(network) cut at random into so many pieces, so that every destination has exactly one route. The
        same number always gives the same routes.
      - Without it, the tables are measured that the host has.
    type: int
  network:
    description:
      - The network that destinations are taken from. They seem random, and none comes twice before all others have
        come; of an IPv6 network with more than 2^64 addresses, only the first 64 bits after its prefix vary.
      - The default is V(128.0.0.0/2) for IPv4 and V(2000::/3) for IPv6.
    type: str
  source:
    description:
      - The source address of the lookups, for routing rules that ask for it. By default it is the unspecified one.
    type: str
  interface:
    description:
      - The interface that the packets would have come in on, for routing rules that ask for it, and for VRFs.
      - Forwarding must be enabled on it for O(engine=bpf), or nothing is looked up.
      - The default is C(lo). Not with O(routes), and for IPv6 not with O(engine=module).
    type: str
  loops:
    description:
      - How many lookups one run makes, from 1 to 1000000000, rounded down to whole batches.
    type: int
    default: 1000000
  warm_up:
    description:
      - How many lookups are made before the first run, without being measured, so that caches have what they will
        have.
    type: int
    default: 100000
  batch:
    description:
      - How many lookups are timed together, from 1 to 64. All figures are divided by it.
      - Larger batches make up for a coarse clock, and hide how single lookups differ.
    type: int
    default: 1
  runs:
    description:
      - How many runs are made, from 1 to 100, each next to a run of the empty loop. Figures are medians over runs.
    type: int
    default: 5
  buckets:
    description:
      - The most buckets that RV(histogram) has, from 3 to 200.
    type: int
    default: 15
  wait_timeout:
    description:
      - Seconds to wait for another run on the same host, from 0 to 86400. Runs would disturb each other, so there is
        one at a time.
    type: int
    default: 600
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.actiongroup_fabric
attributes:
  check_mode:
    support: full
    details:
      - Checks the options, measures nothing, and says so in RV(ran).
  diff_mode:
    support: N/A
    details:
      - The module changes nothing.
  idempotent:
    support: N/A
    details:
      - The module changes nothing. What it measures differs from run to run.
notes:
  - Needs root, or C(CAP_BPF) and C(CAP_NET_ADMIN) for the host's own tables; and Linux 5.15 or newer on a 64-bit
    little-endian architecture. With O(engine=module) it needs root and C(kmod), and no container.
  - O(routes) needs the kernel's C(veth), which stays loaded where it is a module. A million IPv6 routes take
    800 MiB of memory while they are there, and with O(engine=module) up to 250 MiB more.
seealso:
  - module: baremetal.fabric.dkms_module
  - plugin: baremetal.fabric.histogram
    plugin_type: filter
  - plugin: baremetal.fabric.lookup_table
    plugin_type: filter
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: The lookup is timed in the tables of the router
  baremetal.fabric.kernel_benchmark:
    network: 0.0.0.0/0
    interface: eth0
  become: true
  register: lookup

- name: The same is timed by a kernel module, which the role kernel_benchmark has installed
  baremetal.fabric.kernel_benchmark:
    engine: module
    network: 0.0.0.0/0
  become: true

- name: The histogram is shown
  ansible.builtin.debug:
    msg: "{{ (lookup.histogram | baremetal.fabric.histogram).splitlines() }}"

- name: The lookup is timed among 1000 and 100000 IPv6 routes that only the measurement sees
  baremetal.fabric.kernel_benchmark:
    family: ipv6
    routes: "{{ item }}"
  become: true
  loop: [1000, 100000]
  register: sweep

- name: What a longer table costs is shown
  ansible.builtin.debug:
    msg: "{{ (sweep.results | baremetal.fabric.lookup_table).splitlines() }}"
"""

RETURN = r"""
ran:
  description: Whether anything was measured. False in check mode.
  returned: success
  type: bool
raw:
  description: Nanoseconds that a lookup took, with all that was around it.
  returned: when RV(ran)
  type: dict
  sample: {min: 120.0, max: 1908582.0, average: 838.5, p50: 771.0, p90: 1122.0, p95: 1232.0, p99: 1522.0, mad: 160.0}
  contains:
    min:
      description: The shortest of all runs.
      type: float
      returned: always
    max:
      description: The longest of all runs. Most often the host did something else meanwhile.
      type: float
      returned: always
    average:
      description: The average.
      type: float
      returned: always
    p50:
      description: The median. Half of the lookups took at most as long.
      type: float
      returned: always
    p90:
      description: 90 of 100 lookups took at most as long.
      type: float
      returned: always
    p95:
      description: 95 of 100 lookups took at most as long.
      type: float
      returned: always
    p99:
      description: 99 of 100 lookups took at most as long.
      type: float
      returned: always
    mad:
      description: The median of the distances from the median (median absolute deviation).
      type: float
      returned: always
net:
  description:
    - RV(raw) without C(mad), less C(p50) of RV(empty_loop), and not below 0.
  returned: when RV(ran)
  type: dict
empty_loop:
  description:
    - The same figures of the same loop without the lookup, which is the cost of reading the clock and of choosing
      destinations. Measured next to each run.
  returned: when RV(ran)
  type: dict
histogram:
  description:
    - How many batches took how long, over all runs, as it was measured. All buckets but the last have one width.
  returned: when RV(ran)
  type: list
  elements: dict
  contains:
    from:
      description: The shortest time in the bucket, in nanoseconds for each lookup.
      type: float
      returned: always
    to:
      description: Where the next bucket begins, and in the last one, if it is open, the longest time.
      type: float
      returned: always
    count:
      description: How many batches.
      type: int
      returned: always
return_codes:
  description:
    - How often the lookup returned what, by name, over all runs. C(BLACKHOLE), C(UNREACHABLE) and C(PROHIBIT) are
      routes of these types.
    - From C(bpf_fib_lookup) C(SUCCESS) is a route and its neighbour, C(NO_NEIGH) a route only, C(NOT_FWDED) none, or
      one to the host itself. C(FWD_DISABLED) looked nothing up, because packets are not forwarded from the interface.
    - With O(engine=module) C(SUCCESS) is a route, also one to the host itself, and C(NO_ROUTE) none.
  returned: when RV(ran)
  type: dict
  sample: {SUCCESS: 5000000}
looked_up:
  description: How many lookups there really were. Those that returned C(FWD_DISABLED) do not count.
  returned: when RV(ran)
  type: int
kernel:
  description: The release of the kernel.
  returned: when RV(ran)
  type: str
  sample: 6.12.107-amd64
cpu:
  description: The model of the CPU.
  returned: when RV(ran)
  type: str
clock_source:
  description: What the kernel reads the time from.
  returned: when RV(ran)
  type: str
  sample: tsc
jit:
  description:
    - Whether the kernel compiles BPF programs, rather than interpreting them. None in a container, where it does not
      tell, and with O(engine=module), where it does not matter.
  returned: when RV(ran)
  type: bool
engine:
  description: What made the lookups.
  returned: success
  type: str
family:
  description: Whether IPv4 or IPv6 routes were looked up.
  returned: success
  type: str
routes:
  description: How many routes were made, or none if the tables were the host's own.
  returned: success
  type: int
network:
  description: The network that destinations were taken from.
  returned: success
  type: str
source:
  description: The source address of the lookups.
  returned: success
  type: str
interface:
  description: The interface that the lookups came in on, or none with O(routes).
  returned: success
  type: str
loops:
  description: The lookups of each run that were asked for.
  returned: success
  type: int
warm_up:
  description: The lookups before the first run.
  returned: success
  type: int
batch:
  description: The lookups that were timed together.
  returned: success
  type: int
runs:
  description: The number of runs.
  returned: success
  type: int
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._converge.module import look
from ..module_utils._kernel.benchmark.parameters import BENCHMARK_SPEC
from ..module_utils._kernel.benchmark.tasks import benchmark


def main() -> None:
    module = AnsibleModule(argument_spec=BENCHMARK_SPEC, supports_check_mode=True)
    look(module, benchmark(module.check_mode, module.warn), {})


if __name__ == "__main__":
    main()
