#!/usr/bin/python
# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: raid_pool
short_description: A storage pool over unequal disks that grows disk by disk
version_added: 0.1.0
description:
  - Cuts disks into slices, makes one Linux md array of each slice across the disks that have it, and puts all arrays
    into one LVM volume group. The whole of every disk is used as soon as another disk offers the same room.
  - Grows the pool when disks are added, or exchanged for larger ones. Redundancy comes first, then room.
  - Looks at the host, plans, carries the plan out, and looks again; it fails if anything is left to do.
    A run that was cut off, by a power failure for example, is continued by the next one.
  - Where an array has too little room before its data to be reshaped without overwriting what is moved, its volumes are
    held for a few seconds, at most 30, and its beginning is kept in C(/var/lib/baremetal.fabric/storage) meanwhile.
    That directory must not be on the pool.
  - Never shrinks, reformats or removes anything, and leaves alone what is not declared.
    Only disks named in O(wipe) lose what they hold.
options:
  name:
    description:
      - Name of the volume group. The arrays are called C(/dev/md/NAME-0), C(/dev/md/NAME-1) and so on, and so are the
        partitions. At most 22 letters, digits and the characters V(+), V(_), V(.) and V(-).
    type: str
    required: true
  disks:
    description:
      - The disks of the pool, as paths below C(/dev). Links are followed; C(/dev/disk/by-id/...) or
        C(/dev/disk/by-path/...) stay right when disks change their places.
      - A disk that is listed and not there leaves the pool degraded, which is reported. A new pool needs all disks.
    type: list
    elements: str
    required: true
  redundancy:
    description:
      - How many disks may fail without loss.
      - With V(1), a slice on two disks is a mirror, which becomes RAID 5 with the third. With V(2), a slice is RAID 6
        and needs four disks; room on fewer disks waits.
      - It cannot be changed later.
    type: int
    choices: [1, 2]
    default: 1
  volumes:
    description:
      - Logical volumes in the pool. Volumes that are not listed are left alone.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description:
          - Name of the logical volume. Its device is C(/dev/POOL/NAME).
        type: str
        required: true
      size:
        description:
          - Bytes, or a number with a unit such as V(10GiB) (a power of 1024) or V(10GB) (a power of 1000), rounded up
            to whole extents of 4 MiB.
          - V(50%) is a share of the whole pool, not of what is free, and follows the pool when that grows.
          - V(100%FREE) takes what the other volumes leave, now and whenever the pool grows. One volume can have it.
          - A volume that is smaller than declared is grown with its file system, while it is in use. A declared size or
            share below what the volume has is refused, for nothing is ever shrunk.
        type: str
        required: true
      filesystem:
        description:
          - The file system to make on a volume that is blank. Another one that is there already is refused.
          - V(xfs) needs 300 MiB or more.
        type: str
        choices: [ext4, xfs]
      mount_point:
        description:
          - Where to mount the volume, now and at every boot. The directory is made if it is missing. Needs
            O(volumes[].filesystem).
        type: path
      nofail:
        description:
          - Boot on when the volume cannot be mounted. Without it, a host whose disk was exchanged while it was off may
            wait in emergency mode, without a network.
        type: bool
        default: true
  chunk:
    description:
      - Chunk of new arrays, a power of two from V(4KiB) to V(64MiB). An array that begins as a mirror gets 64 KiB
        when it becomes RAID 5, for md takes nothing else.
    type: str
    default: 512KiB
  bitmap:
    description:
      - V(internal) keeps a write-intent bitmap in each array. A resync after a crash then takes seconds, and a disk
        that comes back is brought up to date instead of being filled anew.
      - V(none) keeps none.
      - V(ppl), the partial parity log, is refused. It works for RAID 5 only, and md cannot reshape an array that has
        one, so the pool could not grow.
    type: str
    choices: [internal, none, ppl]
    default: internal
  wait:
    description:
      - Wait for rebuilds and reshapes, so that the pool is complete when the task ends.
      - With V(false), the task ends at the first step that has to wait, and RV(pending) tells what is under way. md
        continues by itself; run the task again later for the steps that follow.
    type: bool
    default: true
  wait_timeout:
    description:
      - Seconds that the task may spend waiting for md, and for another run that works on the same pool. When they are
        over the task fails; md continues by itself, and a later run takes up the rest.
    type: int
    default: 3600
  replace:
    description:
      - Disks to exchange while both the old and the new one are connected. The old disk stays in service until its copy
        is complete, so redundancy is never lost; then it is released from the pool.
      - List the new disk in O(disks) and the old one no more.
    type: list
    elements: dict
    default: []
    suboptions:
      old:
        description:
          - The disk to replace. It does no harm to keep the entry when it is gone.
        type: str
        required: true
      new:
        description:
          - The disk that takes its place. It must be large enough for every slice of the old one.
        type: str
        required: true
  wipe:
    description:
      - Serial numbers or WWNs of disks whose content may be destroyed, as C(lsblk -o NAME,SERIAL,WWN) prints them.
        A path would be no proof that the right disk is meant.
      - A disk that already belongs to the pool is not wiped, so the entry may stay.
      - A disk that is in use, mounted for example, is refused all the same.
    type: list
    elements: str
    default: []
  smallest_slice:
    description:
      - The smallest slice that is worth making, such as V(1GiB). Disks whose sizes differ by less share all their
        slices, and the difference stays unused.
      - By default 1 % of the smallest disk, at least 32 MiB.
    type: str
  members:
    description:
      - The most members that an array gets. More disks than that are spread over several arrays.
    type: int
    default: 16
