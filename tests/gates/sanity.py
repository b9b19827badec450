"""Prepares a home directory in which `ansible-test sanity` needs nothing but a Python package index.

For every environment that it makes, ansible-test downloads a script from its vendor's site to install pip with. It
takes the script from a cache below the home directory when one is there, so we put one there that does the same with
the pip at hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ansible_test._internal.host_configs import VirtualPythonConfig
from ansible_test._internal.python_requirements import get_venv_packages

# The two switches are get-pip's own; pip's install does not know them, and they ask for what it does anyway.
_BOOTSTRAP = """\
import subprocess
import sys

arguments = [a for a in sys.argv[1:] if a not in ("--no-setuptools", "--no-wheel")]
command = [{python!r}, "-m", "pip", "--python", sys.executable, "install", "--quiet"]
sys.exit(subprocess.call(command + arguments))
"""


def python_version() -> str:
    """Return the version of this interpreter as ansible-test names it."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def prepare_home(home: Path) -> Path:
    """Put the bootstrap script where ansible-test looks for it, and return the home directory."""
    packages = get_venv_packages(VirtualPythonConfig(version=python_version(), path=sys.executable))
    script = home / ".ansible" / "test" / "cache" / f"get_pip_{packages['pip'].replace('.', '_')}.py"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_BOOTSTRAP.format(python=sys.executable), encoding="utf-8")
    return home
