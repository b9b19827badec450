# Copyright (c) 2026, the baremetal.fabric developers
# GNU General Public License v3.0-or-later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module util is PRIVATE to the collection: it can change at any time.
"""The options of the modules."""

from __future__ import annotations

import typing as t

Spec = t.Dict[str, t.Dict[str, t.Any]]

CHECK_SPEC: Spec = {
    "unit": {"type": "str"},
    "command": {"type": "list", "elements": "str"},
    "tcp": {
        "type": "dict",
        "options": {"host": {"type": "str", "default": "localhost"}, "port": {"type": "int", "required": True}},
    },
    "tls": {
        "type": "dict",
        "options": {
            "host": {"type": "str", "default": "localhost"},
            "port": {"type": "int", "required": True},
            "server_name": {"type": "str"},
            "ca_file": {"type": "path"},
        },
    },
    "http": {
        "type": "dict",
        "options": {
            "url": {"type": "str", "required": True},
            "host_header": {"type": "str"},
            "status": {"type": "int", "default": 200},
            "contains": {"type": "str"},
            "ca_file": {"type": "path"},
        },
    },
    "file": {
        "type": "dict",
        "options": {"path": {"type": "path", "required": True}, "contains": {"type": "str"}},
    },
    "haproxy": {"type": "path"},
    "bird": {
        "type": "dict",
        "options": {
            "socket": {"type": "path", "default": "/run/bird/bird.ctl"},
            "protocols": {"type": "list", "elements": "str", "default": []},
        },
    },
    "keepalived": {"type": "path"},
}

FILE_SPEC: Spec = {
    "path": {"type": "path", "required": True},
    # The action plugin hands contents over encoded, so that they are in no log, and yet the diff can show them.
    "content": {"type": "str", "no_log": True},
    "src": {"type": "str"},
    "remote_src": {"type": "bool", "default": False},
    "owner": {"type": "str", "default": "root"},
    "group": {"type": "str", "default": "root"},
    "mode": {"type": "raw", "default": "0644"},
    "no_log": {"type": "bool", "default": False},
}

RELOAD_SPEC: Spec = {
    "unit": {"type": "str"},
    "command": {"type": "list", "elements": "str"},
    "bird": {"type": "path"},
    "restart": {"type": "bool", "default": False},
    "start": {"type": "bool", "default": True},
    "timeout": {"type": "int", "default": 90},
}

CONFIG_SPEC: Spec = {
    "name": {"type": "str", "required": True},
    "state": {"type": "str", "choices": ["present", "previous"], "default": "present"},
    "files": {"type": "list", "elements": "dict", "default": [], "options": FILE_SPEC},
    "validate": {"type": "list", "elements": "str"},
    "validate_timeout": {"type": "int", "default": 60},
    "reload": {"type": "dict", "options": RELOAD_SPEC},
    "verify": {"type": "list", "elements": "dict", "default": [], "options": CHECK_SPEC},
    "verify_timeout": {"type": "int", "default": 30},
    "verify_hold": {"type": "int", "default": 1},
    "keep": {"type": "int", "default": 5},
    "wait_timeout": {"type": "int", "default": 300},
}

CONFIG_INFO_SPEC: Spec = {"name": {"type": "str"}}