extends_documentation_fragment:
  - baremetal.fabric.attributes
  - baremetal.fabric.attributes.converging
  - baremetal.fabric.attributes.actiongroup_fabric
attributes:
  check_mode:
    details:
      - Takes no lock, so it also works beside a run that is under way.
requirements:
  - mdadm (Debian package C(mdadm))
  - sgdisk (Debian package C(gdisk))
  - partx, wipefs and blkid (Debian package C(util-linux))
  - LVM (Debian package C(lvm2)) and dmsetup (Debian package C(dmsetup))
  - mkfs.ext4 and resize2fs (Debian package C(e2fsprogs)), for ext4 volumes
  - mkfs.xfs and xfs_growfs (Debian package C(xfsprogs)), for xfs volumes
  - Tried on Debian 12 and 13.
notes:
  - "What happens to each disk:"
  - "Declared and blank: it repairs arrays that lack a member; else the pool grows onto it."
  - "Declared and a member of the pool, or once one and coming back: it is used, brought up to date if need be."
  - "Declared and failed: md does not use it any more, which is reported; exchange it."
  - "Declared and not there: the pool is degraded, which is reported."
  - "Declared and holding anything else (a signature, a partition, a mount, somebody else's array): refused, unless
    its serial number is in O(wipe)."
  - "Declared and too small for the smallest slice, or for the array that it should repair: refused."
  - "Not declared, but a healthy member of the pool: left alone. A new disk beside it is refused, because the pool would
    be widened for ever; say with O(replace) that it takes the other's place, or declare both."
  - "Not declared and not a member: never looked at further."
  - Arrays are recorded in C(mdadm.conf) by their UUID, and the initramfs is rebuilt, so that names are the same at
    every boot. Kernel numbers such as C(md127) are not.
  - Two runs for the same pool never work at once. A run waits for another one, and also for commands that a killed run
    has left behind.
  - On errors, RV(done) tells which steps were carried out. Run the task again to continue.
seealso:
  - module: baremetal.fabric.raid_pool_info
author:
  - baremetal.fabric developers (@baremetal-fabric)
"""

EXAMPLES = r"""
- name: Data spans four disks, and any one of them may fail
  baremetal.fabric.raid_pool:
    name: data
    disks:
      - /dev/disk/by-id/ata-DISK_A
      - /dev/disk/by-id/ata-DISK_B
      - /dev/disk/by-id/ata-DISK_C
      - /dev/disk/by-id/ata-DISK_D
    volumes:
      - name: home
        size: 200GiB
        filesystem: ext4
        mount_point: /home
      - name: media
        size: 100%FREE
        filesystem: xfs
        mount_point: /srv/media

