#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: guarded_config
short_description: Change the configuration of a running daemon without breaking it
version_added: 0.1.0
description:
  - Puts a set of files that belong together in place as a whole or not at all, and takes them back when the daemon does
    not run well with them.
  - The set is staged beside the live files, and validated by the daemon's own checker as it will be seen, with the
    staged files over the live paths in a mount namespace of their own, so that includes and absolute paths resolve.
    Then it is put in place, the daemon is reloaded, and what really runs is verified. When that fails, the last good
    files come back, the daemon is reloaded with them and verified again, and the failure has what both attempts said.
  - A run that was cut off, at whatever moment, is ended by the next one, which says whether it finished the new set or
    put the old one back.
  - Sets that were verified are kept, and O(state=previous) goes back to the one before.
options:
  name:
    description:
      - Name of the set, usually that of the daemon. Up to 64 letters, digits, C(_), C(.) and C(-).
      - Two runs for the same set wait for each other. A path belongs to one set only.
    type: str
    required: true
  state:
    description:
      - V(present) puts O(files) in place. A file that the set had before, and that is not in O(files) any more, is
        removed.
      - V(previous) goes back to the set that the current one replaced. Each run goes back one further. Guards that are
        not given are those that the set was put in place with.
    type: str
    choices: [present, previous]
    default: present
  files:
    description:
      - The files of the set. A set with O(state=present) has at least one.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description:
          - Where the file is live, as an absolute path. A symbolic link stays, and the file that it points to is
            replaced. Directories that are missing are made, and removed again with the last file that needed them.
        type: path
        required: true
      content:
        description:
          - What is in the file.
        type: str
      src:
        description:
          - A file with the content, on the controller; a role's C(files) directory is searched.
        type: str
      remote_src:
        description:
          - Whether O(files[].src) is a file of the managed host.
        type: bool
        default: false
      owner:
        description:
          - Owner of the file, as a name or a number.
        type: str
        default: root
      group:
        description:
          - Group of the file, as a name or a number.
        type: str
        default: root
      mode:
        description:
          - Permissions of the file, in octal digits and quotes such as V("0640"). A number is refused, since nobody can
            tell what V(644) was meant to be.
        type: raw
        default: "0644"
      no_log:
        description:
          - Whether the content is secret. It is then in no diff and no log, lines of it that a command prints are
            masked, and no file with it is readable by others than the live one is.
        type: bool
        default: false
  validate:
    description:
      - The command that checks the set, as a list. It sees the staged files at their live paths, and everything else as
        it is. An exit status of 0 accepts the set.
      - Without it nothing but O(verify) guards the change.
    type: list
    elements: str
  validate_timeout:
    description:
      - Seconds after which a validation that does not end is killed, and the set refused.
    type: int
    default: 60
  reload:
    description:
      - How the daemon is told. One of O(reload.unit), O(reload.command) and O(reload.bird); or O(reload.bird) with
        O(reload.unit), which is then started when BIRD does not run. Without O(reload) the daemon is not told, for
        files that it reads by itself.
    type: dict
    suboptions:
      unit:
        description:
          - A unit of systemd that is reloaded.
        type: str
      command:
        description:
          - A command, as a list.
        type: list
        elements: str
      bird:
        description:
          - Path of BIRD's control socket. BIRD then goes back to its former configuration by itself unless
            the run confirms the new one in time, also when the run was killed or cut off.
        type: path
      restart:
        description:
          - Whether O(reload.unit) is restarted instead. For what a reload does not reach, such as a changed unit.
        type: bool
        default: false
      start:
        description:
          - Whether O(reload.unit) is started when it does not run. Otherwise it is left so, and the set is
            only validated.
        type: bool
        default: true
      timeout:
        description:
          - Seconds that the reload may take.
        type: int
        default: 90
  verify:
    description:
      - Checks of what really runs, after the reload. Each has one of the keys below. All are tried again until
        all of them pass, and once more after O(verify_hold) seconds, so that a daemon that dies soon is noticed.
    type: list
    elements: dict
    default: []
    suboptions:
      unit:
        description:
          - A unit of systemd that is active, with the main process that it had before a reload.
        type: str
      command:
        description:
          - A command, as a list, that ends with 0.
        type: list
        elements: str
      tcp:
        description:
          - Something accepts connections.
        type: dict
        suboptions:
          host:
            description:
              - Name or address.
            type: str
            default: localhost
          port:
            description:
              - Number of the port.
            type: int
            required: true
      tls:
        description:
          - A handshake of TLS succeeds with a certificate that is valid now and for the name.
        type: dict
        suboptions:
          host:
            description:
              - Name or address to connect to.
            type: str
            default: localhost
          port:
            description:
              - Number of the port.
            type: int
            required: true
          server_name:
            description:
              - Name that is asked for and that the certificate must have. By default O(verify[].tls.host).
            type: str
          ca_file:
            description:
              - File with the certificates that are trusted. By default those of the host.
              - Python 3.13 and later, as in Debian 13, trust an authority only if its certificate has the extensions
                that RFC 5280 asks for, such as the key usage.
            type: path
      http:
        description:
          - A request is answered as expected. Redirections are not followed, and no proxy is used.
        type: dict
        suboptions:
          url:
            description:
              - What is asked for, C(http) or C(https).
            type: str
            required: true
          host_header:
            description:
              - The C(Host) header. By default that of the URL.
            type: str
          status:
            description:
              - The status code that is expected.
            type: int
            default: 200
          contains:
            description:
              - Text that the answer has in its first MiB.
            type: str
          ca_file:
            description:
              - File with the certificates that are trusted. By default those of the host.
            type: path
      file:
        description:
          - A file is there.
        type: dict
        suboptions:
          path:
            description:
              - Path of the file.
            type: path
            required: true
          contains:
            description:
              - Text that the file has in its first MiB.
            type: str
      haproxy:
        description:
          - Path of HAProxy's master socket. The workers of the last reload serve, which neither the exit
            status of a reload nor systemd tells.
        type: path
      bird:
        description:
          - BIRD answers, does not shut down, and protocols are up.
        type: dict
        suboptions:
          socket:
            description:
              - Path of the control socket.
            type: path
            default: /run/bird/bird.ctl
          protocols:
            description:
              - Names of protocols that are up; for BGP that is an established session.
            type: list
            elements: str
            default: []
      keepalived:
        description:
          - Path of Keepalived's PID file. Its process and its children run, and a reload has not cost it all of
            its children. Some mistakes end Keepalived just after a reload that succeeded.
          - Which files it runs with cannot be seen. It leaves out words that it does not know, and takes a file that
            it cannot read for an empty one. O(validate) with C(keepalived -t) finds the first, but not the second.
        type: path
  verify_timeout:
    description:
      - Seconds in which all checks have to pass.
    type: int
    default: 30
  verify_hold:
    description:
      - Seconds after which all checks have to pass once more.
    type: int
    default: 1
  keep:
    description:
      - How many sets are kept, besides the current one.
    type: int
    default: 5
  wait_timeout:
    description:
      - Seconds to wait for another run on the same set.
    type: int
    default: 300
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.converging
  - baremetal.fabric.attributes.actiongroup_fabric
