"""Sets for tests: what the module's parameters are once Ansible has filled in the defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def file(path: str | Path, content: str = "", **options: Any) -> dict[str, Any]:
    """A file of a set, owned by who runs the tests."""
    given: dict[str, Any] = {"path": str(path), "content": content, "src": None, "remote_src": False}
    return {**given, "owner": "0", "group": "0", "mode": "0644", "no_log": False, **options}


def declared(*files: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Parameters of the module."""
    given: dict[str, Any] = {"name": "toy", "state": "present", "files": list(files), "validate": None}
    given.update(validate_timeout=60, reload=None, verify=[], verify_timeout=1, verify_hold=0, keep=5, wait_timeout=5)
    return {**given, **options}


def command(*argv: str) -> dict[str, Any]:
    """A check that runs a command."""
    keys = ("unit", "tcp", "tls", "http", "file", "haproxy", "bird", "keepalived")
    return {**dict.fromkeys(keys), "command": list(argv)}


def reload(**options: Any) -> dict[str, Any]:
    """How the daemon is told."""
    return {"unit": None, "command": None, "bird": None, "restart": False, "start": True, "timeout": 5, **options}