- name: Disk B gives its place to the larger disk E, without losing redundancy
  baremetal.fabric.raid_pool:
    name: data
    disks:
      - /dev/disk/by-id/ata-DISK_A
      - /dev/disk/by-id/ata-DISK_E
      - /dev/disk/by-id/ata-DISK_C
      - /dev/disk/by-id/ata-DISK_D
    replace:
      - old: /dev/disk/by-id/ata-DISK_B
        new: /dev/disk/by-id/ata-DISK_E

- name: Two of six disks may fail, and the rebuild is not waited for
  baremetal.fabric.raid_pool:
    name: archive
    redundancy: 2
    disks: "{{ archive_disks }}"
    wait: false
  register: archive

- name: A disk that served elsewhere joins the pool
  baremetal.fabric.raid_pool:
    name: data
    disks: "{{ data_disks }}"
    wipe:
      - WD-WCC7K0XXXXXX
"""

RETURN = r"""
plan:
  description:
    - The steps that lead to the declared pool, in order. In check mode, what would be done.
  returned: always
  type: list
  elements: dict
  contains:
    title:
      description: What the step does.
      type: str
      returned: always
    command:
      description: The commands that it runs, as lists of arguments; none for steps that edit a file or write to sysfs.
      type: list
      elements: list
      returned: always
    reason:
      description: Why it is needed.
      type: str
      returned: always
    destructive:
      description: Whether it overwrites data that somebody may still want.
      type: bool
      returned: always
  sample:
    - title: "Add /dev/vdb1 to array data-0"
      command: [["mdadm", "--manage", "/dev/md127", "--add", "/dev/vdb1"]]
      reason: the array lacks a member
      destructive: false
done:
  description: Titles of the steps that were carried out before an error.
  returned: failure
  type: list
  elements: str
pending:
  description: Work that is under way and continues by itself, and steps that a later run has to take.
  returned: always
  type: list
  elements: dict
  contains:
    what:
      description: What is under way.
      type: str
      returned: always
    percent:
      description: How far it is, from 0 to 100. Null when the kernel does not tell.
      type: float
      returned: always
    seconds_left:
      description: An estimate from the current speed. Null when the kernel does not tell.
      type: int
      returned: always
  sample:
    - what: Reshape of array data-1
      percent: 41.5
      seconds_left: 5400
findings:
  description: What the person on call should know, most urgent first.
  returned: success
  type: list
  elements: str
  sample: ["Array data-0 lacks 1 of 4 members: no further disk may fail."]
layout:
  description: The pool as a person would draw it.
  returned: success
  type: str
  sample: |
    Pool data: 288 MiB, 188 MiB free
    Disks
      vdb  101 MiB  [-------------------- data-0 ---------------------]
      vdc  101 MiB  [-------------------- data-0 ---------------------]
    Arrays
      data-0  raid5  4 x 97.5 MiB  292.5 MiB  whole
    Volumes
      bits  100 MiB  ext4  /srv/bits
pool:
  description: The state of the pool. Sizes are in bytes. In check mode, the state that the plan leads to.
  returned: success
  type: dict
  contains:
    name:
      description: Name of the pool.
      type: str
      returned: always
    capacity:
      description: Size of the volume group.
      type: int
      returned: always
    free:
      description: What no volume uses.
      type: int
      returned: always
    settled:
      description: Whether md has nothing under way.
      type: bool
      returned: always
    redundant:
      description: Whether no array lacks a member.
      type: bool
      returned: always
    disks:
      description: The disks, with their identity and their slices.
      type: list
      elements: dict
      returned: always
    absent:
      description: Declared paths that lead to no disk.
      type: list
      elements: str
      returned: always
    arrays:
      description: The arrays, with their members and what md does in them.
      type: list
      elements: dict
      returned: always
    volumes:
      description: The volumes, with their file systems and mounts.
      type: list
      elements: dict
      returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._converge.module import run
from ..module_utils._storage.parameters import RAID_POOL_SPEC
from ..module_utils._storage.tasks import pool_task


def main() -> None:
    module = AnsibleModule(argument_spec=RAID_POOL_SPEC, supports_check_mode=True)
    run(module, pool_task)


if __name__ == "__main__":
    main()
