"""What an image consists of. Pure: the hash of a recipe names the cached image that was built from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

from .errors import TopologyError

RELEASES = ("bookworm", "trixie")
KINDS = ("nspawn", "qemu")
# Suites that single packages may come from (``docker.io/sid``), with what they need and nothing else.
FURTHER_SUITES = ("sid",)

# Raised by hand when the way images are built changes in a manner that the recipe's data does not show.
REVISION = 1

ROOT_LABEL = "root"
ROOT_DISK_BYTES = 8 * 1024**3

BASE_PACKAGES = (
    "ca-certificates",
    "dbus",
    "iproute2",
    "iputils-ping",
    "kmod",
    "openssh-server",
    "procps",
    "python3",
    "python3-apt",
    "systemd-sysv",
    "udev",
)

# The release's newest kernel, unless a topology's packages name another one.
KERNEL = "linux-image-amd64"

MACHINE_PACKAGES = (
    "e2fsprogs",
    "fdisk",
    "gdisk",
    "initramfs-tools",
    KERNEL,
    "lvm2",
    "mdadm",
    "parted",
    "util-linux-extra",
    "xfsprogs",
    "busybox",
    "zstd",
)

# Loaded and copied by name, so that a rebuild inside an emulated guest does not have to look for them.
# Only what mounts the root: these are loaded, and raid456 would benchmark its parity routines at each boot. The md and
# dm modules are copied by the hooks of mdadm and lvm2 and loaded on demand.
INITRAMFS_MODULES = ("virtio_pci", "virtio_blk", "ext4", "crc32c_generic")

# Units that a lab host never needs and that cost seconds of an emulated boot, or that act behind a test's back.
MASKED_UNITS = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "console-getty.service",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty@tty1.service",
    "lvm2-monitor.service",
    "mdcheck_continue.timer",
    "mdcheck_start.timer",
    "mdmonitor-oneshot.timer",
    "modprobe@configfs.service",
    "modprobe@drm.service",
    "modprobe@fuse.service",
    "proc-sys-fs-binfmt_misc.automount",
    "serial-getty@ttyS0.service",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-binfmt.service",
    "systemd-firstboot.service",
    "systemd-hwdb-update.service",
    "systemd-journal-flush.service",
    "systemd-networkd-wait-online.service",
    "systemd-pstore.service",
    "systemd-timesyncd.service",
    "systemd-udev-load-credentials.service",
    "systemd-update-utmp.service",
)

SEED_SCRIPT = """\
#!/bin/sh
# Unpacks what this host was given at start: its name, keys and network. Once; what a person changes later stays.
set -eu
stamp=/var/lib/lab-seed
for seed in /run/host/credentials/lab.seed /sys/firmware/qemu_fw_cfg/by_name/opt/lab/seed/raw; do
    case "$seed" in
    /sys/*) [ -d /run/host ] || modprobe qemu_fw_cfg ;;
    esac
    [ -r "$seed" ] || continue
    sum=$(cksum < "$seed")
    if [ "$(cat "$stamp" 2>/dev/null)" != "$sum" ]; then
        tar -x -C / -f "$seed"
        echo "$sum" > "$stamp"
        # Not by writing to /proc/sys, which is read-only in a container.
        hostname -F /etc/hostname
    fi
    exit 0
done
echo "no seed: started outside the lab" >&2
"""

SEED_UNIT = """\
[Unit]
Description=Name, keys and network of this lab host
DefaultDependencies=no
Wants=systemd-remount-fs.service
After=systemd-remount-fs.service
Before=systemd-udev-trigger.service systemd-networkd.service network-pre.target ssh.service sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/lab-seed
[Install]
WantedBy=sysinit.target
"""

SSHD_CONFIG = """\
PermitRootLogin prohibit-password
PasswordAuthentication no
UseDNS no
PrintMotd no
MaxStartups 100
MaxSessions 100
"""

APT_CONFIG = """\
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
"""

DPKG_CONFIG = """\
force-unsafe-io
path-exclude=/usr/share/man/*
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/locale/*
path-include=/usr/share/doc/*/copyright
"""

INITRAMFS_CONFIG = """\
MODULES=list
COMPRESS=zstd
COMPRESSLEVEL=1
RESUME=none
FSTYPE=ext4
"""

# lsm without bpf: systemd would otherwise compile and attach a BPF program at each start.
KERNEL_PARAMETERS = (
    "console=ttyS0 mitigations=off nokaslr fsck.mode=skip lsm=landlock,lockdown,yama,apparmor "
    "quiet loglevel=5 systemd.show_status=no"
)

GRUB_CONFIG = f"""\
serial --unit=0 --speed=115200
terminal_input serial
terminal_output serial
set timeout=0
menuentry "lab" {{
    linux /vmlinuz root=LABEL={ROOT_LABEL} rw {KERNEL_PARAMETERS}
    initrd /initrd.img
}}
"""

# No check at boot: the journal is replayed, and e2fsck would cost a second per emulated boot.
FSTAB = f"LABEL={ROOT_LABEL} / ext4 errors=remount-ro 0 0\n"

# Drivers and crypto routines that udev would load for QEMU's chipset and CPU and that no lab host uses.
BLACKLIST = (
    "ccp",
    "cfg80211",
    "drm",
    "evdev",
    "iTCO_wdt",
    "joydev",
    "kvm",
    "kvm_amd",
    "kvm_intel",
    "pcspkr",
    "psmouse",
)
BLACKLIST_CONFIG = "".join(f"blacklist {module}\ninstall {module} /bin/false\n" for module in BLACKLIST)

# Generators of systemd that look for what a lab host has not.
MASKED_GENERATORS = (
    "systemd-bless-boot-generator",
    "systemd-cryptsetup-generator",
    "systemd-gpt-auto-generator",
    "systemd-hibernate-resume-generator",
    "systemd-integritysetup-generator",
    "systemd-ssh-generator",
    "systemd-tpm2-generator",
    "systemd-veritysetup-generator",
)


# Hooks for what the root of a lab host is not: checked, XFS, unlocked at a keyboard, resumed. Without them a rebuild in
# an emulated guest takes a quarter less.
SKIPPED_INITRAMFS_HOOKS = ("fsck", "keymap", "resume", "thermal", "xfs")


@dataclass(frozen=True)
class TreeFile:
    """A file written into an image: absolute path in the image, text, and mode bits."""

    path: str
    text: str
    mode: int = 0o644


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what is in an image."""

    release: str
    kind: str
    packages: tuple[str, ...]
    files: tuple[TreeFile, ...]
    masked_units: tuple[str, ...] = MASKED_UNITS
    masked_generators: tuple[str, ...] = MASKED_GENERATORS
    enabled_units: tuple[str, ...] = ("lab-seed.service",)
    disabled_units: tuple[str, ...] = ()
    skipped_initramfs_hooks: tuple[str, ...] = ()
    root_disk_bytes: int = 0
    revision: int = field(default=REVISION)

    @property
    def further_suites(self) -> tuple[str, ...]:
        """The suites beside the release's own that packages of this recipe come from."""
        return _suites_of(self.packages)

    @property
    def key(self) -> str:
        """The name of the cached image, such as ``trixie-qemu-0123456789ab``."""
        # Without what is empty: a new field then changes only the keys of recipes that use it.
        text = json.dumps({name: value for name, value in asdict(self).items() if value}, sort_keys=True)
        return f"{self.release}-{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _package_files() -> tuple[TreeFile, ...]:
    return (TreeFile("/etc/apt/apt.conf.d/90lab", APT_CONFIG), TreeFile("/etc/dpkg/dpkg.cfg.d/lab", DPKG_CONFIG))


