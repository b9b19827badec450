# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The program that builds a module for a kernel that is installed later, when no run of Ansible is near. Pure.

Debian's kernel packages run what is below /etc/kernel/postinst.d and header_postinst.d in the order of names, and stop
at the first that fails (linux-image's postinst, run-parts --exit-on-error). DKMS's own hook is called ``dkms``, and
fails where the tree of any module is broken; so ours has a name that comes before it.
"""

from __future__ import annotations

from ..loading import HEADER, SHEBANG

_PROGRAM = """\
# Builds @NAME@ for a kernel that is installed. Ends with 0, so that no kernel stays half configured because of it.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
LC_ALL=C
export PATH LC_ALL

name='@NAME@'
kernel=${1-}
arch=$(uname -m)
tree=/var/lib/dkms/$name
modules=/lib/modules/$kernel
logs=/var/lib/baremetal.fabric/kernel/logs
lock=/run/baremetal.fabric/locks/dkms.lock

say() {
    echo "$name: $*" >&2
    logger -t fabric-kernel-hook -- "$name: $*" 2>/dev/null
}

# The newest that serves a kernel, as it was proved there, then older ones; where none does, whatever DKMS has.
versions() {
    newest=$(for link in "$tree"/kernel-*-"$arch"; do
        [ -L "$link" ] && readlink "$link" | cut -d/ -f1
    done | sort -rV | head -n 1)
    for conf in "$tree"/*/source/dkms.conf; do
        [ -e "$conf" ] && basename "${conf%/source/dkms.conf}"
    done | sort -rV | while read -r version; do
        [ -n "$newest" ] && [ "$version" != "$newest" ] && continue
        newest=
        echo "$version"
    done
}

# Whether the kernel would load just what is built of a version: the files tell, neither DKMS nor its exit status.
is_in_place() {
    [ "$(readlink "$tree/kernel-$kernel-$arch" | cut -d/ -f1)" = "$1" ] || return 1
    for built in "$tree/$1/$kernel/$arch/module"/*.ko*; do
        module=${built##*/}
        found=$(modinfo -k "$kernel" -F filename "${module%%.ko*}" 2>/dev/null) || return 1
        cmp -s "$built" "$found" || return 1
    done
}

dkms_install() {
    dkms install "$@" -k "$kernel" -a "$arch" </dev/null >>"$log" 2>&1
}

bring() {
    log=$logs/$name-$1-$kernel.log
    mkdir -p "$logs" && : >"$log"
    dkms_install -m "$name" -v "$1"
    status=$?
    # DKMS leaves what is damaged, and what it takes for newer.
    [ -d "$tree/$1/$kernel/$arch/module" ] && ! is_in_place "$1" && dkms_install -m "$name" -v "$1" --force
    if is_in_place "$1"; then
        rm -f "$log"
        say "$1 is in place for $kernel."
        return 0
    fi
    if [ "$status" -eq 77 ]; then
        rm -f "$log"
        say "$1 is not for $kernel (BUILD_EXCLUSIVE in its dkms.conf)."
        return 1
    fi
    [ -e "$tree/$1/build/make.log" ] && cat "$tree/$1/build/make.log" >>"$log"
    grep -m 3 -E 'error:|Error!' "$log" | while read -r line; do
        say "$line"
    done
    say "$1 is not in place for $kernel; the whole log is $log."
    return 1
}

serve() {
    all=$(versions)
    for version in $all; do
        is_in_place "$version" && return 0
    done
    for version in $all; do
        bring "$version" && return 0
    done
    say "No version is in place for $kernel: a boot into it would not find the module."
}

[ -n "$kernel" ] && [ -d "$tree" ] && [ -x /usr/sbin/dkms ] || exit 0
# Headers alone are no kernel.
[ -e "$modules/modules.builtin" ] || [ -d "$modules/kernel" ] || exit 0
if [ ! -d "$modules/build/include" ]; then
    say "The headers of $kernel are not there (yet); once linux-headers-$kernel is installed, the module is built."
    exit 0
fi
(umask 077 && mkdir -p "${lock%/*}" && : >>"$lock")
(
    if flock -w 600 9; then
        serve
    else
        say "Another run holds $lock after 600 s; nothing was built for $kernel."
    fi
) 9>>"$lock"
exit 0
"""


def program(name: str) -> str:
    """Return the hook of a package of modules."""
    return SHEBANG + HEADER + _PROGRAM.replace("@NAME@", name)
