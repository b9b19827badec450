"""Builds images from recipes: one debootstrap per release, cached, under a lock, and never half there."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from .commands import require, require_root, require_space, run
from .recipe import ROOT_LABEL, Recipe, base_recipe

GRUB_DIRECTORY = Path("/usr/lib/grub/i386-pc")
GRUB_MODULES = ("biosdisk", "part_msdos", "ext2", "linux", "serial", "terminal", "configfile", "normal", "test")
DEFAULT_MIRROR = "http://deb.debian.org/debian"
DEFAULT_SECURITY_MIRROR = "http://deb.debian.org/debian-security"

# A build that loses power is thrown away whole, so dpkg need not sync each file (dpkg(1), DPKG_FORCE).
UNSAFE_IO = {"DPKG_FORCE": "unsafe-io"}

SECTOR = 512
PARTITION_START_SECTOR = 2048
MBR_CODE_BYTES = 440
LINUX_PARTITION_TYPE = 0x83

Say = Callable[[str], None]


def cache_directory() -> Path:
    """Where images are kept: ``$FABRIC_CACHE/lab``, or ``.cache/lab`` below the repository's root."""
    chosen = os.environ.get("FABRIC_CACHE")
    root = Path(chosen) if chosen else Path(__file__).resolve().parents[2] / ".cache"
    return root / "lab"


def image_path(recipe: Recipe, cache: Path) -> Path:
    """The artifact of a recipe: a root tree, or a raw disk for QEMU."""
    return cache / recipe.key / ("disk.raw" if recipe.kind == "qemu" else "tree")


def mirrors(sources: str) -> tuple[str, str]:
    """The Debian archive and its security archive as an apt ``sources`` text names them, else deb.debian.org."""
    uris = re.findall(r"https?://[^\s\]]+", "\n".join(line for line in sources.splitlines() if line[:1] != "#"))
    stripped = [uri.rstrip("/") for uri in uris]
    archive = next((uri for uri in stripped if uri.endswith("/debian")), DEFAULT_MIRROR)
    security = next((uri for uri in stripped if uri.endswith("/debian-security")), DEFAULT_SECURITY_MIRROR)
    return archive, security


def _host_sources() -> str:
    directory = Path("/etc/apt")
    found = [directory / "sources.list", *sorted(directory.glob("sources.list.d/*"))]
    texts = []
    for path in found:
        if path.suffix in (".list", ".sources") and path.is_file():
            texts.append(path.read_text(errors="replace"))
    return "\n".join(texts)


def _apt_source(uri: str, suites: str) -> str:
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    return f"Types: deb\nURIs: {uri}\nSuites: {suites}\nComponents: main\nSigned-By: {keyring}\n"


def _apt_sources(release: str, archive: str, security: str) -> str:
    return f"{_apt_source(archive, f'{release} {release}-updates')}\n{_apt_source(security, f'{release}-security')}"