attributes:
  idempotent:
    support: partial
    details:
      - O(state=previous) goes back one further with each run.
requirements:
  - systemd, where units are reloaded or checked
  - overlayfs (a module of Debian's kernels), where O(validate) is given
notes:
  - A run that finds the files as declared, and as the set that was verified last, starts no process at all. That is
    safe because nothing is recorded as verified before the daemon was seen to run well with it, and because a run that
    was cut off leaves a record that the next one meets first. Whether the daemon still runs is for its monitoring.
  - In check mode the set is validated for real, without a trace on the host.
seealso:
  - module: baremetal.fabric.guarded_config_info
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: HAProxy balances as declared
  baremetal.fabric.guarded_config:
    name: haproxy
    files:
      - path: /etc/haproxy/haproxy.cfg
        content: "{{ lookup('ansible.builtin.template', 'haproxy.cfg.j2') }}"
      - path: /etc/haproxy/site.pem
        src: site.pem
        group: haproxy
        mode: "0640"
        no_log: true
    validate: [haproxy, -c, -f, /etc/haproxy/haproxy.cfg]
    reload:
      unit: haproxy.service
    verify:
      - haproxy: /run/haproxy-master.sock
      - http:
          url: http://127.0.0.1/healthcheck
      - tls:
          host: 127.0.0.1
          port: 443
          server_name: www.example.com

- name: BIRD talks to both reflectors, or goes back by itself
  baremetal.fabric.guarded_config:
    name: bird
    files:
      - path: /etc/bird/bird.conf
        content: "{{ lookup('ansible.builtin.template', 'bird.conf.j2') }}"
        owner: bird
        group: bird
        mode: "0640"
    validate: [bird, -p, -c, /etc/bird/bird.conf]
    reload:
      bird: /run/bird/bird.ctl
    verify:
      - bird:
          protocols: [reflector1, reflector2]

- name: The configuration of this morning is back
  baremetal.fabric.guarded_config:
    name: haproxy
    state: previous
"""

RETURN = r"""
plan:
  description:
    - The steps that were taken, or in check mode would be, each with C(title), C(command), C(reason), C(destructive).
  returned: always
  type: list
  elements: dict
pending:
  description: Always empty, as nothing goes on after the module.
  returned: always
  type: list
  elements: dict
done:
  description: Titles of the steps that were carried out.
  returned: failure
  type: list
  elements: str
set:
  description: The set. In check mode, as the plan would leave it.
  returned: success
  type: dict
  contains:
    name:
      description: Its name.
      type: str
      returned: always
    generation:
      description: The number of the set that is in place.
      type: int
      returned: always
    verified:
      description: When it was verified, in UTC, as in V(2026-01-31T12:00:00+00:00).
      type: str
      returned: always
    previous:
      description: The number of the set that it replaced, or none.
      type: int
      returned: always
    kept:
      description: The numbers of all sets that are kept.
      type: list
      elements: int
      returned: always
drift:
  description: Files that somebody else had changed or removed since they were verified.
  returned: success
  type: list
  elements: str
recovered:
  description:
    - What was done about a run that had been cut off. V(finished) means that its set is in place, V(put_back) the one
      before. Empty when there was none.
  returned: success
  type: str
rolled_back:
  description:
    - Whether the new set was in place, did not stand, and the last good one is back. V(false) when the live files were
      never touched.
  returned: failure
  type: bool
output:
  description: What the commands and checks said that led to the failure.
  returned: failure
  type: str
output_after:
  description: What the commands and checks said of the last good set, once it was back.
  returned: failure
  type: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._config.options import CONFIG_SPEC
from ..module_utils._config.tasks import config_task
from ..module_utils._converge.module import run


def main() -> None:
    module = AnsibleModule(argument_spec=CONFIG_SPEC, supports_check_mode=True)
    run(module, config_task)


if __name__ == "__main__":
    main()
