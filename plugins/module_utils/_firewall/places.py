# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""Where the firewall keeps its files, and what stands in those that do not depend on a policy. Pure."""

from __future__ import annotations

import re
import typing as t

from .._converge.plan import Argv
from .formats.nft_text import Line, text_of
from .ruleset import FAMILY, GUARD, NEXT

STATE = "/var/lib/baremetal.fabric/docker_firewall"
#: The confirmed policy: loaded at boot, and whenever everything else was flushed.
TABLE_FILE = f"{STATE}/table.nft"
#: The elements that follow Docker; included by the former, written by the watcher too.
AROUND_FILE = f"{STATE}/around.nft"
#: What undoes an unconfirmed change, and holds meanwhile; and who may confirm it.
UNDO_FILE = f"{STATE}/undo.nft"
UNDO_NEXT_FILE = f"{STATE}/undo-next.nft"
#: The rule that names Docker's control group, and where it lies while there is one; included by the table's file, too.
SERVED_FILE = f"{STATE}/served.nft"
RUNNING = "/run/baremetal.fabric/docker_firewall"
RUNNING_SERVED_FILE = f"{RUNNING}/served.nft"
#: What is closed while a file is loaded, and the same two for what Docker serves. Not to be taken for the former.
GUARD_FILE = f"{STATE}/guard.nft"
SERVED_GUARD_FILE = f"{STATE}/served.guard"
RUNNING_SERVED_GUARD_FILE = f"{RUNNING}/served.guard"
UNDO_RECORD = f"{STATE}/undo.json"
UNDO_UNIT = "docker-firewall-undo"
#: The same for chains below DOCKER-USER, by IP version.
RULES_FILES = {version: f"{STATE}/rules.v{version}" for version in (4, 6)}
CANDIDATE_RULES = {version: f"{STATE}/candidate.v{version}" for version in (4, 6)}
UNDO_RULES = {version: f"{STATE}/undo.v{version}" for version in (4, 6)}
#: What carries an undo out, also when no program is installed yet.
UNDO_PROGRAM = f"{STATE}/undo.pyz"
#: What is of no use once a change is confirmed, or known to be undone.
TEMPORARY_FILES = (UNDO_FILE, UNDO_NEXT_FILE)
TEMPORARY_RULES = (*CANDIDATE_RULES.values(), *UNDO_RULES.values(), UNDO_PROGRAM)

PROGRAM = "/usr/local/lib/baremetal.fabric/docker_firewall.pyz"
UNITS = "/etc/systemd/system"
LOADER = "docker-firewall.service"
WATCHER = "docker-firewall-watch.service"
FIREWALLD = "firewalld.service"
NFT = "/usr/sbin/nft"
PYTHON = "/usr/bin/python3"

#: Nobody else may change what is loaded at boot.
DIRECTORY_MODE = 0o700

_HEAD = "# Written by baremetal.fabric.docker_firewall; changes are overwritten.\n"

_LOADER_TEXT = f"""{_HEAD}[Unit]
Description=Policy for Docker's published ports
DefaultDependencies=no
RequiresMountsFor={STATE}
Wants=network-pre.target
Before=network-pre.target docker.service
After=systemd-modules-load.service nftables.service netfilter-persistent.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=LOAD
ExecReload=LOAD
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
SANDBOX

[Install]
WantedBy=sysinit.target
"""

_WATCHER_TEXT = f"""{_HEAD}[Unit]
Description=Keeps the policy for Docker's published ports in step with Docker's networks
After={LOADER} docker.socket
StartLimitIntervalSec=0

[Service]
ExecStart=WATCH
Restart=always
RestartSec=1
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={STATE}
RuntimeDirectory=baremetal.fabric
RuntimeDirectoryPreserve=yes
ProtectHome=yes
PrivateTmp=yes
SANDBOX

[Install]
WantedBy=multi-user.target
"""

# A policy that cannot be loaded, or that somebody flushed meanwhile: Docker does not start without one.
_DOCKER_TEXT = f"""{_HEAD}[Unit]
Wants={LOADER}
After={LOADER}

[Service]
ENTER
ExecStartPre=LOAD
LEAVE
"""


def removal(name: str) -> Argv:
    """Return the command that removes a table, whether it is there or not."""
    return (NFT, f"add table {FAMILY} {name}; delete table {FAMILY} {name}")


def _guarded(file: str) -> str:
    """Return the command line of a unit that loads a file while the guard is there (see :mod:`flush_guard`).

    The guard has to go whatever comes of the file, or nobody would come in any more. Lines of their own could not tell:
    systemd carries out none of those that follow one that failed (systemd.service(5), "ExecStart=").
    """
    program, words = removal(GUARD)
    leave = f'{program} "{words}"'
    return f"/bin/sh -c '{NFT} -f {GUARD_FILE} && {NFT} -f {file} && exec {leave}; {leave}; exit 1'"