def master_boot_record(boot_code: bytes, disk_bytes: int) -> bytes:
    """Sector 0 of a disk with one active Linux partition from sector 2048 to the end.

    GRUB's ``boot.img`` loads its core from sector 1 of the drive it was started from unless told otherwise
    (grub-core/boot/i386/pc/boot.S), so core.img goes right behind it and nothing needs to be patched.
    """
    sectors = disk_bytes // SECTOR - PARTITION_START_SECTOR
    beyond_chs = b"\xfe\xff\xff"
    entry = struct.pack(
        "<B3sB3sII", 0x80, beyond_chs, LINUX_PARTITION_TYPE, beyond_chs, PARTITION_START_SECTOR, sectors
    )
    return boot_code[:MBR_CODE_BYTES] + bytes(6) + entry + bytes(48) + b"\x55\xaa"


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def ensure_image(recipe: Recipe, cache: Path, say: Say) -> Path:
    """The image of a recipe, built now when the cache does not hold it yet. Safe to call from several processes.

    Raises:
        LabError: not root, a tool is missing, or there is too little room.
        CommandError: a step of the build failed.
    """
    final = cache / recipe.key
    if (final / "recipe.json").exists():
        return image_path(recipe, cache)
    require_root()
    base = base_recipe(recipe.release)
    if recipe.kind != "base":
        ensure_image(base, cache, say)
    with _locked(cache / f".{recipe.key}.lock"):
        if (final / "recipe.json").exists():
            return image_path(recipe, cache)
        require("debootstrap", "unshare", "mkfs.ext4", "grub-mkimage")
        require_space(cache, 4 * 1024**3)
        building = cache / f".building-{recipe.key}"
        # The lock is ours, so whatever lies there was left by a build that was killed.
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(mode=0o755)
        say(f"image {recipe.key}: building")
        if recipe.kind == "base":
            _bootstrap(recipe, building)
        else:
            _extend(recipe, base, image_path(base, cache), building)
        if recipe.kind == "qemu":
            say(f"image {recipe.key}: writing the disk")
            _write_disk(recipe, building / "tree", building / "disk.raw")
            shutil.rmtree(building / "tree")
        (building / "recipe.json").write_text(json.dumps(asdict(recipe), indent=1))
        os.sync()
        building.rename(final)
        say(f"image {recipe.key}: ready")
    return image_path(recipe, cache)


def prune_images(keep: set[str], cache: Path) -> list[str]:
    """Remove cached images whose key is not in ``keep``; return the removed keys."""
    removed = []
    for path in sorted(cache.glob("*-*-*")):
        if path.is_dir() and path.name not in keep:
            shutil.rmtree(path)
            removed.append(path.name)
    return removed


def _bootstrap(recipe: Recipe, building: Path) -> None:
    tree = building / "tree"
    archive, security = mirrors(_host_sources())
    debootstrap = ["debootstrap", "--variant=minbase", f"--include={','.join(recipe.packages)}"]
    # In a mount namespace of its own: what debootstrap mounts inside the tree vanishes with it, however it ends.
    run(
        [*_private_namespaces(), *debootstrap, recipe.release, str(tree), archive],
        extra_environment=UNSAFE_IO,
        bound_to_parent=True,
        timeout=1800,
    )
    (tree / "etc/apt/sources.list").unlink(missing_ok=True)
    sources = tree / "etc/apt/sources.list.d/debian.sources"
    sources.write_text(_apt_sources(recipe.release, archive, security))
    _write_files(recipe, tree)
    with _no_services(tree):
        _in_tree(tree, ["apt-get", "update"])
        _in_tree(tree, ["apt-get", "-y", "dist-upgrade"])
    _settle(recipe, tree)


def _extend(recipe: Recipe, base: Recipe, base_tree: Path, building: Path) -> None:
    tree = building / "tree"
    run(["cp", "-a", "--reflink=auto", str(base_tree), str(tree)], bound_to_parent=True)
    _write_files(recipe, tree)
    for suite in recipe.further_suites:
        sources = tree / f"etc/apt/sources.list.d/{suite}.sources"
        # A rolling suite is valid for a week; a mirror that lags, or is frozen, is as good for single packages.
        sources.write_text(_apt_source(mirrors(_host_sources())[0], suite) + "Check-Valid-Until: no\n")
    further = [package for package in recipe.packages if package not in base.packages]
    if further:
        with _no_services(tree):
            _in_tree(tree, ["apt-get", "update"])
            _in_tree(tree, ["apt-get", "-y", "-o", "Dpkg::Options::=--force-confold", "install", *further])
    _settle(recipe, tree)


