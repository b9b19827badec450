"""The command line: one function per command, errors as one sentence."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from .commands import environment
from .errors import LabError
from .image import cache_directory, ensure_image, prune_images
from .lab import Lab, lab_names, say_to_stderr, take_down
from .recipe import KINDS, RELEASES, base_recipe, image_recipe
from .remote import ssh_argv

DEFAULT_NAME = "fabric"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status (0 done, 1 could not, 130 interrupted)."""
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int | None] = arguments.command
    try:
        return command(arguments) or 0
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"lab: interrupted; clean up with: python3 -m tests.lab --name {arguments.name} down", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m tests.lab", description="Lab hosts on this machine.")
    parser.add_argument("--name", default=os.environ.get("FABRIC_LAB", DEFAULT_NAME), help="the lab's name")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    images = commands.add_parser("images", help="build the images that are not cached yet")
    images.add_argument("releases", nargs="*", metavar="RELEASE", help=f"any of {', '.join(RELEASES)}; both by default")
    images.add_argument("--prune", action="store_true", help="remove cached images of other recipes")
    images.set_defaults(command=_images)

    up = commands.add_parser("up", help="bring a topology up; does nothing where it is")
    up.add_argument("topology", type=Path)
    up.set_defaults(command=_up)

    commands.add_parser("down", help="remove the lab").set_defaults(command=_down)
    commands.add_parser("status", help="show the lab, or all labs").set_defaults(command=_status)
    commands.add_parser("inventory", help="print the path of the inventory").set_defaults(command=_inventory)

    ssh = commands.add_parser("ssh", help="log in, or run a command")
    ssh.add_argument("host")
    ssh.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    ssh.set_defaults(command=_ssh)

    snapshot = commands.add_parser("snapshot", help="save, load or list snapshots of a QEMU host")
    snapshot.add_argument("action", choices=("save", "load", "list"))
    snapshot.add_argument("host")
    snapshot.add_argument("tag", nargs="?")
    snapshot.set_defaults(command=_snapshot)

    disk = commands.add_parser("disk", help="hot-swap disks of a QEMU host")
    disk.add_argument("action", choices=("add", "remove", "swap", "resize", "throttle", "list"))
    disk.add_argument("host")
    disk.add_argument("id", nargs="?")
    disk.add_argument("size", nargs="?", help="such as 201M; without it, add inserts a pulled disk again")
    disk.add_argument("--serial")
    disk.add_argument("--logical-block-size", type=int)
    disk.add_argument("--bus", choices=("virtio", "scsi"))
    disk.add_argument("--wwn")
    disk.add_argument("--iops", type=int)
    disk.add_argument("--bytes-per-second")
    disk.set_defaults(command=_disk)

    reset = commands.add_parser("reset", help="press the reset button")
    reset.add_argument("host")
    reset.set_defaults(command=_reset)

    power = commands.add_parser("power", help="pull the plug, or start")
    power.add_argument("action", choices=("off", "on"))
    power.add_argument("host")
    power.add_argument("--clean", action="store_true", help="let the system shut down")
    power.set_defaults(command=_power)

    console = commands.add_parser("console", help="print the end of a host's console log")
    console.add_argument("host")
    console.set_defaults(command=_console)
    return parser


def _images(arguments: argparse.Namespace) -> None:
    releases = arguments.releases or list(RELEASES)
    cache = cache_directory()
    cache.mkdir(parents=True, exist_ok=True)
    keep = set()
    for release in releases:
        for kind in KINDS:
            recipe = image_recipe(release, kind)
            keep |= {recipe.key, base_recipe(release).key}
            print(ensure_image(recipe, cache, say_to_stderr))
    if arguments.prune:
        for key in prune_images(keep, cache):
            say_to_stderr(f"image {key}: removed")


def _up(arguments: argparse.Namespace) -> None:
    lab = Lab.from_topology(arguments.topology, arguments.name, say_to_stderr)
    started = lab.up()
    if not started:
        say_to_stderr(f"{lab.name}: all hosts are up already")
    say_to_stderr(f"{lab.name}: inventory {lab.inventory}")


def _down(arguments: argparse.Namespace) -> None:
    if not take_down(arguments.name, say_to_stderr):
        say_to_stderr(f"{arguments.name}: nothing there")


def _status(arguments: argparse.Namespace) -> None:
    names = list(lab_names())
    if arguments.name not in names:
        print(f"no lab named {arguments.name}; there are: {', '.join(names) or 'none'}")
        return
    for row in Lab.running(arguments.name).status():
        state = "up" if row.running else "off"
        print(f"{row.name:16} {row.kind:6} {row.release:8} {state:3} {row.reach:32} {' '.join(row.disks)}".rstrip())


def _inventory(arguments: argparse.Namespace) -> None:
    print(Lab.running(arguments.name).inventory)


def _ssh(arguments: argparse.Namespace) -> None:
    lab = Lab.running(arguments.name)
    host = lab[arguments.host]
    terminal = ["-t"] if not arguments.words and sys.stdin.isatty() else []
    argv = ssh_argv(lab.state, host.name, *terminal)
    # This process becomes ssh, so that terminal and exit status are ssh's own.
    os.execvpe(  # noqa: S606
        argv[0], [*argv, *(["--", *arguments.words] if arguments.words else [])], environment()
    )


def _snapshot(arguments: argparse.Namespace) -> None:
    host = Lab.running(arguments.name)[arguments.host]
    if arguments.action == "list":
        print("\n".join(host.snapshot_list()))
        return
    if arguments.tag is None:
        raise LabError(f"snapshot {arguments.action} needs a tag")
    if arguments.action == "save":
        host.snapshot_save(arguments.tag)
    else:
        host.snapshot_load(arguments.tag)


def _disk(arguments: argparse.Namespace) -> None:
    host = Lab.running(arguments.name)[arguments.host]
    if arguments.action == "list":
        print("\n".join(f"{name}  {path}" for name, path in host.disks().items()))
        return
    if arguments.id is None:
        raise LabError(f"disk {arguments.action} needs the disk's id")
    properties = {
        "serial": arguments.serial,
        "logical_block_size": arguments.logical_block_size,
        "bus": arguments.bus,
        "wwn": arguments.wwn,
        "iops": arguments.iops,
        "bytes_per_second": arguments.bytes_per_second,
    }
    if arguments.action in ("swap", "resize") and arguments.size is None:
        raise LabError(f"disk {arguments.action} needs a size, such as 201M")
    if arguments.action == "add":
        host.disk_add(arguments.id, arguments.size, **properties)
    elif arguments.action == "remove":
        host.disk_remove(arguments.id)
    elif arguments.action == "swap":
        host.disk_swap(arguments.id, arguments.size, **properties)
    elif arguments.action == "resize":
        host.disk_resize(arguments.id, arguments.size)
    else:
        host.disk_throttle(arguments.id, arguments.iops, arguments.bytes_per_second)


def _reset(arguments: argparse.Namespace) -> None:
    Lab.running(arguments.name)[arguments.host].reset()


def _power(arguments: argparse.Namespace) -> None:
    host = Lab.running(arguments.name)[arguments.host]
    if arguments.action == "off":
        host.power_off(clean=arguments.clean)
    else:
        host.power_on()


def _console(arguments: argparse.Namespace) -> None:
    print(Lab.running(arguments.name)[arguments.host].console(200))
