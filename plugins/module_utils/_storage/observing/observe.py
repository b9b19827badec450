# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Read a host into a :class:`Pool`. Changes nothing, and starts one process: LVM's.

Everything else is read from sysfs, proc, the disks and two configuration files. Only where a declared disk holds
something that is not the pool's, one more process names it.
"""

from __future__ import annotations

import time
import typing as t
from dataclasses import replace

from ..._converge.command import Runner
from ..._converge.converge import ObservationFailed
from ..formats import filesystem, fstab, lvm, mdadm_conf
from ..formats.superblock import normal_uuid
from ..model import Array, Disk, Group, PhysicalVolume, Pool, Superblock, Volume, Wanted, slice_index
from ..size import human
from .arrays import Claim, Identity, build, choose, claimed_index, disks_of, identify
from .disks import Contents, Location, Piece, locate, pieces, read_contents, twins
from .host import Device, Host
from .initramfs import configuration, images, more_configuration, stale_images
from .kept import observe_refuge
from .ownership import Ownership, judge
from .signatures import probe
from .sysfs import Use, array_names, partition_labels, read_array, read_uses, standing_arrays, sysfs_name

# Kinds of block devices that are never a disk of a pool, unless declared: not worth a look for its partitions.
_NO_DISKS = ("loop", "ram", "zram", "sr", "fd", "dm-", "md", "nbd")


#: udev assembles arrays as their members appear, which takes a moment; while it does no two things that are read agree.
_MOST_LOOKS = 20
_PAUSE = 0.5  # seconds


def observe_pool(want: Wanted, runner: Runner, host: Host | None = None) -> Pool:
    """Return what the host has of the pool ``want.name``, and of the disks declared for it.

    It looks again when arrays came, started or went meanwhile.

    Raises :class:`CommandError` when LVM fails, :class:`ObservationFailed` when its report makes no sense, or when
    arrays come and go all the time.
    """
    host = host or Host()
    for _look in range(_MOST_LOOKS):
        before = standing_arrays(host)
        pool = _Observer(want, runner, host).pool()
        if standing_arrays(host) == before:
            return pool
        time.sleep(_PAUSE)
    raise ObservationFailed(
        "The md arrays of this host start and stop while it is looked at; see dmesg, and run again."
    )


class _Observer:
    def __init__(self, want: Wanted, runner: Runner, host: Host) -> None:
        self.want = want
        self.name = want.name
        self.runner = runner
        self.host = host

    def pool(self) -> Pool:
        host, name = self.host, self.name
        asked = (*self.want.disks, *(path for each in self.want.replace for path in (each.old, each.new)))
        locations = {path: locate(host, path) for path in asked}
        kernel_arrays = [read_array(host, each) for each in array_names(host)]
        identities = [identify(host, each) for each in kernel_arrays]
        uses = read_uses(host)
        reports = self._groups()

        group_devices = {volume.device for report in reports for volume in report.physical if volume.device}
        claims = self._kernel_claims(identities, group_devices)
        contents = self._contents(locations, claims)
        found = pieces(contents)
        claims = [*claims, *self._claims_at_rest(claims, found)]
        declared = {each.disk.node for each in contents if each.disk.declared}
        counts: dict[str, int] = {}
        for piece in found:
            if piece.disk in declared:
                uuid = piece.found.superblock.array_uuid
                counts[uuid] = counts.get(uuid, 0) + 1
        sizes = {part.node: part.size for each in contents for part in each.disk.partitions}
        arrays = []
        chosen: dict[int, Claim] = {}
        for index, claim in sorted(choose(claims, counts).items()):
            mine = [piece for piece in found if piece.found.superblock.array_uuid == claim.uuid]
            array = build(host, name, claim, mine, sizes)
            if array is not None:
                arrays.append(array)
                chosen[index] = claim

        ownership = Ownership(
            pool=name,
            uuids={claim.uuid: index for index, claim in chosen.items()},
            arrays=tuple(arrays),
            foreign_arrays=tuple(each for each in identities if each.kernel.node not in {a.node for a in arrays}),
            uses=uses,
        )
        judged = judge(host, self.runner, ownership, contents)
        disks = self._ordered((*judged, *_no_disks(locations, self.want.disks)))
        group, volumes = self._group_and_volumes(reports, arrays, uses)
        text = host.text_of("/etc/fstab")
        mount_points = {each.mount_point: each.name for each in self.want.volumes if each.mount_point}
        conf = (configuration(host), *more_configuration(host))
        uuids = [array.uuid for array in arrays]
        recorded = tuple(pair for path in conf for pair in mdadm_conf.recorded(host.text_of(path), name, uuids))
        return Pool(
            name=name,
            disks=disks,
            absent=tuple(path for path in self.want.disks if _is_absent(locations[path])),
            arrays=tuple(arrays),
            group=group,
            volumes=volumes,
            mounts=fstab.pool_mounts(text, name, host.resolve_tag),
            taken_mount_points=fstab.taken_mount_points(text, mount_points, name, host.resolve_tag),
            recorded=recorded,
            initramfs_stale=bool(recorded and stale_images(host, conf)),
            has_initramfs=bool(images(host)),
            twins=_same_nodes(locations, self.want.disks) + twins([disk for disk in disks if disk.declared]),
            resolved=tuple((path, place.node) for path, place in locations.items() if place.name),
            refuge=observe_refuge(host, arrays, uses),
        )

    def _groups(self) -> tuple[lvm.GroupReport, ...]:
        text = self.runner.run(lvm.report_command(self.name))
        try:
            groups = lvm.parse_report(text)
        except ValueError as error:
            raise ObservationFailed(f"The volume group {self.name} could not be looked for: {error}.") from error
        # lvm-fullreport(8) does not heed a selection that stands before the parts that it is for.
        return tuple(group for group in groups if group.name == self.name)

    def _kernel_claims(self, identities: t.Sequence[Identity], group_devices: t.Collection[str]) -> list[Claim]:
        claims = []
        for identity in identities:
            number = self.host.text(f"/sys/block/{identity.kernel.name}/dev")
            in_group = number in group_devices
            index = claimed_index(self.host, self.name, identity, in_group)
            if index is not None and identity.uuid:
                claims.append(Claim(index, identity.uuid, identity.kernel, in_group))
        return claims

    def _contents(self, locations: t.Mapping[str, Location], claims: t.Sequence[Claim]) -> list[Contents]:
        """Read the declared disks, those under the pool's arrays, and those with a slice of it on them."""
        host, pool = self.host, self.name
        paths: dict[str, str] = {}
        for path in self.want.disks:
            if locations[path].name:
                paths.setdefault(locations[path].name, path)
        names = [*paths]
        others = {locations[each.old].name for each in self.want.replace}
        for claim in claims:
            if claim.kernel is not None:
                others |= disks_of(host, claim.kernel)
        for name in host.names("/sys/block"):
            if name in paths or name in others or name.startswith(_NO_DISKS):
                continue
            if any(slice_index(pool, label) is not None for label in partition_labels(host, name)):
                others.add(name)
        names += sorted(others - set(paths) - {""})
        read = [read_contents(host, pool, name, paths.get(name, "")) for name in names]
        wanted = {locations[each.old].name for each in self.want.replace}
        return [each for each in read if each.disk.declared or each.kernel.name in wanted or self._has_piece(each)]

    def _has_piece(self, contents: Contents) -> bool:
        """Whether an undeclared disk matters: a label alone may be an accident, a superblock is none."""
        return bool(contents.error) or any(
            slice_index(self.name, found.superblock.name) is not None
            or slice_index(self.name, _label_of(contents.disk, node)) is not None
            for node, found in contents.found
        )

    def _claims_at_rest(self, claims: t.Sequence[Claim], found: t.Sequence[Piece]) -> list[Claim]:
        known = {claim.uuid for claim in claims}
        more = []
        for piece in found:
            block: Superblock = piece.found.superblock
            index = slice_index(self.name, block.name)
            if index is not None and block.array_uuid not in known:
                known.add(block.array_uuid)
                more.append(Claim(index, block.array_uuid))
        return more

    def _ordered(self, disks: tuple[Disk, ...]) -> tuple[Disk, ...]:
        order = {path: number for number, path in enumerate(self.want.disks)}
        return tuple(sorted(disks, key=lambda disk: (order.get(disk.path, len(order)), disk.node)))

    def _group_and_volumes(
        self, reports: t.Sequence[lvm.GroupReport], arrays: t.Sequence[Array], uses: t.Sequence[Use]
    ) -> tuple[Group | None, tuple[Volume, ...]]:
        if not reports:
            return None, ()
        by_number = {self.host.text(f"/sys/block/{sysfs_name(array.node)}/dev"): array for array in arrays}
        # Two groups may have one name; the one on the pool's arrays is meant, the other is told of as foreign.
        ordered = sorted(reports, key=lambda each: not any(volume.device in by_number for volume in each.physical))
        report = ordered[0]
        physical, foreign = [], []
        for volume in report.physical:
            array = by_number.get(volume.device) if volume.device else None
            if array is not None:
                physical.append(PhysicalVolume(array.name, array.node, volume.pe_start, volume.extents))
            elif volume.device:
                foreign.append(volume.name)
        for other in ordered[1:]:
            foreign += [f"{volume.name} (another group of the same name)" for volume in other.physical]
        group = Group(report.name, report.extent_size, tuple(physical), tuple(foreign), report.missing)
        volumes = tuple(self._volume(each, report.extent_size, uses) for each in report.logical)
        return group, volumes

    def _volume(self, report: lvm.LogicalVolumeReport, extent_size: int, uses: t.Sequence[Use]) -> Volume:
        extents = report.size // extent_size
        if not report.device:
            return Volume(report.name, extents, filesystem.UNKNOWN, active=False)
        mounts = [use for use in uses if use.number == report.device and use.mount_point]
        points = tuple(dict.fromkeys(use.mount_point for use in mounts))
        try:
            found = self._file_system(report.device, mounts)
        except OSError:
            # The array below has failed, or it is a volume without data of its own, such as a thin pool.
            found = filesystem.FileSystem(filesystem.UNKNOWN)
        return Volume(report.name, extents, found.kind, found.size, points)

    def _file_system(self, number: str, mounts: t.Sequence[Use]) -> filesystem.FileSystem:
        node = "/dev/" + self.host.resolve(f"/sys/dev/block/{number}").rpartition("/")[2]

        def ask() -> str:
            signature = probe(self.runner, node)
            return signature.kind if signature else ""

        # What is mounted is newest in the page cache, what is not may be stale there.
        with Device(self.host, node, direct=not mounts) as device:
            found = filesystem.identify(device.read, ask)
        if found.kind == "xfs":
            for use in mounts:
                size = filesystem.mounted_xfs_size(self.host.at(use.mount_point), number)
                if size is not None:
                    return replace(found, size=size)
        return found


