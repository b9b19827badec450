# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""dkms.conf, which is a script of bash: the program that evaluates it as DKMS does, and what that prints. Pure."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass, field

from ..model import Conf, Part
from ..versions import is_newer

Variables = t.Mapping[str, t.Mapping[int, str]]

_NAMES = (
    "PACKAGE_NAME",
    "PACKAGE_VERSION",
    "BUILT_MODULE_NAME",
    "BUILT_MODULE_LOCATION",
    "DEST_MODULE_NAME",
    "DEST_MODULE_LOCATION",
    "BUILD_EXCLUSIVE_KERNEL",
    "BUILD_EXCLUSIVE_KERNEL_MIN",
    "BUILD_EXCLUSIVE_KERNEL_MAX",
    "BUILD_EXCLUSIVE_ARCH",
    "BUILD_EXCLUSIVE_CONFIG",
    "OBSOLETE_BY",
    "BUILD_DEPENDS",
    "mok_signing_key",
    "mok_certificate",
    "sign_file",
)

#: For each five arguments (module, version, kernel, arch, dkms.conf) the variables that the files leave, as NAME[INDEX]
#: and value, each with a NUL. A file that ends the shell, or has an error, leaves what was set before. Without a module
#: it is framework.conf that is read. What only bash can tell, whether an expression matches, is told as variables too.
SCRIPT = r"""
tell() {
    local name index
    for name in @NAMES@; do
        local -n array=$name
        for index in "${!array[@]}"; do printf '%s[%s]\0%s\0' "$name" "$index" "${array[$index]%$'\r'}"; done
    done
    if [[ $BUILD_EXCLUSIVE_KERNEL && ! $kernelver =~ $BUILD_EXCLUSIVE_KERNEL ]]; then
        printf 'other_kernel[0]\0yes\0'
    fi
    if [[ $BUILD_EXCLUSIVE_ARCH && ! $arch =~ $BUILD_EXCLUSIVE_ARCH ]]; then printf 'other_arch[0]\0yes\0'; fi
    local config=$kernel_source_dir/include/config/auto.conf setting
    [[ -e $config ]] || config=$kernel_source_dir/.config
    if [[ $BUILD_EXCLUSIVE_CONFIG && -e $config ]]; then
        for setting in $BUILD_EXCLUSIVE_CONFIG; do
            case "$setting" in
                !*) grep -q "^${setting#!}=[ym]" "$config" && printf 'other_config[0]\0%s\0' "$setting" ;;
                *) grep -q "^$setting=[ym]" "$config" || printf 'other_config[0]\0%s\0' "$setting" ;;
            esac
        done
    fi
}
while (($# >= 5)); do
    printf 'record[0]\0\0'
    (
        exec 3>&1 >/dev/null 2>&1
        trap 'tell >&3' EXIT
        module=$1 module_version=$2 kernelver=$3 arch=$4 conf=$5
        PACKAGE_NAME= PACKAGE_VERSION=
        dkms_tree=/var/lib/dkms source_tree=/usr/src install_tree=/lib/modules
        kernel_source_dir=$install_tree/$kernelver/build
        if [[ $module ]]; then
            files=("$conf" "/etc/dkms/$module.conf" "/etc/dkms/$module-$module_version.conf"
                "/etc/dkms/$module-$module_version-$kernelver.conf"
                "/etc/dkms/$module-$module_version-$kernelver-$arch.conf")
        else
            files=(/etc/dkms/framework.conf /etc/dkms/framework.conf.d/*.conf)
        fi
        for file in "${files[@]}"; do [[ -e $file ]] && . "$file"; done
    ) </dev/null
    shift 5
done
""".replace("@NAMES@", " ".join(_NAMES))

_PLAIN_VERSION = re.compile(
    r"^PACKAGE_VERSION=(?P<quote>[\"']?)(?P<version>[A-Za-z0-9_.+:~-]+)(?P=quote)\s*$", re.MULTILINE
)


def plain_version(text: str) -> str:
    """Return a version that can be read without bash; empty where there is none, or several."""
    found = [match["version"] for match in _PLAIN_VERSION.finditer(text)]
    return found[0] if len(found) == 1 else ""


@dataclass(frozen=True)
class Question:
    """What is to be evaluated: the dkms.conf of a version for a kernel. Without a module: framework.conf."""

    module: str = ""
    version: str = ""
    kernel: str = ""
    arch: str = ""
    conf: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the script."""
        return (self.module, self.version, self.kernel, self.arch, self.conf)


@dataclass
class _Record:
    values: dict[str, dict[int, str]] = field(default_factory=dict)


def command(questions: t.Sequence[Question]) -> tuple[str, ...]:
    """Return the command that answers all questions at once; the script is its standard input."""
    return ("bash", "-s", "--", *(word for each in questions for word in each.arguments))


def answers(output: str) -> list[Variables]:
    """Return the variables for each question, in their order."""
    words = output.split("\0")
    records: list[_Record] = []
    for key, value in zip(words[0::2], words[1::2]):
        name, _bracket, index = key.rstrip("]").partition("[")
        if name == "record":
            records.append(_Record())
        elif records and index.isdigit():
            records[-1].values.setdefault(name, {})[int(index)] = value
    return [record.values for record in records]


def first(variables: Variables, name: str) -> str:
    """Return a variable that is no array, as bash does: its first value."""
    return variables.get(name, {}).get(0, "")


def conf_of(variables: Variables, kernel: str, arch: str) -> Conf:
    """Return what a dkms.conf says for a kernel."""
    name = first(variables, "PACKAGE_NAME")
    return Conf(
        name,
        first(variables, "PACKAGE_VERSION"),
        tuple(_parts(variables, name)),
        _exclusion(variables, kernel, arch),
        tuple(variables.get("BUILD_DEPENDS", {}).values()),
    )


def _parts(variables: Variables, package: str) -> t.Iterator[Part]:
    built, named = variables.get("BUILT_MODULE_NAME", {}), variables.get("DEST_MODULE_NAME", {})
    locations = variables.get("DEST_MODULE_LOCATION", {})
    for index in sorted({*built, *named, *locations}):
        name = named.get(index) or built.get(index) or (package if len(locations) == 1 else "")
        if name:
            yield Part(name, locations.get(index, ""))


def _exclusion(variables: Variables, kernel: str, arch: str) -> str:
    only = first(variables, "BUILD_EXCLUSIVE_KERNEL")
    least, most = (first(variables, f"BUILD_EXCLUSIVE_KERNEL_{end}") for end in ("MIN", "MAX"))
    obsolete = first(variables, "OBSOLETE_BY")
    if "other_kernel" in variables:
        return f"BUILD_EXCLUSIVE_KERNEL is {only}"
    if least and is_newer(least, kernel):
        return f"BUILD_EXCLUSIVE_KERNEL_MIN is {least}"
    if most and is_newer(kernel, most):
        return f"BUILD_EXCLUSIVE_KERNEL_MAX is {most}"
    if obsolete and is_newer(kernel, obsolete):
        return f"OBSOLETE_BY is {obsolete}"
    if "other_arch" in variables:
        return f"BUILD_EXCLUSIVE_ARCH is {first(variables, 'BUILD_EXCLUSIVE_ARCH')}, not {arch}"
    if "other_config" in variables:
        return f"BUILD_EXCLUSIVE_CONFIG asks for {first(variables, 'other_config')}"
    return ""
