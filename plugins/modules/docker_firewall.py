#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_firewall
short_description: Let Docker's published ports obey a policy, at every moment
version_added: 0.1.0
description:
  - Docker publishes ports past the firewall of the host. This module declares who may open connections to them.
  - The policy is an nftables table of its own, C(inet docker_firewall), in front of Docker's rules and beside those
    of everybody else. It only drops; what it lets pass meets all other rules as before. While it is replaced a second
    table holds the same, as in one transaction the kernel may let single packets pass. O(backend) has another place
    for it, for hosts that must have it there.
  - It holds for IPv4 and IPv6, for ports that Docker forwards and for those that docker-proxy serves as a process of
    the host, and it closes the way around a published port, the route to the address of a container.
  - Ports are those of the host, before Docker translates them. Connections that the host or its containers open to the
    same port elsewhere, and replies, always pass.
  - The policy is loaded before Docker starts, and again in the same transaction when C(nftables.service) is started,
    reloaded or stopped. For the moment that this takes nobody opens connections to ports that not everybody may reach.
    A small service follows the networks that Docker makes.
  - Needs a Docker that runs under systemd. A Docker that is not installed yet, or does not run, is no obstacle.
options:
  state:
    description:
      - Whether the host has a policy. V(absent) removes it, its files and its units; published ports are then open
        to everybody.
    type: str
    choices: [present, absent]
    default: present
  policies:
    description:
      - Who may reach which ports. No two may decide on the same port of the same address.
      - A policy for one O(policies[].host_address) comes before those for all addresses.
      - Policies hold for every process that listens on such a port of the host, also for one outside of containers.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - Name of the policy, in listings and in the log. Up to 32 letters, digits, C(_), C(.) and C(-).
        type: str
        required: true
      ports:
        description:
          - Ports of the host, or ranges of them such as V(8000-8010).
        type: list
        elements: str
        required: true
      protocol:
        description:
          - The protocol that the ports belong to.
        type: str
        choices: [tcp, udp, sctp]
        default: tcp
      host_address:
        description:
          - An address of the host. Without it the policy holds for all of them.
        type: str
      allow_from:
        description:
          - Addresses and networks, as in V(192.0.2.0/24) or V(2001:db8::/32), that may open connections. Everybody
            else is denied; with an empty list that is everybody.
          - Lists of any size cost the same for each packet.
        type: list
        elements: str
        default: []
      log:
        description:
          - Whether denied packets are written to the kernel's log, at most five a second.
        type: bool
        default: false
  default:
    description:
      - What happens to published ports that no policy names. V(return) leaves them to Docker, open to everybody;
        V(drop) closes them to all but the host and its containers.
      - That holds for whatever Docker itself serves to the outside, so also for its own interface, if it listens on
        TCP. What docker-proxy serves is known by its control group; a host without unified control groups (cgroups
        v2) cannot close that.
    type: str
    choices: [return, drop]
    default: return
  direct_access:
    description:
      - What happens to connections from outside to the address of a container, by a route, around its published ports.
    type: str
    choices: [return, drop]
    default: drop
  cut_existing:
    description:
      - Whether a source that loses its permission also loses the connections that it has. Otherwise these go on until
        they end, and only new ones are denied.
    type: bool
    default: false
  backend:
    description:
      - What carries the policy. V(auto) is V(nftables), the table of its own, which leaves no gap.
      - V(docker_user) puts the policy below Docker's own chain for the rules of others. C(FABRIC-DOCKER) and the chains
        behind it are in the table C(filter) of iptables and ip6tables, and the first rule of C(DOCKER-USER) jumps
        there. They are replaced in one transaction for each IP version, and no other rule is touched.
      - That chain is not where a packet comes by at every moment, nor does every packet come by. RV(firewall.gaps)
        and RV(findings) tell what holds on the host; the guide has what was measured.
      - Below C(DOCKER-USER) each source and each port is a rule, and packets walk along them. Large lists belong to
        V(nftables).
      - A host that goes from one to the other has both policies for a moment, and never none.
    type: str
    choices: [auto, nftables, docker_user]
    default: auto
  confirm_timeout:
    description:
      - Seconds after which the host goes back to the policy that it had, unless the controller reaches it over a new
        connection. V(0) applies the policy at once and for good.
      - The policy is not loaded at boot before it is confirmed, so that a reboot undoes it, too.
    type: int
    default: 0
  confirm:
    description:
      - The token of a change that is to be confirmed. The module does this by itself over a new connection.
    type: str
  docker_socket:
    description:
      - Path of the socket on which Docker answers.
    type: path
    default: /run/docker.sock
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.converging
  - baremetal.fabric.attributes.actiongroup_fabric
