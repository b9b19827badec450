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
#error fabric_toy is not made for this kernel
#endif

static int answer = 42;
module_param(answer, int, 0444);
MODULE_PARM_DESC(answer, "a number");

static int __init fabric_toy_init(void)
{{
    pr_info("fabric_toy {version}: %d {says}\\n", answer);
    return {returns};
}}

static void __exit fabric_toy_exit(void)
{{
}}

module_init(fabric_toy_init);
module_exit(fabric_toy_exit);
MODULE_DESCRIPTION("Does nothing, in several versions");
MODULE_LICENSE("GPL");
{tag}
"""
_MAKEFILE = """\
obj-m := fabric_toy.o
ifneq ($(filter {fails_for},$(KERNELRELEASE)),)
ccflags-y += -DNOT_MADE_FOR_IT
endif
"""
_CONF = """\
PACKAGE_NAME="{name}"
PACKAGE_VERSION="{version}"
BUILT_MODULE_NAME[0]="fabric_toy"
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

    def files(self) -> dict[str, str]:
        """What it consists of."""
        tag = f'MODULE_VERSION("{self.version}");' if self.tagged else ""
        returns = "0" if self.loads else "-ENODEV"
        return {
            "fabric_toy.c": _CODE.format(version=self.version, says=self.says, tag=tag, returns=returns),
            "Makefile": _MAKEFILE.format(fails_for=self.fails_for),
            "dkms.conf": _CONF.format(name=NAME, version=self.version, more=self.more),
        }