def _settle(recipe: Recipe, tree: Path) -> None:
    """The last touches: units, no identity of its own, no leftovers of the build."""
    for action, units in (
        ("disable", recipe.disabled_units),
        ("enable", recipe.enabled_units),
        ("mask", recipe.masked_units),
    ):
        if units:
            _in_tree(tree, ["systemctl", action, *units])
    generators = tree / "etc/systemd/system-generators"
    generators.mkdir(exist_ok=True)
    for generator in recipe.masked_generators:
        link = generators / generator
        link.unlink(missing_ok=True)
        link.symlink_to("/dev/null")
    for hook in recipe.skipped_initramfs_hooks:
        path = tree / "usr/share/initramfs-tools/hooks" / hook
        if path.exists():
            path.chmod(0o644)  # mkinitramfs passes over hooks that are not executable
    if recipe.skipped_initramfs_hooks:
        _in_tree(tree, ["update-initramfs", "-u", "-k", "all"])
    _in_tree(tree, ["apt-get", "clean"])
    for key in (tree / "etc/ssh").glob("ssh_host_*_key*"):
        key.unlink()
    # Empty, not absent: systemd draws an identity at boot without treating it as a first boot (machine-id(5)).
    (tree / "etc/machine-id").write_text("")
    (tree / "etc/resolv.conf").unlink(missing_ok=True)
    (tree / "etc/hostname").write_text("lab\n")
    # As systemd-update-done(8) leaves them, so that no boot rebuilds ld.so.cache, users and catalogs.
    for directory in ("etc", "var"):
        (tree / directory / ".updated").touch()


def _write_files(recipe: Recipe, tree: Path) -> None:
    for item in recipe.files:
        path = tree / item.path.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(item.text)
        path.chmod(item.mode)


def _private_namespaces() -> list[str]:
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child"]


@contextlib.contextmanager
def _no_services(tree: Path) -> Iterator[None]:
    """Keep packages from starting daemons in the tree, and let it resolve names (invoke-rc.d, policy-rc.d)."""
    policy = tree / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    resolver = tree / "etc/resolv.conf"
    resolver.unlink(missing_ok=True)
    resolver.write_text(Path("/etc/resolv.conf").read_text())
    try:
        yield
    finally:
        policy.unlink()
        resolver.unlink()


def _in_tree(tree: Path, argv: list[str]) -> None:
    run(
        [*_private_namespaces(), f"--mount-proc={tree}/proc", "chroot", str(tree), *argv],
        extra_environment={"DEBIAN_FRONTEND": "noninteractive", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **UNSAFE_IO},
        bound_to_parent=True,
        timeout=1800,
    )


def _write_disk(recipe: Recipe, tree: Path, disk: Path) -> None:
    """A bootable disk without a loop device: mke2fs fills the file system, GRUB's two images go in front of it."""
    core = disk.with_name("core.img")
    run(
        ["grub-mkimage", "-O", "i386-pc", "-p", "(hd0,msdos1)/boot/grub", "-o", str(core), *GRUB_MODULES],
        bound_to_parent=True,
    )
    with disk.open("wb") as handle:
        handle.truncate(recipe.root_disk_bytes)
    filesystem_kib = (recipe.root_disk_bytes - PARTITION_START_SECTOR * SECTOR) // 1024
    # GRUB 2.06 reads neither orphan_file nor metadata_csum_seed, which newer mke2fs turns on by itself.
    run(
        [
            "mkfs.ext4",
            *("-q", "-F", "-L", ROOT_LABEL, "-d", str(tree), "-m", "0", "-N", "262144"),
            *("-O", "^orphan_file,^metadata_csum_seed"),
            *("-E", f"offset={PARTITION_START_SECTOR * SECTOR},lazy_itable_init=0,lazy_journal_init=0"),
            str(disk),
            f"{filesystem_kib}k",
        ],
        bound_to_parent=True,
        timeout=600,
    )
    with disk.open("r+b") as handle:
        handle.write(master_boot_record((GRUB_DIRECTORY / "boot.img").read_bytes(), recipe.root_disk_bytes))
        handle.write(core.read_bytes())
    core.unlink()
    disk.chmod(0o444)