# The flush and the policy are one transaction each: the policy is never absent in between (nft(8), "-f").
_NFTABLES_TEXT = f"""{_HEAD}[Service]
ExecStart=
ExecStart={_guarded(f"{STATE}/nftables-start.nft")}
ExecReload=
ExecReload={_guarded(f"{STATE}/nftables-start.nft")}
ExecStop=
ExecStop={_guarded(f"{STATE}/nftables-stop.nft")}
"""

_NFT_SANDBOX = "CapabilityBoundingSet=CAP_NET_ADMIN\nRestrictAddressFamilies=AF_UNIX AF_NETLINK"
# Legacy iptables speaks to the kernel through a raw socket, and has a lock in /run (iptables(8), "--wait").
_IPTABLES_SANDBOX = (
    "CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW\n"
    "RestrictAddressFamilies=AF_UNIX AF_NETLINK AF_INET AF_INET6\n"
    "ReadWritePaths=/run"
)


# The kernel resolves a group when the rule is loaded, so each start of Docker loads it anew.
_ENTER = (
    f"ExecStartPre=/usr/bin/install -D -m 0600 {SERVED_FILE} {RUNNING_SERVED_FILE}\n"
    f"ExecStartPre=/usr/bin/install -D -m 0600 {SERVED_GUARD_FILE} {RUNNING_SERVED_GUARD_FILE}"
)
_LEAVE = f"ExecStopPost=/usr/bin/rm -f {RUNNING_SERVED_FILE} {RUNNING_SERVED_GUARD_FILE}"


# A flush takes the guard, too.
_BOTH = f'include "{GUARD_FILE}"\ninclude "{TABLE_FILE}"\n'


def _units(load: str, watch: str, sandbox: str, enter: str = "", leave: str = "") -> dict[str, str]:
    texts = {LOADER: _LOADER_TEXT, WATCHER: _WATCHER_TEXT, "docker.service.d/50-docker-firewall.conf": _DOCKER_TEXT}
    filled = {"LOAD": load, "WATCH": watch, "SANDBOX": sandbox, "ENTER": enter, "LEAVE": leave}
    for mark, value in filled.items():
        texts = {name: re.sub(rf"(?m)(^|=){mark}$", rf"\g<1>{value}", text) for name, text in texts.items()}
    return {f"{UNITS}/{name}": text for name, text in texts.items()}


def standing_files(socket: str) -> dict[str, str]:
    """Return the files that are the same for every policy in a table, by path. ``socket`` is Docker's."""
    return {
        **_units(_guarded(TABLE_FILE), f"{PYTHON} -I {PROGRAM} watch {socket}", _NFT_SANDBOX, _ENTER, _LEAVE),
        f"{UNITS}/nftables.service.d/50-docker-firewall.conf": _NFTABLES_TEXT,
        f"{STATE}/nftables-start.nft": f'{_HEAD}include "/etc/nftables.conf"\n{_BOTH}',
        f"{STATE}/nftables-stop.nft": f"{_HEAD}flush ruleset\n{_BOTH}",
    }


def undoing() -> tuple[Argv, ...]:
    """Return the commands that load the table of before. The last two are carried out whatever comes of the first."""
    return (NFT, "-f", UNDO_NEXT_FILE), (NFT, "-f", UNDO_FILE), removal(NEXT)


def loading(program: str, files: t.Mapping[int, str]) -> tuple[str, ...]:
    """Return the command that has a program load the kept rules of each IP version."""
    return (PYTHON, "-I", program, "load", *(files[version] for version in sorted(files)))


def user_standing_files(socket: str) -> dict[str, str]:
    """Return the same for a policy below DOCKER-USER."""
    load = " ".join(loading(PROGRAM, RULES_FILES))
    return _units(load, f"{PYTHON} -I {PROGRAM} guard {socket}", _IPTABLES_SANDBOX)


def table_file(lines: list[Line]) -> str:
    """Return the text of the table's file; what follows Docker is taken from files of their own.

    A pattern that no file matches is no error for nft, a name without a file is.
    """
    return f'{_HEAD}{text_of(lines)}include "{AROUND_FILE}"\ninclude "{RUNNING}/*.nft"\n'


def guard_file(lines: list[Line]) -> str:
    """Return the text of the guard's file."""
    return f'{_HEAD}{text_of(lines)}include "{RUNNING}/*.guard"\n'


def served_file(rules: t.Iterable[str]) -> str:
    """Return the text of the file with the rules that name Docker's control group."""
    return _HEAD + "".join(f"add rule {rule}\n" for rule in rules)


def around_file(lines: list[Line]) -> str:
    """Return the text of the file with the elements that follow Docker."""
    return _HEAD + text_of(lines)