requirements:
  - nftables 1.0.6 or later (Debian package C(nftables)), or with O(backend=docker_user) iptables 1.8.9 or later
  - Linux 5.13 or later
  - systemd
notes:
  - In check mode the rules are loaded into a network namespace that is thrown away, and compared with what they read
    back as. What the kernel would refuse is told with the policy that it came from.
seealso:
  - module: baremetal.fabric.docker_firewall_info
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: Only the relays reach the gateway
  baremetal.fabric.docker_firewall:
    policies:
      - name: gateway
        ports: [443, 8443]
        allow_from: [192.0.2.0/28, "2001:db8:1::/64"]
        log: true

- name: Nothing is published by accident
  baremetal.fabric.docker_firewall:
    default: drop
    policies:
      - name: web
        ports: [80, 443]
        allow_from: [0.0.0.0/0, "::/0"]
      - name: metrics
        ports: [9100-9110]
        allow_from: [198.51.100.7]
    confirm_timeout: 60

- name: The policy is in DOCKER-USER, where the auditors look for it
  baremetal.fabric.docker_firewall:
    backend: docker_user
    policies:
      - name: web
        ports: [80, 443]
        allow_from: [192.0.2.0/24]

- name: Docker's ports are left to Docker
  baremetal.fabric.docker_firewall:
    state: absent
"""

RETURN = r"""
plan:
  description:
    - The steps that were taken, or in check mode would be, each with C(title), C(command), C(reason), C(destructive).
  returned: always
  type: list
  elements: dict
pending:
  description: A change that waits for its confirmation.
  returned: always
  type: list
  elements: dict
findings:
  description: What somebody should know of the host's published ports, one sentence each.
  returned: success
  type: list
  elements: str
firewall:
  description: The firewall. In check mode, as the plan would leave it.
  returned: success
  type: dict
  contains:
    backend:
      description: What carries the policy, or none when there is no policy.
      type: str
      returned: always
    table:
      description: The table, or none when there is none.
      type: str
      returned: always
    left_tables:
      description: Further tables of this module that are there because a run or a load was killed.
      type: list
      elements: str
      returned: always
    chain:
      description: The chain that DOCKER-USER jumps to, or none when there is none.
      type: str
      returned: always
    gaps:
      description:
        - What the policy does not see, when it is carried by C(docker_user). The kinds are C(docker_proxy), ports that
          docker-proxy serves, C(accepted_ahead), rules in front of the jump to C(DOCKER-USER) that may accept, and
          C(no_jump), an IP version for which Docker does not jump to C(DOCKER-USER), with the
          published ports that are open for this reason.
        - And the moments at which others take the chains or the jump away, C(network_create) and C(firewalld_reload).
      type: list
      elements: dict
      returned: always
      contains:
        kind:
          description: The kind.
          type: str
          returned: always
        ip_version:
          description: 4 or 6, or none for both.
          type: int
          returned: always
        ports:
          description: Ports such as C(tcp 8443).
          type: list
          elements: str
          returned: always
    bridges:
      description: The interfaces behind which containers live.
      type: list
      elements: str
      returned: always
    docker:
      description: What Docker tells of itself, or none when it does not answer.
      type: dict
      returned: always
    published:
      description: Each published port, with the policies that decide on it.
      type: list
      elements: dict
      returned: always
    unconfirmed:
      description: A change that waits for its confirmation or was undone without one, else none.
      type: dict
      returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._converge.module import run
from ..module_utils._firewall.parameters import FIREWALL_SPEC
from ..module_utils._firewall.tasks import firewall_task


def main() -> None:
    module = AnsibleModule(argument_spec=FIREWALL_SPEC, supports_check_mode=True)
    run(module, firewall_task)


if __name__ == "__main__":
    main()