def _label_of(disk: Disk, node: str) -> str:
    return next((partition.label for partition in disk.partitions if partition.node == node), "")


def _is_absent(location: Location) -> bool:
    return not location.name and not location.problem


def _no_disks(locations: t.Mapping[str, Location], declared: t.Sequence[str]) -> tuple[Disk, ...]:
    """Return stand-ins for declared paths that lead to something else than a disk."""
    return tuple(
        Disk(node=place.node, size=0, path=path, foreign=(place.problem,), in_use=(place.problem,))
        for path, place in locations.items()
        if place.problem and path in declared
    )


def _same_nodes(locations: t.Mapping[str, Location], declared: t.Sequence[str]) -> tuple[tuple[str, str], ...]:
    first: dict[str, str] = {}
    pairs = []
    for path in declared:
        node = locations[path].node
        if node and first.setdefault(node, path) != path:
            pairs.append((first[node], path))
    return tuple(pairs)


def probe_regions(
    pool: Pool, regions: t.Iterable[tuple[str, int, int]], runner: Runner, host: Host | None = None
) -> Pool:
    """Return ``pool`` with what old signatures stand where slices are to be cut, as foreign sentences.

    ``regions`` are (node of a disk, offset, size) in bytes. A whole-disk look does not see them: after
    sgdisk --zap-all a disk looks blank, and yet a partition cut in the same place brings the old array to life.
    A superblock of an array of the pool that runs is none of anybody else's: the array went on without it.
    """
    host = host or Host()
    running = {array.uuid for array in pool.arrays if array.active}
    found: dict[str, list[str]] = {}
    for node, offset, size in regions:
        signature = probe(runner, node, offset, size)
        if signature is None or normal_uuid(signature.uuid) in running:
            continue
        found.setdefault(node, []).append(f"an old signature ({signature}) at {human(offset)}")
    disks = tuple(
        replace(disk, foreign=(*disk.foreign, *found[disk.node])) if disk.node in found else disk for disk in pool.disks
    )
    return replace(pool, disks=disks)


__all__: t.Sequence[str] = ("observe_pool", "probe_regions")