def _host_files() -> tuple[TreeFile, ...]:
    return (
        *_package_files(),
        TreeFile("/usr/local/sbin/lab-seed", SEED_SCRIPT, 0o755),
        TreeFile("/etc/systemd/system/lab-seed.service", SEED_UNIT),
        TreeFile("/etc/ssh/sshd_config.d/lab.conf", SSHD_CONFIG),
    )


def _machine_files() -> tuple[TreeFile, ...]:
    return (
        TreeFile("/etc/initramfs-tools/conf.d/lab", INITRAMFS_CONFIG),
        TreeFile("/usr/share/initramfs-tools/modules.d/lab", "\n".join(INITRAMFS_MODULES) + "\n"),
        TreeFile("/boot/grub/grub.cfg", GRUB_CONFIG),
        TreeFile("/etc/fstab", FSTAB),
        TreeFile("/etc/modprobe.d/lab.conf", BLACKLIST_CONFIG),
        TreeFile("/etc/systemd/journald.conf.d/lab.conf", "[Journal]\nStorage=volatile\n"),
        TreeFile("/etc/kernel-img.conf", "do_symlinks = yes\n"),
    )


def base_recipe(release: str) -> Recipe:
    """The tree that every other image of a release starts from."""
    if release not in RELEASES:
        raise TopologyError(f"release {release!r} is not known; the lab builds {' and '.join(RELEASES)}")
    # Packages and nothing else, so that a changed unit or file costs no new debootstrap.
    return Recipe(
        release=release,
        kind="base",
        packages=BASE_PACKAGES,
        files=_package_files(),
        masked_units=(),
        masked_generators=(),
        enabled_units=(),
    )


def _suites_of(packages: Iterable[str]) -> tuple[str, ...]:
    """The suites that packages name with ``NAME/SUITE``."""
    return tuple(sorted({package.partition("/")[2] for package in packages if "/" in package}))


def _suite_files(packages: Iterable[str]) -> tuple[TreeFile, ...]:
    """What keeps apt from taking anything else from the suites that packages name (apt_preferences(5))."""
    return tuple(
        TreeFile(f"/etc/apt/preferences.d/lab-{suite}", f"Package: *\nPin: release n={suite}\nPin-Priority: 50\n")
        for suite in _suites_of(packages)
    )


def image_recipe(release: str, kind: str, packages: Iterable[str] = (), disabled_units: Iterable[str] = ()) -> Recipe:
    """The recipe for hosts of ``kind``, with further Debian ``packages`` installed at build time.

    A package may name one of :data:`FURTHER_SUITES`: ``docker.io/sid``. A QEMU host whose packages name kernels
    (``linux-image-6.1.0-47-amd64``) has these instead of the newest one. ``disabled_units`` do not start at boot.

    Raises:
        TopologyError: the release or the kind is not one that the lab builds.
    """
    base = base_recipe(release)
    extra = tuple(sorted(set(packages)))
    disabled = tuple(sorted(set(disabled_units)))
    files = _host_files() + _suite_files(extra)
    if kind == "nspawn":
        return Recipe(release=release, kind=kind, packages=base.packages + extra, files=files, disabled_units=disabled)
    if kind == "qemu":
        own_kernel = any(package.startswith("linux-image-") for package in extra)
        machine = tuple(package for package in MACHINE_PACKAGES if not (own_kernel and package == KERNEL))
        return Recipe(
            release=release,
            kind=kind,
            packages=base.packages + machine + extra,
            files=files + _machine_files(),
            enabled_units=("lab-seed.service", "systemd-networkd.service"),
            disabled_units=disabled,
            skipped_initramfs_hooks=SKIPPED_INITRAMFS_HOOKS,
            root_disk_bytes=ROOT_DISK_BYTES,
        )
    raise TopologyError(f"kind {kind!r} is not known; a host is one of {', '.join(KINDS)}")
