"""Sources of a small module of our own: versions of it, and what is wrong with some."""

from __future__ import annotations

from dataclasses import dataclass

NAME = "fabric-toy"
MODULE = "fabric_toy"

_CODE = """\
// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/module.h>

#ifdef NOT_MADE_FOR_IT
#error {module} is not made for this kernel
#endif

static int answer = 42;
module_param(answer, int, 0444);
MODULE_PARM_DESC(answer, "a number");

static int __init {module}_init(void)
{{
    pr_info("{module} {version}: %d {says}\\n", answer);
    return {returns};
}}

static void __exit {module}_exit(void)
{{
}}

module_init({module}_init);
module_exit({module}_exit);
MODULE_DESCRIPTION("Does nothing, in several versions");
MODULE_LICENSE("GPL");
{tag}
"""
_MAKEFILE = """\
obj-m := {module}.o
ifneq ($(filter {fails_for},$(KERNELRELEASE)),)
ccflags-y += -DNOT_MADE_FOR_IT
endif
"""
_CONF = """\
PACKAGE_NAME="{name}"
PACKAGE_VERSION="{version}"
BUILT_MODULE_NAME[0]="{module}"
DEST_MODULE_LOCATION[0]="/updates/dkms"
AUTOINSTALL="yes"
{more}
"""


@dataclass(frozen=True)
class Toy:
    """A version. ``fails_for`` is a kernel that it does not compile for."""

    version: str = "1.0"
    fails_for: str = "none"
    more: str = ""
    says: str = "ready"
    tagged: bool = True
    loads: bool = True
    name: str = NAME

    @property
    def module(self) -> str:
        """What the kernel calls it."""
        return self.name.replace("-", "_")

    def files(self) -> dict[str, str]:
        """What it consists of."""
        tag = f'MODULE_VERSION("{self.version}");' if self.tagged else ""
        returns = "0" if self.loads else "-ENODEV"
        return {
            f"{self.module}.c": _CODE.format(
                module=self.module, version=self.version, says=self.says, tag=tag, returns=returns
            ),
            "Makefile": _MAKEFILE.format(module=self.module, fails_for=self.fails_for),
            "dkms.conf": _CONF.format(name=self.name, module=self.module, version=self.version, more=self.more),
        }
