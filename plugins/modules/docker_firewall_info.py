#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_firewall_info
short_description: Look at Docker's published ports, and at the policy that they obey
version_added: 0.1.0
description:
  - Tells each port that Docker publishes with the policy of M(baremetal.fabric.docker_firewall) that decides on it, and
    what is open that nobody decided on.
  - Audits what else has a say on the same packets, namely how Docker runs, the order of iptables' chains, flowtables,
    processes of the host that listen on the same ports, containers on the host's network, and Swarm.
  - Asks Docker on its socket, the kernel for the table, and systemd for the units; changes nothing. Docker's command
    line is not needed.
options:
  docker_socket:
    description:
      - Path of the socket on which Docker answers.
    type: path
    default: /run/docker.sock
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.info_module
  - baremetal.fabric.attributes.actiongroup_fabric
requirements:
  - nftables 1.0.6 or later (Debian package C(nftables))
  - systemd
notes:
  - Containers on the host's network are told from its other processes by their control group, and docker-proxies by
    their name. Sockets of SCTP are not looked at.
seealso:
  - module: baremetal.fabric.docker_firewall
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: Published ports are looked at
  baremetal.fabric.docker_firewall_info:
  register: docker

- name: What nobody decided on is shown
  ansible.builtin.debug:
    var: docker.findings

- name: Nothing is left to look after
  ansible.builtin.assert:
    that: docker.findings | length == 0
"""

RETURN = r"""
picture:
  description: The policy as a person would write it down.
  returned: success
  type: str
findings:
  description: What somebody should know, one sentence each.
  returned: success
  type: list
  elements: str
firewall:
  description: The same as M(baremetal.fabric.docker_firewall) returns.
  returned: success
  type: dict
audit:
  description: What was looked at besides the policy. The keys are always there; V(null) is what could not be told.
  returned: success
  type: dict
  contains:
    daemon:
      description:
        - How Docker runs, from its command line, its file and its own words.
        - V(null) when neither a dockerd has the socket nor a file is there.
      returned: success
      type: dict
      contains:
        pid:
          description: Process of dockerd; V(null) while it does not run.
          returned: success
          type: int
        config_file:
          description: Path of its file, whether it is there or not.
          returned: success
          type: str
        config_error:
          description: Why the file cannot be read as JSON.
          returned: success
          type: str
        config_newer:
          description:
            - Whether the file changed after dockerd was started.
            - What stands in it is then not in force, and settings that only the file could tell are V(null).
          returned: success
          type: bool
        iptables:
          description: Whether Docker writes rules.
          returned: success
          type: bool
        ip6tables:
          description: Whether it writes rules for IPv6, too; by default it does since Docker 27.
          returned: success
          type: bool
        userland_proxy:
          description: Whether a docker-proxy serves each published port.
          returned: success
          type: bool
        firewall_backend:
          description: What it writes rules with, such as V(iptables), V(nftables) or V(iptables+firewalld).
          returned: success
          type: str
        hosts:
          description: Where it answers.
          returned: success
          type: list
          elements: str
        tls:
          description: Whether it speaks TLS on TCP.
          returned: success
          type: bool
        tls_verify:
          description: Whether it asks for certificates there.
          returned: success
          type: bool
    iptables:
      description:
        - C(ipv4) and C(ipv6), each as iptables-save or ip6tables-save tells it; V(null) where it is not installed.
      returned: success
      type: dict
      sample:
        ipv4:
          variant: nf_tables
          forward_policy: DROP
          input_policy: ACCEPT
          docker_user: true
          docker_user_jump: 2
          docker_jump: 2
          docker_translates: true
          accepts_ahead:
            - number: 1
              rule: -i uplink -j ACCEPT
          docker_user_rules: []
          docker_user_dead_rules: []
          raw_drops: 1
          unreadable_tables: []
        ipv6: null
    legacy_tables:
      description: Tables of the legacy variant in C(ipv4) and C(ipv6), which hold beside those of nf_tables.
      returned: success
      type: dict
      sample: {ipv4: [], ipv6: [filter]}
    flowtables:
      description: Flowtables, which take established connections past the forward hook.
      returned: success
      type: list
      elements: dict
      sample: [{family: inet, table: fast, name: flows, devices: [lan, uplink]}]
    listeners:
      description:
        - TCP and UDP sockets on ports that Docker publishes or a policy names, and those of docker-proxies and of
          containers on the host's network.
        - C(policies) are those that decide on what comes to the socket itself; C(reachable) is whether it is bound to
          more than loopback. C(container) is the name of the container whose process it is.
      returned: success
      type: list
      elements: dict
      sample:
        - protocol: tcp
          address: "::"
          port: 8443
          pid: 911
          process: docker-proxy
          container: null
          reachable: true
          policies: [web]
    host_network_containers:
      description: Running containers on the host's network, of whose ports only those that a policy names are governed.
      returned: success
      type: list
      elements: str
    wire_networks:
      description: Networks of the drivers macvlan and ipvlan, which no policy governs.
      returned: success
      type: list
      elements: dict
      sample: [{name: lan, driver: macvlan}]
    swarm:
      description:
        - State of this node, whether it is a manager, and the ports of the Swarm's services with their policies.
        - C(ports) is V(null) on nodes that are no manager, since only those know.
      returned: success
      type: dict
      sample:
        state: active
        manager: true
        ports: [{service: web, protocol: tcp, port: 8080, ingress: true, policies: [web]}]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._converge.module import look
from ..module_utils._firewall.parameters import FIREWALL_INFO_SPEC, INFO_TOOLS
from ..module_utils._firewall.tasks import look_at_firewall


def main() -> None:
    module = AnsibleModule(argument_spec=FIREWALL_INFO_SPEC, supports_check_mode=True)
    look(module, look_at_firewall, INFO_TOOLS)


if __name__ == "__main__":
    main()
